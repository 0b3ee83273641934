"""TFRP-1, two fixed reference points, first stage."""

import numpy as np

from algorithms.microaggregation.method import Method
from algorithms.search.pool import Pool
from algorithms.types import Labels, Matrix


def tfrp1(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` by ``k``, starting in turn far from two fixed points.

    The points have the smallest and the largest value of all attributes in every coordinate. A
    group forms around the row farthest from the first point, the next around the row farthest from
    the second, and so on; rows that are left join the group with the nearest centroid [CLH07]_.

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
    O(n d). Deterministic. All rows that are left may join one group, which then holds up to
    ``2k - 1`` rows.

    Examples
    --------
    >>> tfrp1(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)
    array([1, 0, 1, 0])
    """
    points = [np.full(x.shape[1], x.min()), np.full(x.shape[1], x.max())]
    pool = Pool(x)
    outermost = [iter(pool.by_distance_from(point)) for point in points]
    turn = 0
    while len(pool) >= k:
        pool.cut(next(row for row in outermost[turn] if pool.labels[row] < 0), k)
        turn = 1 - turn
    pool.join_nearest()
    return pool.labels


METHOD = Method(
    run=tfrp1,
    summary=(
        "Groups are formed in turn around the record farthest from a low corner of the data and "
        "around the record farthest from a high corner. Records that are left over join the "
        "nearest group."
    ),
    paper="CLH07",
)
