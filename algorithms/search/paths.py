"""Paths through records: always the nearest next, over all rows or group by group."""

import numpy as np

from algorithms.jit import kernel
from algorithms.search.pool import centroids_of
from algorithms.search.tree import build, nearest, remove
from algorithms.types import Labels, Matrix, Order


@kernel
def nearest_next(x: Matrix, start: int) -> Order:
    """Go from row ``start`` to the nearest row not yet visited, until all are."""
    n = x.shape[0]
    path = np.empty(n, dtype=np.int64)
    path[0] = start
    left = np.ones(n, dtype=np.bool_)
    following, square = np.empty(1, dtype=np.int64), np.empty(1)
    tree = build(x, np.arange(n))
    indexed = n
    for step in range(1, n):
        left[path[step - 1]] = False
        if 2 * (n - step) < indexed:
            # too many leaves are nearly empty
            tree = build(x, np.flatnonzero(left))
            indexed = n - step
        else:
            remove(tree, path[step - 1])
        nearest(tree, x[path[step - 1]], following, square)
        path[step] = following[0]
    return path


def chained(x: Matrix, labels: Labels) -> Order:
    """Go from group to group by nearest centroid, and inside each by nearest point.

    The path starts in group 0, at the row farthest from the average of all. It enters a group at
    the row nearest to the last one of the group before. Ties go to the lowest row or
    group.
    """
    away = ((x - x.mean(axis=0)) ** 2).sum(axis=1)
    start = int(np.where(labels == 0, away, -1.0).argmax())
    groups = nearest_next(centroids_of(x, labels), 0)
    members = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels))
    order = np.empty(len(x), dtype=np.int64)
    walk_inside(x, start, groups, members, ends, order)
    return order


@kernel
def walk_inside(
    x: Matrix, start: int, groups: Labels, members: Labels, ends: Labels, order: Order
) -> None:
    """Visit the members of each group, always the nearest of those that are left."""
    last, place = start, 0
    for group in groups:
        first = ends[group - 1] if group > 0 else 0
        left = members[first : ends[group]].copy()
        for count in range(left.size, 0, -1):
            best, least = np.int64(0), np.inf
            for i in range(count):
                distance = 0.0
                for j in range(x.shape[1]):
                    distance += (x[left[i], j] - x[last, j]) ** 2
                if distance < least:
                    best, least = np.int64(i), distance
            if place == 0:
                best = np.searchsorted(left, start)
            last = left[best]
            order[place] = last
            place += 1
            for i in range(best, count - 1):
                left[i] = left[i + 1]
