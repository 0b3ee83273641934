"""Free records, and groups cut from them: the operations of the MDAV family."""

from typing import Literal

import numpy as np

from algorithms.search.index import Index
from algorithms.search.kernels import squared_distances, subtract_exactly, sum_exactly
from algorithms.search.ranking import Ranking, squares_from
from algorithms.search.scan import Scan
from algorithms.types import Labels, Matrix

FEW_ROWS = 2048
"""Free records below which measuring all of them costs less than avoiding it."""

FEW_COLUMNS = 5
"""With more columns than these, a tree pays only for tables that are longer in proportion."""

Growth = Literal["seed", "centroid"]
"""Whether a group takes the records nearest to its seed, or nearest to its centroid so far."""


def shortest_for_trees(columns: int) -> int:
    """Compute how many records a table must have for a tree to pay, including its construction."""
    return 3 * FEW_ROWS * max(columns, FEW_COLUMNS) // (2 * FEW_COLUMNS)


class Pool:
    """Records that belong to no group yet.

    Distances are squared Euclidean, and ties go to the lowest row. The sum of the free records is
    carried along in double-double arithmetic, so that a centroid does not depend on the order in
    which records were taken.

    While many records are free they are found through a tree, and otherwise, or where a tree is of
    no help, by measuring all of them. The answers are the same.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Finite records; left as they are.

    Attributes
    ----------
    labels : Labels of shape (n,)
        Group of each record, -1 where it is free.
    seeds : list of int
        The record that each group formed around, -1 where it formed of what was left.
    last : list of int
        Members of the group that was formed last, in the order in which they joined it.
    """

    def __init__(self, x: Matrix) -> None:
        n, d = x.shape
        self.labels: Labels = np.full(n, -1, dtype=np.int64)
        self.seeds: list[int] = []
        self.last: list[int] = []
        self._x = np.ascontiguousarray(x)
        self._free: int = n
        self._is_long = n >= shortest_for_trees(d)
        self._search: Index | Scan | None = None
        self._ranking = Ranking(self._x)
        self._high, self._low = np.zeros(d), np.zeros(d)
        sum_exactly(self._x, self._high, self._low)

    def __len__(self) -> int:
        return self._free

    def centroid(self) -> Matrix:
        """Average the free records."""
        mean: Matrix = (self._high + self._low) / self._free
        return mean

    def farthest_from(self, point: Matrix) -> int:
        """Find the free record farthest from ``point``, which may move a little with each call."""
        if self._has_many and not self._ranking.is_slow:
            return self._ranking.farthest_from(point, self.labels)
        return self._searched().farthest_from(point)

    def farthest_from_row(self, row: int) -> int:
        """Find the free record farthest from the record ``row``, which may have been taken."""
        return self._searched().farthest_from_row(row)

    def by_distance_from(self, point: Matrix) -> list[int]:
        """List the free records, the farthest from ``point`` first; ties by row."""
        free = self._free_rows()
        order = np.argsort(-squares_from(self._x, free, point), kind="stable")
        rows: list[int] = free[order].tolist()
        return rows

    def farthest_pair(self) -> tuple[int, int]:
        """Find the two free records farthest from each other, the lower row first."""
        return self._scan().farthest_pair(self.labels < 0)

    def cut(self, row: int, size: int, *, grow: Growth = "seed", spare: int | None = None) -> None:
        """Form a group of the free record ``row`` and ``size - 1`` free records near it.

        They are those nearest to ``row`` itself or, with ``grow="centroid"``, one after the other
        the one nearest to the centroid of the group so far. The record ``spare`` is left alone.
        """
        search = self._searched()
        gather = search.cut if grow == "seed" else search.grow
        self._form(row, gather(row, size, -1 if spare is None else spare))

    def cut_rows(self, rows: Labels) -> None:
        """Form a group of the free records ``rows``."""
        if self._search is not None:
            self._search.remove(rows)
        self._form(-1, rows)

    def cut_rest(self) -> None:
        """Form a group of all free records."""
        self._search = None
        self._form(-1, self._free_rows())

    def extend(self, row: int) -> None:
        """Add a free record to the group that was cut last."""
        rows = np.array([row])
        self._searched().remove(rows)
        self._take(rows)

    def nearest_to_group(self) -> tuple[int, float]:
        """Find the free record nearest to any member of the last group; its squared distance."""
        return self._searched().nearest_to_group(self.last)

    def distance_to_nearest(self, row: int) -> float:
        """Measure from the free record ``row`` to the nearest other one, squared; infinite if none.

        It should be close to the group that was cut last.
        """
        return self._searched().distance_to_nearest(row, self.seeds[-1])

    def extend_by_neighbourhood(self, k: int, largest: int, gamma: float, literal: bool) -> None:
        """Let the group cut last take free records as CV-MDAV does; ``2k`` records must be free."""
        self._take(self._scan().cut_by_neighbourhood(self.last, k, largest, gamma, literal))

    def join_nearest(self) -> None:
        """Send each free record to the group with the nearest centroid, as the groups stand now."""
        centroids = self._centroids()
        for row in self._free_rows():
            self.labels[row] = _closest(centroids, self._x[row])

    def join_as_block(self) -> None:
        """Send all free records to the group whose centroid is nearest to their average."""
        self.labels[self._free_rows()] = _closest(self._centroids(), self.centroid())

    def join_neighbour(self) -> None:
        """Send each free record, row by row, to the group of the nearest record that has one."""
        for row in self._free_rows():
            grouped = np.flatnonzero(self.labels >= 0)
            records = self._x[grouped].T.copy(order="C")
            self.labels[row] = self.labels[grouped[_closest(records, self._x[row])]]

    @property
    def _has_many(self) -> bool:
        """Whether there are enough free records for avoiding to measure all of them."""
        return self._is_long and self._free >= FEW_ROWS

    def _searched(self) -> Index | Scan:
        """Choose how to find free records: through a tree where it helps, or by looking at all."""
        if self._search is None:
            rows = self._free_rows()
            self._search = Index(self._x, rows) if self._has_many else Scan(self._x, rows)
        if isinstance(self._search, Index) and (not self._has_many or self._search.is_slow):
            return self._scan()
        return self._search

    def _scan(self) -> Scan:
        """Find free records by looking at all, from now on."""
        if not isinstance(self._search, Scan):
            self._search = None  # its memory serves the next one
            self._search = Scan(self._x, self._free_rows())
        return self._search

    def _form(self, seed: int, rows: Labels) -> None:
        self.last = []
        self.seeds.append(seed)
        self._take(rows)

    def _take(self, rows: Labels) -> None:
        self.last += rows.tolist()
        self.labels[rows] = len(self.seeds) - 1
        subtract_exactly(self._x, rows, self._high, self._low)
        self._free -= len(rows)

    def _free_rows(self) -> Labels:
        return np.flatnonzero(self.labels < 0)

    def _centroids(self) -> Matrix:
        """Average the groups formed so far, one per column."""
        grouped = np.flatnonzero(self.labels >= 0)
        return centroids_of(self._x[grouped], self.labels[grouped]).T.copy(order="C")


def centroids_of(x: Matrix, labels: Labels) -> Matrix:
    """Average the groups of ``x``, one per row."""
    sums = [np.bincount(labels, weights=column) for column in x.T]
    means: Matrix = (np.array(sums) / np.bincount(labels)).T
    return means


def _closest(columns: Matrix, point: Matrix) -> int:
    """Find the record (one per column) nearest to ``point``; ties go to the first."""
    distances = np.empty(columns.shape[1])
    squared_distances(columns, distances.size, point, distances)
    return int(distances.argmin())
