"""MDAV-1, MDAV with one more group of k at the end."""

from algorithms.microaggregation.method import Method
from algorithms.search.opposites import cut_opposites
from algorithms.search.pool import Pool
from algorithms.types import Labels, Matrix


def mdav1(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` as MDAV does, and cut one more group of ``k`` where it can.

    Where MDAV makes one group of the last ``k`` to ``2k - 1`` rows, MDAV-1 cuts a group of ``k``
    around the one farthest from their centroid, and sends each of the others to the group with the
    nearest centroid [LWHC10]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d / k) at worst, and much less in large tables, where a tree finds the rows; memory
    O(n d). Deterministic. Several rows may join one group at the end, so that a group can hold up
    to ``2k - 1`` rows.

    Examples
    --------
    >>> mdav1(np.array([[0.0], [9.0], [1.0], [8.0], [7.0]]), k=2)
    array([0, 1, 0, 1, 1])
    """
    pool = Pool(x)
    while len(pool) >= 2 * k:
        cut_opposites(pool, k)
    if len(pool) >= k:
        pool.cut(pool.farthest_from(pool.centroid()), k)
    pool.join_nearest()
    return pool.labels


METHOD = Method(
    run=mdav1,
    summary=(
        "Two groups are formed at a time, at opposite ends of the data. The last records form one"
        " more group, and those left over join the nearest group."
    ),
    paper="LWHC10",
)
