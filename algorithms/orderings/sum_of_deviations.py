"""Ordering by the sum of deviations from the mean."""

import numpy as np

from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order


def sum_of_deviations(x: Matrix) -> Order:
    """Order the records by the sum of their deviations from the mean; ties by row.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Records, standardised or not.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    Notes
    -----
    The list from whose ends P-S cuts [KWZ10]_. On standardised records, whose means are zero, it is
    the path of ``zscore``.

    Examples
    --------
    >>> sum_of_deviations(np.array([[7.0, 1.0], [5.0, 0.0], [6.0, 0.5]]))
    array([1, 2, 0])
    """
    return np.argsort((x - x.mean(axis=0)).sum(axis=1), kind="stable")


ORDERING = Ordering(
    run=sum_of_deviations,
    summary="The path follows the sum of the deviations of a record from the average.",
    paper="KWZ10",
)
