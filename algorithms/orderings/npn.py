"""NPN, nearest point next."""

from algorithms.orderings.ordering import Ordering
from algorithms.search.paths import nearest_next
from algorithms.search.pool import Pool
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
    gives the one that a search through all would. Deterministic; ties go to the lowest row.

    Examples
    --------
    >>> npn(np.array([[0.0], [9.0], [1.0], [7.0]]))
    array([1, 3, 2, 0])
    """
    pool = Pool(x)
    return nearest_next(x, pool.farthest_from(pool.centroid()))


ORDERING = Ordering(
    run=npn,
    summary=(
        "The path starts at the record farthest from the average and always continues to the "
        "nearest record that is not on it yet."
    ),
    paper="DMMS06",
)
