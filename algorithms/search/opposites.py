"""Groups cut in pairs at opposite ends of the free records, as in MDAV."""

from typing import Literal

from algorithms.search.pool import Pool
from algorithms.types import Matrix

First = Literal["farthest", "opposite"]
"""The seed that takes its neighbours first: the one farthest from the centroid of the free
records, or the one opposite to it."""


def cut_opposites(pool: Pool, k: int, first: First = "farthest") -> None:
    """Cut a group of ``k`` around the farthest free row, and one around the row opposite to it."""
    one = pool.farthest_from(pool.centroid())
    if first == "opposite":
        other = pool.farthest_from_row(one)
        pool.cut(other, k)
        pool.cut(one if pool.labels[one] < 0 else pool.farthest_from_row(other), k)
    else:
        pool.cut(one, k)
        pool.cut(pool.farthest_from_row(one), k)


def cut_all_opposites(x: Matrix, k: int, first: First = "farthest") -> Pool:
    """Cut pairs of groups while ``2k`` rows are free; ``k`` or more that are left form a group."""
    pool = Pool(x)
    while len(pool) >= 2 * k:
        cut_opposites(pool, k, first)
    if len(pool) >= k:
        pool.cut_rest()
    return pool
