"""NPN, nearest point next."""

import numpy as np

from algorithms.jit import kernel
from algorithms.orderings.ordering import Ordering
from algorithms.search.pool import Pool
from algorithms.search.tree import build, nearest, remove
from algorithms.types import Matrix, Order


def npn(x: Matrix) -> Order:
    """Order the records so that each is followed by the nearest one not yet visited.

    The path starts at the record farthest from the centroid [DMMS06]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    Notes
    -----
    Time about O(n log n) in few dimensions, memory O(n d): a tree finds the nearest record, and
    gives the one that a search through all would. Deterministic; of equals the lowest row.

    Examples
    --------
    >>> npn(np.array([[0.0], [9.0], [1.0], [7.0]]))
    array([1, 3, 2, 0])
    """
    pool = Pool(x)
    return nearest_next(x, pool.farthest_from(pool.centroid()))


@kernel
def nearest_next(x: Matrix, start: int) -> Order:
    """Go from row ``start`` to the nearest row not yet visited, until all are."""
    n = x.shape[0]
    path = np.empty(n, dtype=np.int64)
    path[0] = start
    left = np.ones(n, dtype=np.bool_)
    found, square = np.empty(1, dtype=np.int64), np.empty(1)
    tree = build(x, np.arange(n))
    held = n
    for step in range(1, n):
        left[path[step - 1]] = False
        if 2 * (n - step) < held:
            # too many leaves are nearly empty
            tree = build(x, np.flatnonzero(left))
            held = n - step
        else:
            remove(tree, path[step - 1])
        nearest(tree, x[path[step - 1]], found, square)
        path[step] = found[0]
    return path


ORDERING = Ordering(
    run=npn,
    summary=(
        "The path begins at the record farthest from the average, and goes on to the nearest "
        "record that is not on it yet."
    ),
    paper="DMMS06",
)
