"""Records before and after, and what measures of them share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import ContractError
from algorithms.standardisation import Scale, scale_of
from algorithms.types import Integers, Labels, Matrix

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Codes:
    """A confidential column, as numbers from 0 up for its distinct values.

    Attributes
    ----------
    values : Integers of shape (n,)
        The number of each record's value; in their order, if they have one.
    ordered : bool
        Whether values have an order.
    """

    values: Integers
    ordered: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """The same records before and after masking, in their own units.

    Attributes
    ----------
    original, published, unrounded : Matrix of shape (n, d)
        Before, after, and after but for rounding.
    k : int
        The smallest group that was promised.
    confidential : mapping of str to Codes
        Columns that are published as they are and that an attacker would want to learn.
    bound_rounds : int
        Rounds spent on a stronger bound on what any method must lose; 0 for the plain one.
    certify_seconds : float
        Seconds spent on a bound close to the optimum; 0 for none.
    """

    original: Matrix
    published: Matrix
    unrounded: Matrix
    k: int
    confidential: Mapping[str, Codes] = field(default_factory=dict)
    bound_rounds: int = 0
    certify_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not self.original.shape == self.published.shape == self.unrounded.shape:
            raise ContractError(
                f"original and published values must have one shape; got {self.original.shape}, "
                f"{self.published.shape} and {self.unrounded.shape}"
            )

    def once(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function that several measures need, and remember what it gave for these objects.

        Arguments are told apart by identity, since arrays cannot be hashed.
        """
        key = (function, *map(id, arguments))
        if key not in self._known:
            # arguments are kept so that no other object can get the identity of one
            self._known[key] = arguments, function(*arguments)
        result: Result = self._known[key][1]
        return result

    @cached_property
    def _known(self) -> dict[tuple[Any, ...], tuple[tuple[Any, ...], Any]]:
        return {}

    @cached_property
    def scale(self) -> Scale:
        """That of the original, on which all distances are measured."""
        return scale_of(self.original)

    @cached_property
    def before(self) -> Matrix:
        """The original values, standardised."""
        return self.scale.apply(self.original)

    @cached_property
    def after(self) -> Matrix:
        """The published values, on the scale of the original."""
        return self.scale.apply(self.published)

    @cached_property
    def classes(self) -> Labels:
        """Number the distinct combinations of published values, for each record."""
        order = np.lexsort(self.published.T)
        ordered = self.published[order]
        fresh = (ordered[1:] != ordered[:-1]).any(axis=1)
        labels = np.zeros(len(order), dtype=np.int64)
        labels[order[1:]] = np.cumsum(fresh)
        return labels

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Count the records of each class."""
        return np.bincount(self.classes)
