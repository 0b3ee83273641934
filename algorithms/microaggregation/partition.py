"""Runs a method, undoes the ordering, proves the result."""

from typing import Any

import numpy as np

from algorithms.errors import ContractError, DataError
from algorithms.microaggregation.method import Method
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Matrix, Order, Partition


def partition(
    x: Matrix,
    k: int,
    method: Method,
    order: Order | None = None,
    grid: Grid | None = None,
    **options: Any,
) -> Partition:
    """Group the rows of ``x`` into groups of at least ``k``.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group allowed.
    method : Method
        How to group them.
    order : Order of shape (n,), optional
        The path for a method that cuts one, and for no other.
    grid : Grid, optional
        The values that can be published, for a method that weighs what rounding will lose.
    **options
        The method's own options.

    Raises
    ------
    DataError
        If there are fewer than ``k`` rows.
    ContractError
        If the caller or the method breaks the contract between them.
    """
    n = len(x)
    if n < k:
        raise DataError(f"k must not exceed the number of rows; got k={k} for {n} rows")
    if not np.isfinite(x).all():
        raise ContractError("a method reads finite numbers only")
    if method.along_path != (order is not None):
        raise ContractError("a method that cuts a path needs an order, and no other takes one")
    rounding = (grid,) if method.as_published else ()
    if order is None:
        return Partition(_labels(method.run(x, k, *rounding, **options), n), k)
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise ContractError("an order must hold every row once")
    labels = np.empty(n, dtype=np.int64)
    labels[order] = _labels(method.run(x[order], k, *rounding, **options), n)
    return Partition(labels, k)


def _labels(labels: Labels, n: int) -> Labels:
    if labels.shape != (n,):
        raise ContractError("a method gives one label per row")
    return labels
