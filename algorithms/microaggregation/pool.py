"""The MDAV family's vocabulary: free records, and groups cut from them."""

import numpy as np

from algorithms._kernels import compact, farthest, nearest, squared_distances, sum_exactly, take
from algorithms.types import Labels, Matrix

COMPACT_BELOW = 0.75
"""Share of the records held that must be free; below it the gaps are closed."""


class Pool:
    """Records that belong to no group yet.

    Distances are squared Euclidean, and of equals the lowest row is chosen. The sum of the free
    records is carried along in double-double arithmetic, so that a centroid does not depend on the
    order in which records were taken.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Finite records; left as they are.
    """

    def __init__(self, x: Matrix) -> None:
        n, d = x.shape
        self.labels: Labels = np.full(n, -1, dtype=np.int64)
        self._x = x
        self._columns = x.T.copy(order="C")
        self._rows: Labels = np.arange(n, dtype=np.int64)
        self._held: int = n
        self._free: int = n
        self._groups = 0
        self._distances = np.empty(n)
        self._origin: Matrix | None = None  # the point that the distances were taken from
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

    def cut(self, row: int, size: int) -> None:
        """Form a group of the free record ``row`` and the ``size - 1`` nearest to it."""
        self._measure_from(self._x[row])
        position = int(np.searchsorted(self._rows[: self._held], row))
        self._distances[position] = -1.0  # itself before any duplicate of it
        self._group(nearest(self._distances, self._held, size))

    def cut_rest(self) -> None:
        """Form a group of all free records."""
        self._group(np.flatnonzero(~np.isnan(self._columns[0, : self._held])))

    def join_nearest(self) -> None:
        """Send each free record to the group with the nearest centroid, as the groups stand now."""
        centroids = self._centroids()
        for row in self._free_rows():
            self.labels[row] = _closest(centroids, self._x[row])

    def join_as_block(self) -> None:
        """Send all free records to the group whose centroid is nearest to their average."""
        self.labels[self._free_rows()] = _closest(self._centroids(), self.centroid())

    def _measure_from(self, point: Matrix) -> None:
        if self._origin is None or not np.array_equal(self._origin, point):
            squared_distances(self._columns, self._held, point, self._distances)
            self._origin = point.copy()

    def _group(self, positions: Labels) -> None:
        self.labels[self._rows[positions]] = self._groups
        self._groups += 1
        take(self._columns, positions, self._high, self._low, self._distances)
        self._free -= len(positions)
        if self._free < COMPACT_BELOW * self._held:
            self._held = compact(self._columns, self._rows, self._distances, self._held)

    def _free_rows(self) -> Labels:
        return np.flatnonzero(self.labels < 0)

    def _centroids(self) -> Matrix:
        """Average the groups formed so far, one per column."""
        grouped = np.flatnonzero(self.labels >= 0)
        labels = self.labels[grouped]
        sums = [np.bincount(labels, weights=column) for column in self._x[grouped].T]
        means: Matrix = np.array(sums) / np.bincount(labels)
        return means


def _closest(centroids: Matrix, point: Matrix) -> int:
    """Find the centroid nearest to ``point``; the first of equals."""
    distances = np.empty(centroids.shape[1])
    squared_distances(centroids, distances.size, point, distances)
    return int(distances.argmin())
