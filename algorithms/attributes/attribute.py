"""The contract of a key column.

A kind of column defines the dissimilarity of two values: it embeds values in coordinates in which
the squared distance is their dissimilarity. It also defines the publishable values. A group
publishes the publishable value nearest to its average.
"""

from typing import Any, Protocol

from numpy.typing import NDArray

from algorithms.rounding.grid import Grid
from algorithms.types import Matrix, Partition

Values = NDArray[Any]
"""One key column, one value per record, in the form that its kind calculates with."""


class Coordinates(Protocol):
    """A column on the scale of one table: each coordinate has mean 0 and the column variance 1.

    Original and published values are compared on the scale of the original table.
    """

    @property
    def grid(self) -> Grid:
        """The coordinates of publishable values."""

    def embed(self, values: Values) -> Matrix:
        """Give the coordinates of values, one row per record."""

    def average(self, values: Values, groups: Partition) -> Matrix:
        """Give the coordinates of each record's group average, with all digits."""


class Attribute(Protocol):
    """A key column: its name, its kind and its publishable values.

    Values travel as arrays in the form that the kind calculates with.
    """

    @property
    def name(self) -> str:
        """Name of the column."""

    def scale(self, values: Values) -> Coordinates:
        """Fit the coordinates of the column to the values of a table."""

    def represent(self, values: Values, groups: Partition) -> Values:
        """Replace each value by the publishable value nearest to the average of its group."""

    def numbers(self, values: Values) -> Matrix | None:
        """Place values on a number line, for means and pictures; None if the kind has no line."""

    def write(self, values: Values) -> Values:
        """Give values as the published files hold them: numbers, or text."""
