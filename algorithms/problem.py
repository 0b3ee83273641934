"""A grouping problem: all inputs that a method may ask for."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from algorithms.errors import ContractError, DataError
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Matrix, Order, Watch, check_matrix


@dataclass(frozen=True)
class Budget:
    """Limits of a search; without any limit, the method uses its own default.

    Attributes
    ----------
    iterations : int, optional
        Largest number of iterations. The same number gives the same groups on any machine.
    seconds : float, optional
        Largest number of seconds; the result then depends on the speed of the machine. If both
        limits are given, the search ends at the one that is reached first.
    """

    iterations: Annotated[int, Ge(0)] | None = None
    seconds: Annotated[float, Gt(0)] | None = None

    def share(self, part: float) -> "Budget":
        """Give a part of the budget."""
        return Budget(
            None if self.iterations is None else round(self.iterations * part),
            None if self.seconds is None else self.seconds * part,
        )


BUDGET_OPTIONS = tuple(entry.name for entry in fields(Budget))
"""Options of every method that asks for a budget."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A proven lower bound, to which a search compares what it finds.

    Attributes
    ----------
    value : float
        No groups lose less when they are published.
    loss : callable
        Computes what groups lose when they are published, from their labels. Where groups publish
        labels, that may be more than the loss that a search minimises.
    """

    value: float
    loss: Callable[[Labels], float]

    def proves(self, labels: Labels, gap: float) -> bool:
        """Tell whether groups lose at most ``gap`` per cent more than the bound."""
        return self.loss(labels) <= self.most(gap)

    def most(self, gap: float) -> float:
        """Give the largest loss that is ``gap`` per cent above the bound."""
        return self.value * (1.0 + gap / 100.0)


@dataclass(frozen=True, eq=False)
class Problem:
    """All inputs that a method may ask for; they are checked on construction.

    A method asks for a field by naming a parameter after it.

    Attributes
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group allowed.
    grid : Grid, optional
        Coordinates of publishable values; None if every value can be published.
    path : Order of shape (n,), optional
        A path through the records.
    start : Labels of shape (n,), optional
        Groups to improve.
    budget : Budget
        Limits of a search.
    watch : callable, optional
        Called during a search with its progress.
    units : Labels of shape (n,), optional
        The unit that each record is about, as an arbitrary number: every group then holds records
        of at least ``k`` units. None if every record is a unit of its own.
    bound : Bound, optional
        A lower bound on the loss of any groups; None if none was proven.

    Raises
    ------
    DataError
        If there are fewer than ``k`` records or units.
    ContractError
        If the records are not a matrix, a number is not finite, the path does not visit every
        record exactly once, or units are not one per record.
    """

    x: Matrix
    k: int
    grid: Grid | None = None
    path: Order | None = None
    start: Labels | None = None
    budget: Budget = field(default_factory=Budget)
    watch: Watch | None = None
    units: Labels | None = None
    bound: Bound | None = None

    def __post_init__(self) -> None:
        check_matrix(self.x)
        n = len(self.x)
        if n < self.k:
            raise DataError(f"k must not exceed the number of rows; got k={self.k} for {n} rows")
        if not np.isfinite(self.x).all():
            raise ContractError("the records of a method must be finite numbers")
        if self.path is not None and not np.array_equal(np.sort(self.path), np.arange(n)):
            raise ContractError("a path must visit every row exactly once")
        if self.units is not None:
            self._check_units(self.units)

    def _check_units(self, units: Labels) -> None:
        if units.shape != (len(self.x),):
            raise ContractError("units must be one number per record")
        count = np.unique(units).size
        if count < self.k:
            raise DataError(
                f"k must not exceed the number of units; got k={self.k} for {count} units"
            )


FIELDS = tuple(entry.name for entry in fields(Problem))
"""Names of the inputs that a method may ask for."""
