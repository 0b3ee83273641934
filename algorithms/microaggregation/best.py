"""The best groups that can be found in the time granted."""

from typing import Annotated

from annotated_types import Ge, Gt

from algorithms.local_search.search import Watch, search
from algorithms.microaggregation.mdav import mdav
from algorithms.microaggregation.method import Method
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Matrix


def best(
    x: Matrix,
    k: int,
    grid: Grid | None = None,
    watch: Watch | None = None,
    *,
    iterations: Annotated[int, Ge(0)] | None = None,
    seconds: Annotated[float, Gt(0)] | None = None,
    seed: Annotated[int, Ge(0)] = 0,
) -> Labels:
    return search(x, mdav(x, k), k, grid, iterations=iterations, seconds=seconds, seed=seed, watch=watch)


METHOD = Method(run=best, paper="SSSD00", as_published=True)
