"""Free records, searched with a tree."""

from typing import Any

import numpy as np

from algorithms.jit import kernel
from algorithms.search.tree import WIDTH, Tree, build, farthest, nearest, remove, rows_left
from algorithms.types import Labels, Matrix

REBUILD_BELOW = 0.6
"""Share of the indexed records that must be free; below it the tree is built again."""

GROUPS_ON_TRIAL = 32
"""Groups that are cut before each check whether the tree pays."""

LEAF_COST = 3
"""Cost of measuring a leaf or a box, in multiples of the cost of as many records in line."""

Parts = tuple[Any, ...]
"""A tree as a plain tuple, which reaches a kernel in half of the time."""


class Index:
    """Free records in a tree, which are measured only where they may be the answer.

    It gives the same rows as ``Scan``. ``is_slow`` says whether the records lie such that most must
    be measured in spite of the tree.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Records, in rows next to each other; left as they are.
    rows : Labels
        Those that are free.
    """

    def __init__(self, x: Matrix, rows: Labels) -> None:
        self._x = x
        self._tree: Parts = tuple(build(x, rows))
        self._work: Labels = self._tree[-1]
        self._indexed = self._free = len(rows)
        self._groups = 0
        self.is_slow = False

    def farthest_from(self, point: Matrix) -> int:
        """Find the record farthest from ``point``."""
        return int(farthest_of(self._tree, point))

    def farthest_from_row(self, row: int) -> int:
        """Find the record farthest from the record ``row``, which may have been removed."""
        return self.farthest_from(self._x[row])

    def cut(self, row: int, size: int, spare: int) -> Labels:
        """Remove ``row`` and the ``size - 1`` records nearest to it, ``spare`` left alone."""
        self._groups += 1
        rows = cut_nearest(self._tree, self._x, row, size, spare)
        self._removed(len(rows))
        return rows

    def grow(self, row: int, size: int, spare: int) -> Labels:
        """Remove ``row`` and, one after the other, the record nearest to the centroid so far."""
        self._groups += size
        rows = cut_around_centroid(self._tree, self._x, row, size, spare)
        self._removed(len(rows))
        return rows

    def nearest_to_group(self, members: list[int]) -> tuple[int, float]:
        """Find the record nearest to any of ``members``; its squared distance."""
        row, square = nearest_to_members(self._tree, self._x, np.array(members))
        return int(row), float(square)

    def distance_to_nearest(self, row: int, seed: int) -> float:  # noqa: ARG002 - Scan needs it
        """Measure from a record to the nearest other one, squared; infinite if there is none."""
        return float(measure_to_nearest(self._tree, self._x, row))

    def remove(self, rows: Labels) -> None:
        """Remove records."""
        remove_rows(self._tree, rows)
        self._removed(len(rows))

    def _removed(self, count: int) -> None:
        self._free -= count
        if self._groups >= GROUPS_ON_TRIAL:
            self.is_slow = LEAF_COST * WIDTH * int(self._work[0]) > self._groups * self._free
            self._groups = self._work[0] = 0
        if self._free < REBUILD_BELOW * self._indexed:
            rows = list_left(self._tree, self._free)
            self._tree = ()  # its memory serves the next one
            self._tree = tuple(build(self._x, rows))
            self._work = self._tree[-1]
            self._indexed = self._free


@kernel
def list_left(parts: Parts, count: int) -> Labels:
    """List the ``count`` rows that were not removed."""
    return rows_left(Tree(*parts), count)


@kernel
def farthest_of(parts: Parts, point: Matrix) -> int:
    """Find the row farthest from ``point``; ties go to the lowest row."""
    return farthest(Tree(*parts), point)


@kernel
def remove_rows(parts: Parts, rows: Labels) -> None:
    """Remove rows."""
    tree = Tree(*parts)
    for i in range(rows.size):
        remove(tree, rows[i])


@kernel
def cut_nearest(parts: Parts, x: Matrix, row: int, size: int, spare: int) -> Labels:
    """Remove ``row`` and the ``size - 1`` rows nearest to it but ``spare``; list them in order."""
    tree = Tree(*parts)
    group = np.empty(size, dtype=np.int64)
    group[0] = row
    remove(tree, row)
    sought = size - 1 if spare < 0 else size
    if size > 1:
        rows, squares = np.empty(sought, dtype=np.int64), np.empty(sought)
        nearest(tree, x[row], rows, squares)
        count = 1
        for i in range(sought):
            other = rows[i]
            if other != spare and count < size:
                group[count] = other
                remove(tree, other)
                count += 1
    return group


@kernel
def cut_around_centroid(parts: Parts, x: Matrix, row: int, size: int, spare: int) -> Labels:
    """Remove ``row`` and, one by one, the row nearest to the centroid so far but ``spare``."""
    tree = Tree(*parts)
    group = np.empty(size, dtype=np.int64)
    rows, squares = np.empty(2, dtype=np.int64), np.empty(2)
    total, centroid = x[row].copy(), x[row].copy()
    group[0] = row
    remove(tree, row)
    for count in range(1, size):
        nearest(tree, centroid, rows, squares)
        other = rows[0] if rows[0] != spare else rows[1]
        group[count] = other
        remove(tree, other)
        for j in range(total.size):
            total[j] += x[other, j]
            centroid[j] = total[j] / (count + 1)
    return group


@kernel
def nearest_to_members(parts: Parts, x: Matrix, members: Labels) -> tuple[int, float]:
    """Find the row nearest to any of ``members`` (ties: the lowest), and its squared distance."""
    tree = Tree(*parts)
    best, smallest = -1, np.inf
    row, square = np.empty(1, dtype=np.int64), np.empty(1)
    for member in members:
        nearest(tree, x[member], row, square)
        if square[0] < smallest or (square[0] == smallest and row[0] < best):
            best, smallest = row[0], square[0]
    return best, smallest


@kernel
def measure_to_nearest(parts: Parts, x: Matrix, row: int) -> float:
    """Measure from ``row`` to the nearest other one, squared; infinite if there is none."""
    tree = Tree(*parts)
    rows, squares = np.empty(2, dtype=np.int64), np.empty(2)
    nearest(tree, x[row], rows, squares)
    other = 0 if rows[0] != row else 1
    square: float = squares[other]
    return square
