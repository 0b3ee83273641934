"""MDAV, maximum distance to average vector."""

from typing import Literal

from algorithms.microaggregation.method import Method
from algorithms.search.opposites import First, cut_all_opposites
from algorithms.types import Labels, Matrix


def mdav(
    x: Matrix,
    k: int,
    *,
    first: First = "farthest",
    tail: Literal["nearest", "block"] = "nearest",
) -> Labels:
    """Group the rows of ``x`` by ``k``, cutting two opposite groups per round.

    One group forms around the row farthest from the centroid of the free rows, the other around
    the row farthest from that one [DT05]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``; the last group may hold up to ``2k - 1`` rows.
    first : {"farthest", "opposite"}
        Which of the two rows takes its neighbours first: the one farthest from the centroid, or the
        one opposite to it.
    tail : {"nearest", "block"}
        Where fewer than ``k`` rows go that are left at the end: each to the group with the nearest
        centroid, or all of them to the group whose centroid is nearest to their average.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d / k) at worst, and much less in large tables, where a tree finds the rows; memory
    O(n d). Deterministic. Departs from [DT05]_ in two points. An opposite row that went with the
    first group is replaced by the one farthest then, so duplicates are safe; on other data that
    changes nothing. And rounds go on while ``2k`` rows are left, not ``3k``, which is what the
    published figures for MDAV were measured with.

    Examples
    --------
    >>> mdav(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)
    array([0, 1, 0, 1])
    """
    pool = cut_all_opposites(x, k, first)
    if tail == "nearest":
        pool.join_nearest()
    elif len(pool):
        pool.join_as_block()
    return pool.labels


METHOD = Method(
    run=mdav,
    summary=(
        "Two groups are formed at a time, at opposite ends of the data: one around the ungrouped "
        "record farthest from the average, the other around the record farthest from that one."
    ),
    paper="DT05",
)
