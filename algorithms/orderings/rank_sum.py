"""Ordering by the sum of ranks."""

import numpy as np

from algorithms.microaggregation.multi_dsort import ranks_of
from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order


def rank_sum(x: Matrix) -> Order:
    """Order the records by the sum of their ranks; ties go to the lowest row.

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
    The list from whose ends Multi-DSort cuts [MKM12]_. Equal values are ranked by row.

    Examples
    --------
    >>> rank_sum(np.array([[1.0, 9.0], [-1.0, 0.0], [0.0, 0.5]]))
    array([1, 2, 0])
    """
    return np.argsort(ranks_of(x).sum(axis=1), kind="stable")


ORDERING = Ordering(
    run=rank_sum,
    summary="The path follows the sum of the ranks that a record has in the averaged columns.",
    paper="MKM12",
)
