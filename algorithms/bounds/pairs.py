"""The pairs of rows whose costs a bound may alter, and the patches of rows that lie close."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.bounds.distances import stretched
from algorithms.jit import kernel
from algorithms.search.neighbours import nearest_rows
from algorithms.types import Labels, Mask, Matrix

Places = NDArray[np.int32]
"""Places among the pairs."""

PAIRS_IN_ALL = 2**22
"""Neighbours looked at altogether, unless patches need more: all of some 2,000 rows."""

REACH = 3.0
"""Pairs within this many times the squared distance of the k-th nearest row are altered; a larger
reach was not found to raise the bound."""

INNER = 0.5
"""Share of a patch, around its centre, that needs no patch of its own."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows in both orders, row by row, and square patches of them.

    Attributes
    ----------
    starts : Labels of shape (n + 1,)
        Where the pairs of each row begin.
    others : Labels of shape (e,)
        The second row of each pair, ascending within a first row; a row is paired with itself.
    mirror : Labels of shape (e,)
        Place of the same pair in the other order.
    itself : Labels of shape (n,)
        Place of each row's pair with itself.
    costs : Matrix of shape (e,)
        Half of the squared distance.
    soft : Matrix of shape (e,) or (0,)
        The part of it that is due to labels; it is empty if there are none.
    outside : Matrix of shape (n,)
        What any pair of the row that is not listed costs at least.
    scale : Matrix of shape (n,)
        What a pair of the row costs, roughly: that with its k-th nearest row.
    patches : Labels of shape (p, b)
        Rows that lie close, ascending; every row is in at least one patch.
    places : Places of shape (p, b, b)
        Place of each pair of rows of a patch.
    """

    starts: Labels
    others: Labels
    mirror: Labels
    itself: Labels
    costs: Matrix
    soft: Matrix
    outside: Matrix
    scale: Matrix
    patches: Labels
    places: Places


def near_pairs(x: Matrix, k: int, size: int, one_label: Mask | None = None) -> Pairs:
    """List the pairs of rows that lie close, and cover the rows by patches.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Least group size, at most n.
    size : int
        Rows of a patch, from ``k`` to n.
    one_label : Mask of shape (d,), optional
        The coordinates of columns in which a group publishes one label; they are stretched.

    Notes
    -----
    Memory O(n (size + neighbours)); time that of the search for neighbours.
    """
    n = len(x)
    labels = np.zeros(x.shape[1], dtype=bool) if one_label is None else one_label
    x = np.ascontiguousarray(stretched(x, labels, k))
    near, costs, reached = _nearest(x, k, size)
    patches = _cover(x, near[:, : size - 1])
    reaching = np.repeat(np.arange(n), reached.sum(axis=1))
    members = np.argsort(patches.ravel(), kind="stable") // size
    backward = np.argsort(near[reached], kind="stable")
    starts, others, outside = _list(
        patches, np.searchsorted(np.sort(patches.ravel()), np.arange(n + 1)), members,
        near, costs, reached, reaching[backward],
        np.searchsorted(near[reached][backward], np.arange(n + 1)),
    )  # fmt: skip
    rows = np.repeat(np.arange(n), np.diff(starts))
    if near.shape[1] < n - 1:
        outside = np.minimum(outside, costs[:, -1])
    return Pairs(
        starts=starts,
        others=others,
        mirror=_places_of(starts, others, others, rows),
        itself=_places_of(starts, others, np.arange(n), np.arange(n)),
        costs=_costs(x, rows, others),
        soft=_costs(x[:, labels], rows, others) if labels.any() else np.zeros(0),
        outside=outside,
        scale=_scale(costs[:, k - 2]),
        patches=patches,
        places=_places(patches, starts, others),
    )


def _nearest(x: Matrix, k: int, size: int) -> tuple[Labels, Matrix, Mask]:
    """Find the nearest other rows, half of their squared distances, and those within reach.

    Rows beyond those that were looked for stand for the farthest that was found.
    """
    n = len(x)
    count = min(max(PAIRS_IN_ALL // n, size), n)
    near = np.empty((n, count - 1), dtype=np.int64)
    costs = np.empty((n, count - 1))
    for rows, squares, others in nearest_rows(x, size, count):
        itself = (others == rows[:, np.newaxis]) & np.isfinite(squares)
        # a row with many copies need not be among its own nearest
        itself[~itself.any(axis=1), -1] = True
        near[rows] = others[~itself].reshape(len(rows), count - 1)
        costs[rows] = squares[~itself].reshape(len(rows), count - 1) / 2.0
    reached = costs <= REACH * costs[:, [min(k, count - 1) - 1]]
    reached[:, : min(2 * k, count - 1)] = True
    missing = ~np.isfinite(costs)
    if missing.any():
        # at twice the squared distance of the last row of a patch, or farther
        reached &= ~missing
        costs = np.minimum(costs, 2.0 * costs[:, [size - 2]])
        near = np.where(missing, -1, near)
    return near, costs, reached


def _scale(kth: Matrix) -> Matrix:
    """Give each row the cost of its k-th nearest pair, or a small one to rows with copies."""
    positive = kth[kth > 0.0]
    if not positive.size:
        return np.ones(kth.size)
    return np.maximum(kth, 1e-3 * float(np.median(positive)))


@kernel
def _list(
    patches: Labels,
    member_starts: Labels,
    members: Labels,
    near: Labels,
    costs: Matrix,
    reached: Mask,
    reaching: Labels,
    reaching_starts: Labels,
) -> tuple[Labels, Labels, Matrix]:
    """List the pairs of each row, and find the least cost of a near row that is not listed.

    Listed are the row itself, the rows of its patches, and those within reach of it or that have it
    within reach.
    """
    n = near.shape[0]
    starts = np.zeros(n + 1, dtype=np.int64)
    outside = np.full(n, np.inf)
    seen = np.full(n, -1, dtype=np.int64)
    room = np.empty(n, dtype=np.int64)
    others = np.empty(0, dtype=np.int64)
    for fill in range(2):
        seen[:] = -1
        for row in range(n):
            seen[row] = row
            room[0] = row
            count = 1
            for place in range(member_starts[row], member_starts[row + 1]):
                for other in patches[members[place]]:
                    if seen[other] != row:
                        seen[other] = row
                        room[count] = other
                        count += 1
            for place in range(near.shape[1]):
                other = near[row, place]
                if reached[row, place] and seen[other] != row:
                    seen[other] = row
                    room[count] = other
                    count += 1
            for place in range(reaching_starts[row], reaching_starts[row + 1]):
                other = reaching[place]
                if seen[other] != row:
                    seen[other] = row
                    room[count] = other
                    count += 1
            if fill == 0:
                starts[row + 1] = starts[row] + count
                for place in range(near.shape[1]):
                    if near[row, place] < 0 or seen[near[row, place]] != row:
                        outside[row] = min(outside[row], costs[row, place])
            else:
                others[starts[row] : starts[row + 1]] = np.sort(room[:count])
        if fill == 0:
            others = np.empty(starts[n], dtype=np.int64)
    return starts, others, outside


@kernel
def _places_of(starts: Labels, others: Labels, first: Labels, second: Labels) -> Labels:
    """Find the places of some pairs."""
    places = np.empty(first.size, dtype=np.int64)
    for i in range(first.size):
        places[i] = place_of(starts, others, first[i], second[i])
    return places


def _costs(x: Matrix, rows: Labels, others: Labels) -> Matrix:
    """Halve the squared distance of each pair, column by column."""
    costs = np.zeros(rows.size)
    for column in x.T:
        costs += (column[rows] - column[others]) ** 2
    return costs / 2.0


def _cover(x: Matrix, near: Labels) -> Labels:
    """Choose patches, those of outlying centres first, until every row is in the middle of one."""
    n, width = near.shape
    away = ((x - x.mean(axis=0)) ** 2).sum(axis=1)
    covered = np.zeros(n, dtype=bool)
    centres = []
    for row in np.argsort(-away, kind="stable"):
        if not covered[row]:
            covered[row] = True
            covered[near[row, : int(INNER * width) if width < n - 1 else n]] = True
            centres.append(row)
    chosen = np.array(centres)
    patches: Labels = np.sort(np.column_stack([chosen, near[chosen]]), axis=1)
    return patches


@kernel
def place_of(starts: Labels, others: Labels, row: int, other: int) -> int:
    """Find the place of a pair by bisection; -1 if it is not listed."""
    low, end = starts[row], starts[row + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if others[middle] < other:
            low = middle + 1
        else:
            high = middle
    if low < end and others[low] == other:
        return int(low)
    return -1


@kernel
def _places(patches: Labels, starts: Labels, others: Labels) -> Places:
    """Find the place of each pair of rows of a patch."""
    count, size = patches.shape
    places = np.empty((count, size, size), dtype=np.int32)
    for patch in range(count):
        for a in range(size):
            for b in range(size):
                places[patch, a, b] = place_of(starts, others, patches[patch, a], patches[patch, b])
    return places
