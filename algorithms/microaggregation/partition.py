"""Runs a method, undoes the ordering, proves the result."""

from collections.abc import Callable
from typing import Any

import numpy as np

from algorithms.errors import ContractError, DataError
from algorithms.microaggregation.method import Method
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Matrix, Order, Partition, Watch


def partition(
    x: Matrix,
    k: int,
    method: Method,
    order: Order | None = None,
    grid: Grid | None = None,
    watch: Watch | None = None,
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
    watch : callable, optional
        Told how far a method is that searches until its budget is spent.
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
    if method.searches:
        tally, told = counted(watch)
        labels = _labels(method.run(x, k, grid, told, **options), n)
        return Partition(labels, k, iterations=tally())
    rounding = (grid,) if method.as_published else ()
    if order is None:
        return Partition(_labels(method.run(x, k, *rounding, **options), n), k)
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise ContractError("an order must hold every row once")
    labels = np.empty(n, dtype=np.int64)
    labels[order] = _labels(method.run(x[order], k, *rounding, **options), n)
    return Partition(labels, k)


def counted(watch: Watch | None) -> tuple[Callable[[], int], Watch]:
    """Remember how many iterations a search has made, for one who asks and one who watches."""
    made = 0

    def told(iterations: int, share: float) -> None:
        nonlocal made
        made = iterations
        if watch is not None:
            watch(iterations, share)

    return lambda: made, told


def _labels(labels: Labels, n: int) -> Labels:
    if labels.shape != (n,):
        raise ContractError("a method gives one label per row")
    return labels
