"""Paths through groups that a method has formed."""

import numpy as np

from algorithms.search.paths import chained
from algorithms.search.pool import Pool
from algorithms.types import Matrix, Order


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
