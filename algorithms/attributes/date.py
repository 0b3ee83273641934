"""Dates: days, months or years."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from algorithms.attributes.attribute import MISSING, Coordinates, Values
from algorithms.attributes.number import Number, NumberCoordinates
from algorithms.types import Matrix, Partition

DateUnit = Literal["day", "month", "year"]

UNITS: dict[DateUnit, str] = {"day": "D", "month": "M", "year": "Y"}
PER_YEAR: dict[DateUnit, float] = {"day": 365.2425, "month": 12.0, "year": 1.0}
EPOCH = 1970


@dataclass(frozen=True)
class Date:
    """A column of dates, counted in days, months or years since the beginning of 1970.

    Attributes
    ----------
    name : str
        Name of the column.
    unit : {"day", "month", "year"}
        What is counted and published.

    Examples
    --------
    >>> admitted = Date("admitted", "day")
    >>> admitted.write(admitted.represent(np.array([0, 2]), Partition(np.array([0, 0]), k=2)))
    array(['1970-01-02', '1970-01-02'], dtype='datetime64[D]')
    """

    name: str
    unit: DateUnit = "day"

    has_line: ClassVar[bool] = True

    def scale(self, values: Values) -> NumberCoordinates:
        """Fit mean and standard deviation to the counts."""
        return self._counts.scale(values)

    def represent(
        self,
        values: Values,
        groups: Partition,
        weights: Matrix | None = None,
        scale: Coordinates | None = None,
    ) -> Values:
        """Replace each date by the one nearest to the average of its group."""
        return self._counts.represent(values, groups, weights, scale)

    def numbers(self, values: Values) -> Matrix:
        """Give dates as years with decimals."""
        return EPOCH + self._counts.numbers(values) / PER_YEAR[self.unit]

    def write(self, values: Values) -> Values:
        """Give days as dates, months as text such as 2026-03, and years as whole numbers."""
        if self.unit == "year":
            return np.where(values == MISSING, 0, values) + EPOCH
        dates = values.astype(f"datetime64[{UNITS[self.unit]}]")
        return dates if self.unit == "day" else np.datetime_as_string(dates).astype(object)

    @property
    def _counts(self) -> Number:
        return Number(self.name, places=0, whole=True)
