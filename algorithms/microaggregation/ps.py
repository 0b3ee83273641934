"""P-S, Pairwise-Systematic."""

from collections.abc import Callable

import numpy as np

from algorithms.microaggregation.method import Method
from algorithms.search.pool import Growth, Pool
from algorithms.types import Labels, Matrix, Order


def ps(x: Matrix, k: int, *, grow: Growth = "centroid") -> Labels:
    """Group the rows of ``x`` by ``k``, two groups per round from the ends of a sorted list.

    Rows are sorted by the sum of their deviations from the mean. One group forms around the first
    of the free rows, one around the last; when fewer than ``3k`` are left, one group forms
    around the first, and the rest is the last group [KWZ10]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``; the last group may hold up to ``2k - 1`` rows.
    grow : {"seed", "centroid"}
        Whether a group takes the rows nearest to its first row, or one after the other the row that
        raises its sum of squares least, which is the nearest to its centroid so far.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d / k), memory O(n d). Deterministic. Sorting the free rows again in each round, as
    the paper does, leaves their order as it is: the mean moves all sums by the same amount.

    Examples
    --------
    >>> ps(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)
    array([0, 1, 0, 1])
    """
    order = np.argsort(x.sum(axis=1), kind="stable")
    return cut_ends(x, k, grow, lambda pool: _ends(pool, order))


Ends = Callable[[Pool], tuple[int, int]]
"""Finds the first and the last of the free rows."""


def cut_ends(x: Matrix, k: int, grow: Growth, ends: Ends) -> Labels:
    """Cut groups in turn from both ends of a sorted list, until fewer than ``3k`` rows are left."""
    pool = Pool(x)
    while len(pool) >= 3 * k:
        first, last = ends(pool)
        pool.cut(first, k, grow=grow, spare=last)
        pool.cut(last, k, grow=grow)
    if len(pool) >= 2 * k:
        pool.cut(ends(pool)[0], k, grow=grow)
    pool.cut_rest()
    return pool.labels


def _ends(pool: Pool, order: Order) -> tuple[int, int]:
    free = order[pool.labels[order] < 0]
    return int(free[0]), int(free[-1])


METHOD = Method(
    run=ps,
    summary=(
        "Records are sorted by the sum of their deviations from the average. Groups are formed at"
        " both ends of this list: the record at an end is grouped with the records most similar to"
        " it."
    ),
    paper="KWZ10",
)
