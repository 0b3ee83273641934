"""CBFS, centroid-based fixed size."""

from algorithms.microaggregation.method import Method
from algorithms.search.pool import Growth, Pool
from algorithms.types import Labels, Matrix


def cbfs(x: Matrix, k: int, *, grow: Growth = "seed") -> Labels:
    """Group the rows of ``x`` by ``k``, cutting one group per round.

    A group forms around the row farthest from the centroid of the free rows; rows that are left at
    the end join the group with the nearest centroid [LM05]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``.
    grow : {"seed", "centroid"}
        Whether a group takes the rows nearest to its first row, or one after the other the row
        nearest to its centroid so far.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d / k) at worst, and much less in large tables, where a tree finds the rows; memory
    O(n d). Deterministic. All rows that are left may join one group, which then holds up to
    ``2k - 1`` rows.

    Examples
    --------
    >>> cbfs(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)
    array([0, 1, 0, 1])
    """
    pool = form_groups(x, k, grow)
    pool.join_nearest()
    return pool.labels


def form_groups(x: Matrix, k: int, grow: Growth = "seed") -> Pool:
    """Do all rounds of CBFS, until fewer than ``k`` rows are free."""
    pool = Pool(x)
    while len(pool) >= k:
        pool.cut(pool.farthest_from(pool.centroid()), k, grow=grow)
    return pool


METHOD = Method(
    run=cbfs,
    summary=(
        "One group is formed at a time, from the ungrouped record farthest from the average of "
        "all ungrouped records and the records nearest to it."
    ),
    paper="LM05",
)
