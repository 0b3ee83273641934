"""Cuts groups again, along the path through them."""

from algorithms.cutting import by_row, cut_path, cut_whole
from algorithms.orderings.groups import chained
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Matrix


def recut(x: Matrix, labels: Labels, k: int, grid: Grid | None = None) -> Labels:
    """Cut the path through groups where the published values lose least."""
    path = chained(x, labels)
    along = x[path]
    if grid is not None and x.shape[1] == 1 and grid.whole[0]:
        return by_row(cut_whole(grid.steps_from_origin(along), k)[0], path)
    return by_row(cut_path(along, k, grid)[0], path)
