"""MHM, the method of Hansen and Mukherjee for multivariate paths."""

from algorithms.cutting import by_row, cut_path
from algorithms.microaggregation.method import Method
from algorithms.types import Labels, Matrix, Order


def mhm(x: Matrix, k: int, path: Order) -> Labels:
    """Cut a path through the records so that the groups lose least.

    The best of all ways to cut the path into groups of ``k`` to ``2k - 1`` neighbours [HM03]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group allowed, ``1 <= k <= n``.
    path : Order of shape (n,)
        Row numbers along the path.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(k n d), memory O(n d). Deterministic; of cuts that lose the same, the one whose last
    groups are larger. On one column, sorted, no partition into groups of at least ``k`` loses less.

    Examples
    --------
    >>> mhm(np.array([[1.0], [9.0], [3.0], [8.0], [2.0]]), 2, np.array([0, 4, 2, 3, 1]))
    array([0, 1, 0, 1, 0])
    """
    labels, _ = cut_path(x[path], k)
    return by_row(labels, path)


METHOD = Method(
    run=mhm,
    summary=(
        "Records are put on a path on which neighbours are alike. The path is cut into groups so "
        "that as little information as possible is lost."
    ),
    paper="HM03",
)
