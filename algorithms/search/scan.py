"""Free records, searched by brute force."""

import numpy as np

from algorithms.search.around_seed import (
    grow_around_centroid,
    joining_by_neighbourhood,
    nearest_in_shell,
    nearest_to_any,
)
from algorithms.search.kernels import (
    compact,
    farthest_pair,
    farthest_place,
    measure_farthest,
    measure_nearest,
    nearest_places,
    squared_distances,
    strike_out,
)
from algorithms.types import Labels, Mask, Matrix

COMPACT_BELOW = 0.75
"""Share of the records held that must be free; below it the gaps are closed."""

GROUPS_NEARBY = 4
"""Records looked at first, in multiples of a group: those near a seed mostly decide its group."""


class Scan:
    """Free records in columns, all of which are measured for every answer.

    Ties go to the lowest row. The distances from the seed of the group cut last are kept, because
    they also give the opposite record and the next one.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Records; left as they are.
    rows : Labels
        Those that are free, in order.
    """

    def __init__(self, x: Matrix, rows: Labels) -> None:
        self._x = x
        self._columns = (x if len(rows) == len(x) else x[rows]).T.copy(order="C")
        self._rows = rows.copy()
        self._length = self._free = len(rows)
        self._distances = np.empty(len(rows))
        self._origin = -1  # the row that the distances were taken from, if it was a row
        self._radius: Matrix | None = None

    def farthest_from(self, point: Matrix) -> int:
        """Find the record farthest from ``point``."""
        self._origin = -1
        place = measure_farthest(self._columns, self._length, point, self._distances)
        return int(self._rows[place])

    def farthest_from_row(self, row: int) -> int:
        """Find the record farthest from the record ``row``, which may have been removed."""
        if self._origin == row:
            return int(self._rows[farthest_place(self._distances, self._length)])
        farthest = self.farthest_from(self._x[row])
        self._origin = row
        return farthest

    def farthest_pair(self, is_free: Mask) -> tuple[int, int]:
        """Find the two records farthest from each other, the lower row first."""
        if self._radius is None:
            self._radius = np.sqrt(((self._x - self._x.mean(axis=0)) ** 2).sum(axis=1))
            self._reach = np.full(len(self._x), np.inf)
            self._partner = np.full(len(self._x), -1, dtype=np.int64)
        self._origin = -1
        return farthest_pair(
            self._columns,
            self._length,
            self._rows,
            self._radius,
            self._reach,
            self._partner,
            is_free,
            self._distances,
        )

    def cut(self, row: int, size: int, spare: int) -> Labels:
        """Remove ``row`` and the ``size - 1`` records nearest to it, ``spare`` left alone."""
        places = self._measure_nearest(row, size, spare)
        rows: Labels = self._rows[places]
        self._strike_out(places)
        return rows

    def grow(self, row: int, size: int, spare: int) -> Labels:
        """Remove ``row`` and, one after the other, the record nearest to the centroid so far."""
        near = self._measure_nearest(row, GROUPS_NEARBY * size, spare)
        self._distances[near[0]] = 0.0
        places = grow_around_centroid(self._columns, self._length, self._distances, near, size)
        rows: Labels = self._rows[places]
        self._strike_out(places)
        return rows

    def nearest_to_group(self, members: list[int]) -> tuple[int, float]:
        """Find the record nearest to any of ``members``, the seed first; its squared distance."""
        self._measure_from_row(members[0])
        place, square = nearest_to_any(
            self._columns, self._length, self._distances, self._x[members[0]], self._x[members]
        )
        return int(self._rows[place]), float(square)

    def distance_to_nearest(self, row: int, seed: int) -> float:
        """Measure from a record, near a group with that seed, to the nearest other one, squared."""
        self._measure_from_row(seed)
        place = self._place(row)
        away = float(np.sqrt(self._distances[place]))
        _, square = nearest_in_shell(
            self._columns, self._length, self._distances, self._x[row], away, place, -1
        )
        return float(square)

    def cut_by_neighbourhood(
        self, members: list[int], k: int, largest: int, gamma: float, literal: bool
    ) -> Labels:
        """Remove the records that join ``members``, the seed first, by the rule of CV-MDAV."""
        self._measure_from_row(members[0])
        places = joining_by_neighbourhood(
            self._columns,
            self._length,
            self._distances,
            nearest_places(self._distances, self._length, min((1 + GROUPS_NEARBY) * k, self._free)),
            k,
            self._x[members],
            min(largest - len(members), k),
            gamma,
            literal,
        )
        rows: Labels = self._rows[places]
        self._strike_out(places)
        return rows

    def remove(self, rows: Labels) -> None:
        """Remove records."""
        self._strike_out(np.searchsorted(self._rows[: self._length], rows))

    def _measure_nearest(self, row: int, count: int, spare: int) -> Labels:
        """Measure from ``row``, and find it and the places nearest to it, in order."""
        count = min(count, self._free - (spare >= 0))
        # with a record left out, these distances serve this group only
        self._origin = row if spare < 0 else -1
        return measure_nearest(
            self._columns,
            self._length,
            self._x[row],
            self._distances,
            self._place(row),
            self._place(spare) if spare >= 0 else -1,
            count,
        )

    def _measure_from_row(self, row: int) -> None:
        if self._origin != row:
            squared_distances(self._columns, self._length, self._x[row], self._distances)
            self._origin = row

    def _place(self, row: int) -> int:
        return int(np.searchsorted(self._rows[: self._length], row))

    def _strike_out(self, places: Labels) -> None:
        strike_out(self._columns, places, self._distances)
        self._free -= len(places)
        if self._free < COMPACT_BELOW * self._length:
            self._length = compact(self._columns, self._rows, self._distances, self._length)
