"""Ordering by the sum of z-scores."""

import numpy as np

from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order


def zscore(x: Matrix) -> Order:
    """Order the rows of ``x`` by the sum of their z-scores; ties go to the lowest row.

    On one column this is how [DM02]_ sorts records.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    Examples
    --------
    >>> zscore(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, 0.5]]))
    array([1, 2, 0])
    """
    return np.argsort(x.sum(axis=1), kind="stable")


ORDERING = Ordering(
    run=zscore,
    summary="The path follows the sum of the standardised values of a record.",
    paper="DM02",
)
