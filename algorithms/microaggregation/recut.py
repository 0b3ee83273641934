"""Cuts groups again."""

from algorithms.local_search.recut import recut as recut_labels
from algorithms.rounding.grid import Grid
from algorithms.types import Matrix, Partition


def recut(x: Matrix, groups: Partition, grid: Grid | None = None) -> Partition:
    """Hand any partition to IMHMI, along the path through its groups.

    If no group holds ``2k`` records or more, what is published after that loses no more than
    before, for the groups themselves are one of the cuts of their path.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    groups : Partition
        Groups of them.
    grid : Grid, optional
        The values that can be published.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0], [7.0], [8.0]])
    >>> recut(x, Partition(np.array([0, 0, 1, 1, 1]), k=2)).labels
    array([0, 0, 0, 1, 1])
    """
    return Partition(recut_labels(x, groups.labels, groups.k, grid), groups.k)
