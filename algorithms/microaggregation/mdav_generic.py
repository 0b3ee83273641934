"""MDAV-generic, MDAV that stops one round earlier."""

from algorithms.microaggregation.method import Method
from algorithms.search.opposites import cut_opposites
from algorithms.search.pool import Pool
from algorithms.types import Labels, Matrix


def mdav_generic(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` as MDAV does while ``3k`` are left, then into one or two groups.

    If ``2k`` to ``3k - 1`` rows are left, a group of ``k`` is cut around the one farthest from
    their centroid; the remaining rows form the last group [DT05]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``; the last group may hold up to ``2k - 1`` rows.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d / k) at worst, and much less in large tables, where a tree finds the rows; memory
    O(n d). Deterministic.

    Examples
    --------
    >>> mdav_generic(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)
    array([0, 1, 0, 1])
    """
    pool = Pool(x)
    while len(pool) >= 3 * k:
        cut_opposites(pool, k)
    if len(pool) >= 2 * k:
        pool.cut(pool.farthest_from(pool.centroid()), k)
    pool.cut_rest()
    return pool.labels


METHOD = Method(
    run=mdav_generic,
    summary=(
        "Two groups are formed at a time, at opposite ends of the data. The last records form one"
        " or two groups of their own."
    ),
    paper="DT05",
)
