"""Levels in order: the distance between two levels is the number of steps between them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from algorithms.attributes.attribute import Coordinates, Values
from algorithms.attributes.number import Number, NumberCoordinates
from algorithms.types import Matrix, Partition


@dataclass(frozen=True)
class Ordered:
    """A column of levels, as their positions in a list.

    Attributes
    ----------
    name : str
        Name of the column.
    levels : tuple of str
        All levels, the lowest first.

    Examples
    --------
    >>> school = Ordered("school", ("none", "primary", "secondary"))
    >>> school.write(school.represent(np.array([0, 2]), Partition(np.array([0, 0]), k=2)))
    array(['primary', 'primary'], dtype=object)
    """

    name: str
    levels: tuple[str, ...]

    has_line: ClassVar[bool] = True

    def scale(self, values: Values) -> NumberCoordinates:
        """Fit mean and standard deviation to the positions."""
        return self._positions.scale(values)

    def represent(
        self,
        values: Values,
        groups: Partition,
        weights: Matrix | None = None,
        scale: Coordinates | None = None,
    ) -> Values:
        """Replace each level by the one nearest to the average position of its group."""
        return self._positions.represent(values, groups, weights, scale)

    def numbers(self, values: Values) -> Matrix:
        """Give the positions as floats."""
        return self._positions.numbers(values)

    def write(self, values: Values) -> Values:
        """Give the levels as text."""
        return np.array(self.levels, dtype=object)[np.maximum(values, 0)]

    @property
    def _positions(self) -> Number:
        return Number(self.name, places=0, whole=True)
