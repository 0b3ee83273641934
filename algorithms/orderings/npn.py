"""Nearest point next. STOPGAP by the lead: replace by the real one, but keep `nearest_next`."""

import numpy as np

from algorithms._jit import kernel
from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order


def npn(x: Matrix) -> Order:
    """Order the records so that each is followed by the nearest one that is left.

    References
    ----------
    .. [DMMS06] Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe, "Efficient multivariate
       data-oriented microaggregation", VLDB Journal 15 (2006) 355-369,
       doi:10.1007/s00778-006-0007-0.
    """
    return nearest_next(x, int(((x - x.mean(axis=0)) ** 2).sum(axis=1).argmax()))


@kernel
def nearest_next(x: Matrix, start: int) -> Order:
    """Walk from the row ``start``, always to the nearest row not yet visited."""
    n, d = x.shape
    left = np.ones(n, dtype=np.bool_)
    order = np.empty(n, dtype=np.int64)
    order[0] = start
    left[start] = False
    for i in range(1, n):
        best, least = -1, np.inf
        for row in range(n):
            if left[row]:
                total = 0.0
                for j in range(d):
                    total += (x[row, j] - x[order[i - 1], j]) ** 2
                if total < least:
                    best, least = row, total
        order[i] = best
        left[best] = False
    return order


ORDERING = Ordering(run=npn, paper="DMMS06")
