"""The contract of a key column.

A kind of column defines the dissimilarity of two values: it embeds values in coordinates in which
the squared distance is their dissimilarity. It also defines the publishable values. A group
publishes the publishable value nearest to its average.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Mask, Matrix, Partition

Values = NDArray[Any]
"""One key column, one value per record, in the form that its kind calculates with."""

MISSING = np.iinfo(np.int64).min
"""Stands for a missing value in a column of whole numbers or codes; real numbers have NaN."""


def is_missing(values: Values) -> Mask:
    """Mark the missing values of a column.

    Examples
    --------
    >>> is_missing(np.array([1.5, np.nan])), is_missing(np.array([MISSING, 4]))
    (array([False,  True]), array([ True, False]))
    """
    missing: Mask = np.isnan(values) if values.dtype.kind == "f" else values == MISSING
    return missing


class Coordinates(Protocol):
    """A column on the scale of one table: the squared distances from its mean add up to n - 1.

    Original and published values are compared on the scale of the original table.
    """

    @property
    def grid(self) -> Grid:
        """The coordinates of publishable values."""

    @property
    def centre(self) -> Matrix:
        """The mean of the coordinates of the table."""

    @property
    def one_label(self) -> bool:
        """Whether different values are equally far apart, and a group publishes one of them."""

    def embed(self, values: Values) -> Matrix:
        """Give the coordinates of values, one row per record."""

    def average(self, values: Values, groups: Partition, weights: Matrix | None = None) -> Matrix:
        """Give the coordinates of each record's group average, with all digits."""


class Attribute(Protocol):
    """A key column: its name, its kind and its publishable values.

    Values travel as arrays in the form that the kind calculates with.
    """

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def has_line(self) -> bool:
        """Whether values lie on a number line, so that means and quantiles make sense."""

    def scale(self, values: Values) -> Coordinates:
        """Fit the coordinates of the column to the values of a table."""

    def represent(
        self,
        values: Values,
        groups: Partition,
        weights: Matrix | None = None,
        scale: Coordinates | None = None,
    ) -> Values:
        """Replace each value by the publishable value nearest to the average of its group.

        ``scale`` holds the coordinates of the table; by default those of ``values``.
        """

    def numbers(self, values: Values) -> Matrix | None:
        """Place values on a number line, missing ones as NaN; None if the kind has no line."""

    def write(self, values: Values) -> Values:
        """Give values as the published files hold them; any value stands for a missing one."""


def group_means(x: Matrix, groups: Partition, weights: Matrix | None = None) -> Matrix:
    """Give the average of each record's group, column by column.

    Examples
    --------
    >>> group_means(np.array([[0.0], [2.0]]), Partition(np.array([0, 0]), k=2))
    array([[1.],
           [1.]])
    """
    labels = groups.labels
    totals = np.bincount(labels, weights=weights)
    means = np.empty(x.shape, order="F")
    for j in range(x.shape[1]):
        column = x[:, j] if weights is None else weights * x[:, j]
        means[:, j] = (np.bincount(labels, weights=column) / totals)[labels]
    return means


def sums(labels: Labels, weights: Matrix, least: int = 0) -> Matrix:
    """Add up weights by label, for at least so many labels."""
    return np.asarray(np.bincount(labels, weights=weights, minlength=least), dtype=np.float64)
