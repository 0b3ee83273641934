"""Paths through groups, step by step."""

import numpy as np

from algorithms.types import Labels, Matrix


def squares(rows: Matrix, point: Matrix) -> Matrix:
    found: Matrix = ((rows - point) ** 2).sum(axis=-1)
    return found


def walk(x: Matrix, rows: list[int], start: int) -> list[int]:
    """Go through rows, always to the nearest that is left, the lowest of equals."""
    left, path = sorted(set(rows) - {start}), [start]
    while left:
        path.append(left.pop(int(squares(x[left], x[path[-1]]).argmin())))
    return path


def chained(x: Matrix, labels: Labels) -> list[int]:
    members = [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]
    centroids = np.array([x[rows].mean(axis=0) for rows in members])
    path: list[int] = []
    for group in walk(centroids, list(range(len(members))), 0):
        rows = members[group]
        nearness = squares(x[rows], x[path[-1]]) if path else -squares(x[rows], x.mean(axis=0))
        path += walk(x, rows, rows[int(nearness.argmin())])
    return path


def as_formed(x: Matrix, labels: Labels, seeds: list[int]) -> list[int]:
    path: list[int] = []
    for group, seed in enumerate(seeds):
        rows = np.flatnonzero(labels == group).tolist()
        if seed >= 0:
            rows.remove(seed)
            rows = [seed, *sorted(rows, key=lambda row: (float(squares(x[row], x[seed])), row))]
        path += rows
    return path
