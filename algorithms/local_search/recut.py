"""Cuts the path through groups again."""

from algorithms.cutting import by_row, cut_published
from algorithms.rounding.grid import Grid
from algorithms.search.paths import chained
from algorithms.types import Labels, Matrix


def recut(x: Matrix, labels: Labels, k: int, grid: Grid | None = None) -> Labels:
    """Cut the path through groups where that loses least.

    If no group holds ``2k`` records or more, the new groups lose no more than the old ones, which
    are one of the cuts of that path.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    labels : Labels of shape (n,)
        Groups of at least ``k`` records.
    k : int
        Smallest group allowed.
    grid : Grid, optional
        The values that can be published; without it a group is represented by its average.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Examples
    --------
    >>> recut(np.array([[0.0], [1.0], [2.0], [7.0], [8.0]]), np.array([0, 0, 1, 1, 1]), k=2)
    array([0, 0, 0, 1, 1])
    """
    path = chained(x, labels)
    return by_row(cut_published(x[path], k, grid), path)
