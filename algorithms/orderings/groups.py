"""Paths through groups that a method has formed."""

import numpy as np

from algorithms.jit import kernel
from algorithms.orderings.npn import nearest_next
from algorithms.search.pool import Pool, centroids_of
from algorithms.types import Labels, Matrix, Order


def path_through(x: Matrix, pool: Pool, *, chain: bool) -> Order:
    """Visit the groups of a pool; rows that are still free are the last of them.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        The records.
    pool : Pool
        Groups of them; what is free is taken.
    chain : bool
        Whether to go from group to group by nearest centroid and from row to row by nearest point.
        If not, groups come as they were formed, each with its seed first and the others by their
        distance from it.
    """
    if len(pool):
        pool.cut_rest()
    if chain:
        return chained(x, pool.labels)
    seeds = np.array(pool.seeds)[pool.labels]
    away = np.where(seeds < 0, 0.0, ((x - x[seeds]) ** 2).sum(axis=1))
    away[seeds == np.arange(len(x))] = -1.0  # itself before any duplicate of it
    return np.lexsort((away, pool.labels))


def chained(x: Matrix, labels: Labels) -> Order:
    """Go from group to group by nearest centroid, and inside each by nearest point.

    The path starts in group 0, at the row farthest from the average of all. It enters a group at
    the row nearest to the last one of the group before. Of equals the lowest row or group.
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
        for held in range(left.size, 0, -1):
            best, least = np.int64(0), np.inf
            for i in range(held):
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
            for i in range(best, held - 1):
                left[i] = left[i + 1]
