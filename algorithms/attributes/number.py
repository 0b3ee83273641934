"""Numbers: real, whole, or with a fixed number of decimals."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from algorithms.attributes.attribute import Coordinates, Values
from algorithms.errors import ContractError, DataError
from algorithms.moments import Moments
from algorithms.rounding.centroids import (
    decimal_centroids,
    integer_centroids,
    real_centroids,
    to_places,
    weighted_integer_centroids,
)
from algorithms.rounding.grid import Grid, grid_of
from algorithms.standardisation import Scale, scale_of
from algorithms.types import Matrix, Partition

WIDEST = 1e150
"""Numbers must spread over less, so that squares of their differences can be added up."""


@dataclass(frozen=True)
class Number:
    """A column of finite numbers.

    Attributes
    ----------
    name : str
        Name of the column.
    places : int, optional
        Number of decimals that are published; None for all digits.
    whole : bool
        Whether the column holds whole numbers, read and averaged exactly as 64-bit integers.
    all_digits : bool
        Whether averages keep all digits, even if the source has few decimals.

    Raises
    ------
    ContractError
        If whole numbers would be published with decimals.

    Examples
    --------
    >>> staff = Number("staff", places=0, whole=True)
    >>> staff.represent(np.array([1, 2, 6, 7]), Partition(np.array([0, 0, 1, 1]), k=2))
    array([2, 2, 7, 7])
    """

    name: str
    places: int | None = None
    whole: bool = False
    all_digits: bool = False

    has_line: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.whole and self.places != 0:
            raise ContractError("whole numbers must be published without decimals")

    def scale(self, values: Values) -> "NumberCoordinates":
        """Fit mean and standard deviation to the values of a table.

        Raises
        ------
        DataError
            If the squares of the numbers cannot be represented.
        """
        column = self.numbers(values).reshape(-1, 1)
        scale = scale_of(column)
        if not np.isfinite(scale.deviation).all():
            raise DataError(_too_wide(self.name))
        return NumberCoordinates(scale, grid_of(column, scale, [self.places], [self.whole]))

    def represent(
        self,
        values: Values,
        groups: Partition,
        weights: Matrix | None = None,
        scale: Coordinates | None = None,  # noqa: ARG002 - an average needs no scale
    ) -> Values:
        """Replace each number by the average of its group, rounded once, halves away from zero."""
        if weights is not None:
            if self.whole:
                return weighted_integer_centroids(values, groups, weights)
            means = real_centroids(values, groups, weights)
            return means if self.places is None else to_places(means, self.places)
        if self.whole:
            return integer_centroids(values, groups)
        if self.places is None:
            return real_centroids(values, groups)
        return decimal_centroids(values, groups, self.places)

    def numbers(self, values: Values) -> Matrix:
        """Give the numbers as floats."""
        return np.asarray(values, dtype=np.float64)

    def write(self, values: Values) -> Values:
        """Give the numbers themselves."""
        return values


@dataclass(frozen=True, eq=False)
class NumberCoordinates:
    """Numbers in standard deviations from the mean of a table."""

    fitted: Scale
    grid: Grid

    one_label: ClassVar[bool] = False

    @property
    def centre(self) -> Matrix:
        """Zero: numbers are measured from their mean."""
        return np.zeros(1)

    def embed(self, values: Values) -> Matrix:
        """Express numbers in standard deviations."""
        return self.fitted.apply(np.asarray(values, dtype=np.float64).reshape(-1, 1))

    def average(self, values: Values, groups: Partition, weights: Matrix | None = None) -> Matrix:
        """Average each group in the units of the column, then express the average."""
        return self.embed(real_centroids(np.asarray(values, dtype=np.float64), groups, weights))


def number_coordinates(attribute: Number, moments: Moments) -> NumberCoordinates:
    """Fit coordinates to the exact moments of a column.

    Parameters
    ----------
    attribute : Number
        The column.
    moments : Moments
        Those of all of its numbers; its grid begins at the smallest.

    Raises
    ------
    DataError
        If the numbers spread too far to be standardised.

    Examples
    --------
    >>> from algorithms.moments import moments_of
    >>> staff = Number("staff", places=0, whole=True)
    >>> number_coordinates(staff, moments_of(np.array([1.0, 3.0]))).grid.whole
    array([ True])
    """
    if not moments.most - moments.least < WIDEST:
        raise DataError(_too_wide(attribute.name))
    scale = Scale(np.array([moments.mean]), np.array([moments.deviation]))
    ends = np.array([[moments.least], [moments.most]])
    return NumberCoordinates(scale, grid_of(ends, scale, [attribute.places], [attribute.whole]))


def _too_wide(name: str) -> str:
    return (
        f"{name!r} must spread over less than 1e150 to be standardised; it spreads further: "
        "express it in larger units"
    )
