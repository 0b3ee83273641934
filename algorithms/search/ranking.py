"""The farthest record from a point that moves little."""

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Labels, Matrix

LOOKS_PER_ROW = 8
"""Records looked at, for each that was ranked, before ranking them again pays."""

LEAST_ANSWERS = 64
"""Answers that a ranking must give until then; with fewer, it does not pay."""


class Ranking:
    """Free records by their distance from a point, to find those farthest from points close by.

    A point that has moved by some distance is at most that much farther from any record: the search
    goes down the ranks until no record can be farther than the best so far. A centroid moves
    little while groups are cut from all sides. If most records must be checked because many are
    equally far, the ranking reports that it is slow.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Records; left as they are.
    """

    def __init__(self, x: Matrix) -> None:
        self._x = x
        self._point = np.empty(0)
        self._rows = np.empty(0, dtype=np.int64)
        self._away = np.empty(0)
        self._first = self._work = 0
        self._answers = LEAST_ANSWERS
        self.is_slow = False

    def farthest_from(self, point: Matrix, labels: Labels) -> int:
        """Find the record of label -1 farthest from ``point``; ties go to the lowest row."""
        if self._work >= LOOKS_PER_ROW * len(self._rows):
            self._rank(point, labels)
        best, self._first, work = farthest_in_ranks(
            self._x, self._rows, self._away, self._first, self._point, point, labels
        )
        self._work += work
        self._answers += 1
        return int(best)

    def _rank(self, point: Matrix, labels: Labels) -> None:
        self.is_slow = self._answers < LEAST_ANSWERS
        free = np.flatnonzero(labels < 0)
        squares = squares_from(self._x, free, point)
        order = np.argsort(-squares)
        self._rows = free[order]
        self._away = np.sqrt(squares[order])
        self._point = point
        self._first = self._work = self._answers = 0


@kernel
def squares_from(x: Matrix, rows: Labels, point: Matrix) -> Matrix:
    """Measure the squared distances of some rows of ``x`` to ``point``."""
    squares = np.zeros(rows.size)
    for i in range(rows.size):
        for j in range(point.size):
            difference = x[rows[i], j] - point[j]
            squares[i] += difference * difference
    return squares


@kernel
def farthest_in_ranks(
    x: Matrix,
    rows: Labels,
    away: Matrix,
    first: int,
    ranked_from: Matrix,
    point: Matrix,
    labels: Labels,
) -> tuple[int, int, int]:
    """Find the free row farthest from ``point``, the first rank still free, and ranks looked at.

    ``rows`` are ranked by ``away``, their distances from another point; before ``first`` all are
    taken.
    """
    moved = 0.0
    for j in range(point.size):
        moved += (point[j] - ranked_from[j]) ** 2
    moved = np.sqrt(moved)
    while labels[rows[first]] >= 0:
        first += 1
    best, largest = -1, -1.0
    rank = first
    while rank < rows.size:
        row = rows[rank]
        if labels[row] < 0:
            # the triangle inequality holds for what is measured, but for its rounding
            if ((away[rank] + moved) * (1.0 + 1e-9)) ** 2 < largest:
                break
            square = 0.0
            for j in range(point.size):
                difference = x[row, j] - point[j]
                square += difference * difference
            if square > largest or (square == largest and row < best):
                best, largest = row, square
        rank += 1
    return best, first, rank - first
