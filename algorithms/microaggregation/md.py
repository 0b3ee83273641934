"""MD, maximum distance."""

from typing import Literal

from algorithms.microaggregation.method import Method
from algorithms.search.pool import Growth, Pool
from algorithms.types import Labels, Matrix


def md(x: Matrix, k: int, *, first: Literal["lower", "higher"] = "lower") -> Labels:
    """Group the rows of ``x`` by ``k``, cutting two groups per round around the most distant rows.

    The two rows farthest from each other take their ``k - 1`` nearest rows, one after the other;
    rows that are left at the end are treated as in MDAV [DM02]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``; the last group may hold up to ``2k - 1`` rows.
    first : {"lower", "higher"}
        Which of the two rows takes its neighbours first, the lower or the higher one. The papers
        leave it open, and their figures need both.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time up to O(n³ d / k), in practice far less: each row remembers the farthest other, and is
    measured again only if that one has left and no other row may reach farther. Memory O(n d).
    Deterministic.

    Examples
    --------
    >>> md(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)
    array([0, 1, 0, 1])
    """
    pool = form_groups(x, k, first)
    pool.join_nearest()
    return pool.labels


def form_groups(
    x: Matrix, k: int, first: Literal["lower", "higher"] = "lower", grow: Growth = "seed"
) -> Pool:
    """Do all rounds of MD, until fewer than ``k`` rows are free."""
    pool = Pool(x)
    while len(pool) >= 2 * k:
        one, other = pool.farthest_pair()
        if first == "higher":
            one, other = other, one
        pool.cut(one, k, grow=grow)
        if pool.labels[other] >= 0:  # all distances tie, and it went with the first
            other = pool.farthest_from_row(one)
        pool.cut(other, k, grow=grow)
    if len(pool) >= k:
        pool.cut_rest()
    return pool


METHOD = Method(
    run=md,
    summary=(
        "Two groups are formed at a time, around the two ungrouped records that are farthest from"
        " each other."
    ),
    paper="DM02",
)
