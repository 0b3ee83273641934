"""V-MDAV, variable-size MDAV."""

from typing import Annotated, Literal

from annotated_types import Ge

from algorithms.microaggregation.method import Method
from algorithms.search.pool import Pool
from algorithms.types import Labels, Matrix


def vmdav(
    x: Matrix,
    k: int,
    *,
    gamma: Annotated[float, Ge(0)] = 0.2,
    squared: bool = False,
    tail: Literal["nearest", "neighbour"] = "nearest",
) -> Labels:
    """Group the rows of ``x`` by ``k`` to ``2k - 1``, as the rows around a group ask for.

    A group of ``k`` forms around the free row farthest from the mean of all rows. It then takes the
    free row nearest to any of its members, as long as that row is nearer to the group than
    ``gamma`` times its distance from the nearest other free row [SMD06]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group, ``1 <= k <= n``.
    gamma : float
        How eagerly groups grow: near 0 for scattered data, near 1 for clustered data.
    squared : bool
        Compare squared distances, as if ``gamma`` were its square root.
    tail : {"nearest", "neighbour"}
        Where rows go that are left at the end: to the group with the nearest centroid, or to the
        group of the nearest row that has one.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d / k) at worst, and much less in large tables, where a tree finds the rows; memory
    O(n d). Deterministic. All rows that are left may join one group, which can then hold more than
    ``2k - 1`` rows.

    Examples
    --------
    >>> vmdav(np.array([[0.0], [1.0], [1.1], [5.0], [6.0], [6.5]]), k=2, gamma=0.5)
    array([0, 0, 0, 1, 1, 1])
    """
    exponent = 1.0 if squared else 0.5
    pool = Pool(x)
    outermost = iter(pool.by_distance_from(pool.centroid()))
    while len(pool) >= k:
        pool.cut(next(row for row in outermost if pool.labels[row] < 0), k)
        while len(pool) and len(pool.last) < 2 * k - 1:
            row, inside = pool.nearest_to_group()
            outside = pool.distance_to_nearest(row)
            if not inside**exponent < gamma * outside**exponent:
                break
            pool.extend(row)
    if tail == "nearest":
        pool.join_nearest()
    else:
        pool.join_neighbour()
    return pool.labels


METHOD = Method(
    run=vmdav,
    summary=(
        "The record farthest from the average forms a group with the records nearest to it. "
        "Further records join where they lie close to the group, so that groups follow clusters "
        "in the data."
    ),
    paper="SMD06",
)
