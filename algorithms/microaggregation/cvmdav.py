"""CV-MDAV, centroid-based variable-size MDAV."""

from typing import Annotated

from annotated_types import Ge

from algorithms.microaggregation.method import Method
from algorithms.search.pool import Pool
from algorithms.types import Labels, Matrix


def cvmdav(
    x: Matrix, k: int, *, gamma: Annotated[float, Ge(0)] = 1.1, literal: bool = False
) -> Labels:
    """Group the rows of ``x`` by ``k`` to ``2k - 1``, comparing centroids of neighbourhoods.

    A group of ``k`` forms around the row farthest from the centroid of the free rows. Of its next
    ``k`` neighbours it takes those that are nearer to its centroid than ``gamma`` times their
    distance from the centroid of their own free neighbours [CPD13]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group, ``1 <= k <= n``.
    gamma : float
        How eagerly groups grow.
    literal : bool
        Read the paper's pseudo-code to the letter: a neighbour is not part of its own
        neighbourhood, and a group may hold ``2k`` rows. The default includes it and stops at
        ``2k - 1``, as the paper's text says; neither gives the figures that the paper prints.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d / k) where neighbourhoods are found early, memory O(n d). Deterministic. If exactly
    ``2k`` rows are left at the end they are one group, as in the paper.

    Examples
    --------
    >>> cvmdav(np.array([[0.0], [0.1], [0.2], [5.0], [6.0], [9.0]]), k=2)
    array([1, 1, 1, 0, 0, 0])
    """
    largest = 2 * k if literal else 2 * k - 1
    pool = Pool(x)
    while len(pool) >= 3 * k:
        pool.cut(pool.farthest_from(pool.centroid()), k)
        pool.extend_by_neighbourhood(k, largest, gamma, literal)
    if len(pool) > 2 * k:
        pool.cut(pool.farthest_from(pool.centroid()), k)
    pool.cut_rest()
    return pool.labels


METHOD = Method(
    run=cvmdav,
    summary=(
        "The record farthest from the average forms a group with the records nearest to it. "
        "Further records join where they lie closer to the group than to the records around them."
    ),
    paper="CPD13",
)
