"""MDAV without a thought for speed: fractions for centroids, sorting for neighbours."""

import math

import numpy as np

from algorithms.types import Labels, Matrix


def squared(a: Matrix, b: Matrix) -> float:
    total = 0.0
    for p, q in zip(a.tolist(), b.tolist(), strict=True):
        total += (p - q) * (p - q)
    return total


def centroid(x: Matrix, rows: list[int]) -> Matrix:
    return np.array([math.fsum(x[rows, j].tolist()) / len(rows) for j in range(x.shape[1])])


def farthest(x: Matrix, rows: list[int], point: Matrix) -> int:
    return min(rows, key=lambda row: (-squared(x[row], point), row))


def nearest(x: Matrix, rows: list[int], seed: int, size: int) -> list[int]:
    return sorted(rows, key=lambda row: (row != seed, squared(x[row], x[seed]), row))[:size]


def mdav(x: Matrix, k: int, tail: str = "nearest") -> Labels:
    free = list(range(len(x)))
    groups: list[list[int]] = []

    def cut(seed: int) -> None:
        groups.append(nearest(x, free, seed, k))
        for row in groups[-1]:
            free.remove(row)

    while len(free) >= 2 * k:
        first = farthest(x, free, centroid(x, free))
        cut(first)
        cut(farthest(x, free, x[first]))
    if len(free) >= k:
        groups.append(free)
    elif free:
        centroids = [centroid(x, sorted(group)) for group in groups]

        def closest(point: Matrix) -> int:
            return min(range(len(groups)), key=lambda g: (squared(centroids[g], point), g))

        goals = (
            [closest(x[row]) for row in free]
            if tail == "nearest"
            else [closest(centroid(x, free))] * len(free)
        )
        for row, goal in zip(free, goals, strict=True):
            groups[goal].append(row)
    labels = np.empty(len(x), dtype=np.int64)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels
