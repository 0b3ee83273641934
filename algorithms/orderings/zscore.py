"""By the sum of z-scores."""

import numpy as np

from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order


def zscore(x: Matrix) -> Order:
    """Order the rows of ``x`` by the sum of their z-scores, of equals the lowest row first.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    References
    ----------
    .. [DM02] Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for
       statistical disclosure control", IEEE Trans. Knowl. Data Eng. 14 (2002) 189-201,
       doi:10.1109/69.979982.

    Examples
    --------
    >>> zscore(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, 0.5]]))
    array([1, 2, 0])
    """
    return np.argsort(x.sum(axis=1), kind="stable")


ORDERING = Ordering(run=zscore, paper="DM02")
