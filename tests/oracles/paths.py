"""Nearest records by looking at all of them."""

import numpy as np

from algorithms.types import Mask, Matrix


def squares(x: Matrix, point: Matrix) -> Matrix:
    """Sum squared differences column by column, as the kernels do."""
    total = np.zeros(len(x))
    for j in range(x.shape[1]):
        total += (x[:, j] - point[j]) ** 2
    return total


def nearest(x: Matrix, left: Mask, point: Matrix, count: int) -> list[int]:
    """List the nearest rows that are left, the lowest of equals first."""
    rows = np.flatnonzero(left)
    return rows[np.lexsort((rows, squares(x[rows], point)))][:count].tolist()


def nearest_next(x: Matrix, start: int) -> list[int]:
    """Walk from a row always to the nearest that is left."""
    left = np.ones(len(x), dtype=bool)
    path = [start]
    left[start] = False
    while left.any():
        path += nearest(x, left, x[path[-1]], 1)
        left[path[-1]] = False
    return path


def tour_length(x: Matrix) -> float:
    """Measure a tour through all rows as they come, and back to the first."""
    return float(np.sqrt(((x - np.roll(x, 1, axis=0)) ** 2).sum(axis=1)).sum())


def farthest(x: Matrix, left: Mask, point: Matrix) -> int:
    """Find the farthest row that is left, the lowest of equals."""
    rows = np.flatnonzero(left)
    return int(rows[squares(x[rows], point).argmax()])
