"""The nearest rows of every row, leaf by leaf of a k-d tree."""

from collections.abc import Iterator

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Integers, Labels, Matrix

LEAF = 128
"""Rows measured together: more cost distances, fewer cost boxes."""

MOST_NEIGHBOURS_HELD = 2**22
"""Most neighbours in memory at a time."""


def nearest_rows(x: Matrix, k: int, count: int) -> Iterator[tuple[Integers, Matrix, Integers]]:
    """Find the ``count`` nearest rows of each row, itself included, some rows at a time.

    Those at twice the squared distance of the ``k``-th, or farther, may be left out: the distances
    of rows that are missing at the end are infinite.
    """
    leaves = _leaves(x)
    rows = np.concatenate(leaves)
    ends = np.cumsum([len(leaf) for leaf in leaves])
    starts = np.concatenate([[0], ends])
    columns = x[rows].T.copy(order="C")
    low = np.minimum.reduceat(columns, starts[:-1], axis=1)
    high = np.maximum.reduceat(columns, starts[:-1], axis=1)
    step = max(MOST_NEIGHBOURS_HELD // (LEAF * count), 1)
    for first in range(0, len(leaves), step):
        last = min(first + step, len(leaves))
        squares, others = _search(columns, starts, low, high, first, last, k, count)
        yield rows[starts[first] : starts[last]], squares, rows[others]


def neighbours(x: Matrix, count: int) -> Labels:
    """Find the ``count`` nearest other rows of each row, the nearest first.

    Ties go to the row that the search meets first, which is the same on every machine.
    """
    near = np.empty((len(x), count), dtype=np.int64)
    for rows, _, others in nearest_rows(x, count + 1, count + 1):
        itself = others == rows[:, np.newaxis]
        # a row with many copies need not be among its own nearest
        itself[~itself.any(axis=1), -1] = True
        near[rows] = others[~itself].reshape(len(rows), count)
    return near


def _leaves(x: Matrix) -> list[Integers]:
    """Halve the rows along their widest column, until few are left in each leaf."""
    leaves = []
    waiting = [np.arange(len(x))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= LEAF:
            leaves.append(rows)
            continue
        points = x[rows]
        half = len(rows) // 2
        # a full sort: where a partial one leaves ties depends on the machine
        split = np.argsort(points[:, np.ptp(points, axis=0).argmax()], kind="stable")
        waiting += [rows[split[half:]], rows[split[:half]]]
    return leaves


@kernel
def _search(
    columns: Matrix,
    starts: Labels,
    low: Matrix,
    high: Matrix,
    first: int,
    last: int,
    k: int,
    count: int,
) -> tuple[Matrix, Labels]:
    """Find the nearest rows of those in the leaves from ``first`` to ``last``.

    Each leaf's rows go together through all leaves, the closest first, by the distance between the
    boxes around them. Box distances are summed like distances and so never exceed them, not even by
    rounding.
    """
    offset = starts[first]
    rows = starts[last] - offset
    squares = np.full((rows, count), np.inf)
    others = np.zeros((rows, count), dtype=np.int64)
    reach = np.full(rows, np.inf)
    apart = np.empty(starts.size - 1)
    from_box = np.empty(LEAF)
    from_row = np.empty(LEAF)
    for leaf in range(first, last):
        start, stop = starts[leaf], starts[leaf + 1]
        my_reach = reach[start - offset : stop - offset]
        _measure(low, high, 0, apart.size, low[:, leaf], high[:, leaf], apart)
        apart[leaf] = -1.0
        for other in np.argsort(apart, kind="mergesort"):
            if apart[other] >= my_reach.max():
                break
            begin, end = starts[other], starts[other + 1]
            _measure(columns, columns, start, stop, low[:, other], high[:, other], from_box)
            for i in range(stop - start):
                if from_box[i] < my_reach[i]:
                    point = columns[:, start + i]
                    _measure(columns, columns, begin, end, point, point, from_row)
                    row = start - offset + i
                    candidates = from_row[: end - begin]
                    my_reach[i] = _insert(
                        candidates, begin, squares[row], others[row], my_reach[i], k
                    )
    return squares, others


@kernel
def _measure(
    bottoms: Matrix, tops: Matrix, begin: int, end: int, bottom: Matrix, top: Matrix, out: Matrix
) -> None:
    """Write the squared distances of some boxes to one box; a row is a box of no size."""
    total = out[: end - begin]
    total[:] = 0.0
    for j in range(bottoms.shape[0]):
        lows, highs = bottoms[j, begin:end], tops[j, begin:end]
        floor, ceiling = bottom[j], top[j]
        for i in range(total.size):
            gap = max(max(lows[i] - ceiling, floor - highs[i]), 0.0)
            total[i] += gap * gap


@kernel
def _insert(
    candidates: Matrix, begin: int, squares: Matrix, others: Labels, reach: float, k: int
) -> float:
    """Insert the candidates within reach, rows from ``begin`` on, among the nearest so far."""
    size = int(np.searchsorted(squares, np.inf))
    for i in range(candidates.size):
        if candidates[i] < reach:
            place = min(size, squares.size - 1)
            size += 1
            while place > 0 and squares[place - 1] > candidates[i]:
                squares[place] = squares[place - 1]
                others[place] = others[place - 1]
                place -= 1
            squares[place] = candidates[i]
            others[place] = begin + i
            reach = min(squares[-1], 2.0 * squares[k - 1])
    return reach
