"""The MDAV family's vocabulary: free records, and groups cut from them."""

from typing import Literal

import numpy as np

from algorithms._kernels import (
    compact,
    farthest,
    farthest_pair,
    grow_around_centroid,
    joining_by_neighbourhood,
    nearest,
    nearest_in_shell,
    nearest_to_any,
    squared_distances,
    sum_exactly,
    take,
)
from algorithms.types import Labels, Matrix

COMPACT_BELOW = 0.75
"""Share of the records held that must be free; below it the gaps are closed."""

NEAR = 4
"""Records looked at first, in multiples of a group: those near a seed mostly settle its group."""

Growth = Literal["seed", "centroid"]
"""Whether a group takes the records nearest to its seed, or nearest to its centroid so far."""


class Pool:
    """Records that belong to no group yet.

    Distances are squared Euclidean, and of equals the lowest row is chosen. The sum of the free
    records is carried along in double-double arithmetic, so that a centroid does not depend on the
    order in which records were taken.

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
        self._x = x
        self._columns = x.T.copy(order="C")
        self._rows: Labels = np.arange(n, dtype=np.int64)
        self._held: int = n
        self._free: int = n
        self._distances = np.empty(n)
        self._origin = -1  # the row that the distances were taken from, if it was a row
        self._radius: Matrix | None = None
        self._high, self._low = np.zeros(d), np.zeros(d)
        sum_exactly(self._columns, self._high, self._low)

    def __len__(self) -> int:
        return self._free

    def centroid(self) -> Matrix:
        """Average the free records."""
        mean: Matrix = (self._high + self._low) / self._free
        return mean

    def farthest_from(self, point: Matrix) -> int:
        """Find the free record farthest from ``point``."""
        self._measure_from(point)
        return int(self._rows[farthest(self._distances, self._held)])

    def farthest_from_row(self, row: int) -> int:
        """Find the free record farthest from the record ``row``, which may have been taken."""
        self._measure_from_row(row)
        return int(self._rows[farthest(self._distances, self._held)])

    def by_distance_from(self, point: Matrix) -> list[int]:
        """List the free records, the farthest from ``point`` first; of equals the lowest row."""
        self._measure_from(point)
        places = np.argsort(-self._distances[: self._held], kind="stable")[: self._free]
        rows: list[int] = self._rows[places].tolist()
        return rows

    def farthest_pair(self) -> tuple[int, int]:
        """Find the two free records farthest from each other, the lower row first."""
        if self._radius is None:
            self._radius = np.sqrt(((self._x - self._x.mean(axis=0)) ** 2).sum(axis=1))
            self._reach = np.full(len(self._x), np.inf)
            self._partner = np.full(len(self._x), -1, dtype=np.int64)
        self._origin = -1
        return farthest_pair(
            self._columns,
            self._held,
            self._rows,
            self._radius,
            self._reach,
            self._partner,
            self.labels < 0,
            self._distances,
        )

    def cut(self, row: int, size: int, *, grow: Growth = "seed", spare: int | None = None) -> None:
        """Form a group of the free record ``row`` and ``size - 1`` free records near it.

        They are those nearest to ``row`` itself or, with ``grow="centroid"``, one after the other
        the one nearest to the centroid of the group so far. The record ``spare`` is left alone.
        """
        self._measure_from_row(row)
        self._distances[self._place(row)] = -1.0  # itself before any duplicate of it
        self.last = []
        self.seeds.append(row)
        if spare is not None:
            self._distances[self._place(spare)] = np.nan
            self._origin = -1  # these distances serve this group only
        if grow == "seed":
            self._take(nearest(self._distances, self._held, size))
            return
        near = self._nearest_places(NEAR * size, sparing=spare is not None)
        self._distances[near[0]] = 0.0
        self._take(grow_around_centroid(self._columns, self._held, self._distances, near, size))

    def cut_rows(self, rows: Labels) -> None:
        """Form a group of the free records ``rows``."""
        self.last = []
        self.seeds.append(-1)
        self._take(np.searchsorted(self._rows[: self._held], rows))

    def cut_rest(self) -> None:
        """Form a group of all free records."""
        self.cut_rows(self._free_rows())

    def extend(self, row: int) -> None:
        """Add a free record to the group that was cut last."""
        self._take(np.array([self._place(row)]))

    def nearest_to_group(self) -> tuple[int, float]:
        """Find the free record nearest to any member of the last group; its squared distance."""
        place, square = nearest_to_any(
            self._columns, self._held, self._distances, self._x[self.seeds[-1]], self._x[self.last]
        )
        return int(self._rows[place]), float(square)

    def distance_to_nearest(self, row: int) -> float:
        """Measure from the free record ``row`` to the nearest other one, squared; infinite if none.

        Uses distances from the seed of the group cut last.
        """
        place = self._place(row)
        away = float(np.sqrt(self._distances[place]))
        _, square = nearest_in_shell(
            self._columns, self._held, self._distances, self._x[row], away, place, -1
        )
        return float(square)

    def extend_by_neighbourhood(self, k: int, largest: int, gamma: float, literal: bool) -> None:
        """Let the group cut last take free records as CV-MDAV does; ``2k`` records must be free."""
        joining = joining_by_neighbourhood(
            self._columns,
            self._held,
            self._distances,
            self._nearest_places((1 + NEAR) * k),
            k,
            self._x[self.last],
            min(largest - len(self.last), k),
            gamma,
            literal,
        )
        self._take(joining)

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

    def _measure_from(self, point: Matrix) -> None:
        squared_distances(self._columns, self._held, point, self._distances)
        self._origin = -1

    def _measure_from_row(self, row: int) -> None:
        if self._origin != row:
            self._measure_from(self._x[row])
            self._origin = row

    def _nearest_places(self, count: int, *, sparing: bool = False) -> Labels:
        """Find the places with the smallest distances, in order; fewer if fewer are free."""
        places = nearest(self._distances, self._held, min(count, self._free - sparing))
        ordered: Labels = places[np.lexsort((places, self._distances[places]))]
        return ordered

    def _place(self, row: int) -> int:
        return int(np.searchsorted(self._rows[: self._held], row))

    def _take(self, places: Labels) -> None:
        rows = self._rows[places]
        self.last += rows.tolist()
        self.labels[rows] = len(self.seeds) - 1
        take(self._columns, places, self._high, self._low, self._distances)
        self._free -= len(places)
        if self._free < COMPACT_BELOW * self._held:
            self._held = compact(self._columns, self._rows, self._distances, self._held)

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
    """Find the record (one per column) nearest to ``point``; the first of equals."""
    distances = np.empty(columns.shape[1])
    squared_distances(columns, distances.size, point, distances)
    return int(distances.argmin())
