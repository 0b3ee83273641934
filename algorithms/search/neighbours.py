"""The nearest rows of every row, leaf by leaf of a k-d tree."""

import heapq
from collections.abc import Iterator

import numpy as np

from algorithms.jit import in_threads, kernel
from algorithms.search.boxes import LEAF, Boxes, boxes_around, gap_between, measure
from algorithms.types import Integers, Labels, Matrix

PIECE = 64
"""Leaves that one thread searches at a time."""

MOST_NEIGHBOURS_HELD = 2**22
"""Most neighbours in memory at a time."""


def nearest_rows(x: Matrix, k: int, count: int) -> Iterator[tuple[Integers, Matrix, Integers]]:
    """Find the ``count`` nearest rows of each row, itself included, some rows at a time.

    Those at twice the squared distance of the ``k``-th, or farther, may be left out: the distances
    of rows that are missing at the end are infinite.
    """
    boxes = boxes_around(x, LEAF)
    step = max(MOST_NEIGHBOURS_HELD // (LEAF * count), 1)
    for begin in range(0, boxes.leaves, step):
        end = min(begin + step, boxes.leaves)
        rows = boxes.rows[boxes.starts[begin] : boxes.starts[end]]
        squares, others = _nearest_of_leaves(boxes, begin, end, k, count)
        yield rows, squares, boxes.rows[others]


def _nearest_of_leaves(
    boxes: Boxes, begin: int, end: int, k: int, count: int
) -> tuple[Matrix, Labels]:
    """Find the nearest rows of those in some leaves, as places in the boxes."""
    offset = int(boxes.starts[begin])
    squares = np.full((int(boxes.starts[end]) - offset, count), np.inf)
    others = np.zeros(squares.shape, dtype=np.int64)
    in_threads(
        lambda leaf: _search(
            boxes.columns, boxes.starts, boxes.low, boxes.high, boxes.halves, boxes.first,
            leaf, min(leaf + PIECE, end), offset, k, squares, others,
        ),
        range(begin, end, PIECE),
    )  # fmt: skip
    return squares, others


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


@kernel
def _search(
    columns: Matrix,
    starts: Labels,
    low: Matrix,
    high: Matrix,
    halves: Labels,
    first: Labels,
    begin: int,
    end: int,
    offset: int,
    k: int,
    squares: Matrix,
    others: Labels,
) -> None:
    """Find the nearest rows of those in the leaves from ``begin`` to ``end``.

    Each leaf's rows go together through its own leaf and then through all other leaves, the
    closest first, by the distance between the boxes around them; ties go to the first leaf. A node
    is opened when it is the closest that is left, and no leaf of it can come before that.
    """
    leaves = starts.size - 1
    from_box = np.empty(LEAF)
    from_row = np.empty(LEAF)
    for leaf in range(begin, end):
        start, stop = starts[leaf], starts[leaf + 1]
        reach = np.full(stop - start, np.inf)
        farthest = np.inf
        waiting = [(-1.0, leaf, leaf), (0.0, 0, first.size - 1)]
        while waiting:
            apart, _, node = heapq.heappop(waiting)
            if apart >= farthest:
                break
            if node >= leaves:
                for half in halves[node - leaves]:
                    gap = gap_between(low, high, half, low[:, leaf], high[:, leaf])
                    if gap < farthest:
                        heapq.heappush(waiting, (gap, first[half], half))
                continue
            if node == leaf and apart >= 0.0:
                continue
            _measure_leaf(
                columns,
                starts,
                low,
                high,
                leaf,
                node,
                offset,
                k,
                squares,
                others,
                reach,
                from_box,
                from_row,
            )
            farthest = reach.max()


@kernel
def _measure_leaf(
    columns: Matrix,
    starts: Labels,
    low: Matrix,
    high: Matrix,
    leaf: int,
    other: int,
    offset: int,
    k: int,
    squares: Matrix,
    others: Labels,
    reach: Matrix,
    from_box: Matrix,
    from_row: Matrix,
) -> None:
    """Look for the nearest rows of one leaf's rows in another leaf."""
    start, stop = starts[leaf], starts[leaf + 1]
    begin, end = starts[other], starts[other + 1]
    measure(columns, columns, start, stop, low[:, other], high[:, other], from_box)
    for i in range(stop - start):
        if from_box[i] < reach[i]:
            point = columns[:, start + i]
            measure(columns, columns, begin, end, point, point, from_row)
            row = start - offset + i
            candidates = from_row[: end - begin]
            reach[i] = _insert(candidates, begin, squares[row], others[row], reach[i], k)


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
