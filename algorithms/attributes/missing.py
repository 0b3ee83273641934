"""Missing values: a policy that any kind of column can have."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.attributes.attribute import (
    MISSING,
    Attribute,
    Coordinates,
    Values,
    group_means,
    is_missing,
)
from algorithms.errors import ContractError
from algorithms.rounding.grid import Grid
from algorithms.types import Mask, Matrix, Partition

MissingPolicy = Literal["state", "blank", "fill", "apart"]


@dataclass(frozen=True, eq=False)
class WithMissing:
    """A column in which values may be missing.

    Missing is as far from the average as one standard deviation or, for labels and codes, as one
    label is from another.

    Attributes
    ----------
    present : Attribute
        The kind of the values that are there.
    policy : {"state", "blank", "fill", "apart"}
        What a group publishes in which values are missing: what is nearest to its records, a value
        or missing; missing if any value is; the average of the values that are there, and missing
        only if none is; or such groups are never formed.

    Examples
    --------
    >>> from algorithms.attributes.number import Number
    >>> bmi = WithMissing(Number("bmi", places=1), "blank")
    >>> bmi.represent(np.array([20.0, np.nan, 30.0, 31.0]), Partition(np.array([0, 0, 1, 1]), k=2))
    array([ nan,  nan, 30.5, 30.5])
    """

    present: Attribute
    policy: MissingPolicy

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.present.name

    @property
    def has_line(self) -> bool:
        """Whether the values that are there lie on a number line."""
        return self.present.has_line

    def scale(self, values: Values) -> Coordinates:
        """Fit the coordinates to a table; without missing values they are those of the kind."""
        missing = is_missing(values)
        if not missing.any():
            return self.present.scale(values)
        if missing.all():
            return _NoValues()
        if not self.has_line:
            # missing is one of its labels
            return self.present.scale(values)
        here = values[~missing]
        n, absent = len(values), int(missing.sum())
        spread = 0.0 if (here == here[0]).all() else len(here) - 1.0
        stretch = math.sqrt((n - 1) / (spread + absent * (n - absent) / n))
        return _LineWithMissing(self.present.scale(here), stretch, absent / n)

    def represent(
        self,
        values: Values,
        groups: Partition,
        weights: Matrix | None = None,
        scale: Coordinates | None = None,
    ) -> Values:
        """Replace each value by that which its group publishes, or by a missing one."""
        missing = is_missing(values)
        if not missing.any():
            return self.present.represent(values, groups, weights, scale)
        absent = np.bincount(groups.labels[missing], minlength=groups.sizes.size)
        mixed = (absent > 0) & (absent < groups.sizes)
        if self.policy == "apart" and mixed.any():
            raise ContractError("records with and without a value must not share a group")
        filled = self._filled(values, missing, groups, weights)
        blank = absent == groups.sizes
        if self.policy == "blank":
            blank = absent > 0
        elif self.policy == "state":
            blank |= mixed & self._nearer_to_missing(
                values, filled, groups, weights, scale or self.scale(values)
            )
        published = filled.copy()
        published[blank[groups.labels]] = nothing(values)
        return published

    def numbers(self, values: Values) -> Matrix | None:
        """Place the values that are there on a number line, and missing ones as NaN."""
        missing = is_missing(values)
        numbers = self.present.numbers(np.where(missing, 0, values))
        return None if numbers is None else np.where(missing, np.nan, numbers)

    def write(self, values: Values) -> Values:
        """Give the values that are there as the published files hold them."""
        return self.present.write(values)

    def _filled(
        self, values: Values, missing: Mask, groups: Partition, weights: Matrix | None
    ) -> Values:
        """Give each record what its group publishes of the values that are there, if any are."""
        by_group = np.full(groups.sizes.size, nothing(values), dtype=values.dtype)
        here = np.flatnonzero(~missing)
        if here.size:
            _, labels = np.unique(groups.labels[here], return_inverse=True)
            own = None if weights is None else weights[here]
            by_group[groups.labels[here]] = self.present.represent(
                values[here], Partition(labels, 1), own
            )
        filled: Values = by_group[groups.labels]
        return filled

    def _nearer_to_missing(
        self,
        values: Values,
        filled: Values,
        groups: Partition,
        weights: Matrix | None,
        scale: Coordinates,
    ) -> Mask:
        """Mark the groups that lose less if they publish nothing."""
        x = scale.embed(values)
        nowhere = scale.embed(np.array([nothing(values)], dtype=values.dtype))
        gain = ((x - scale.embed(filled)) ** 2 - (x - nowhere) ** 2).sum(axis=1)
        own = gain if weights is None else weights * gain
        nearer: Mask = np.bincount(groups.labels, weights=own) > 0.0
        return nearer


def nothing(values: Values) -> float | int:
    """Give the missing value of a column."""
    return float("nan") if values.dtype.kind == "f" else MISSING


@dataclass(frozen=True, eq=False)
class _LineWithMissing:
    """A number line, and a coordinate that shows which values are missing.

    A missing value lies at the average of the line, one standard deviation away from it.
    """

    line: Coordinates
    stretch: float
    share: float

    one_label = False

    @property
    def grid(self) -> Grid:
        """The grid of the line, and whether a value is missing."""
        line = self.line.grid
        return Grid(
            self.stretch * np.append(line.origin, 0.0),
            self.stretch * np.append(line.step, 1.0),
            # a missing value lies at the average, which no value need have
            np.append(np.zeros_like(line.whole), True),
        )

    @property
    def centre(self) -> Matrix:
        """The average of the line, and the share of missing values."""
        return self.stretch * np.append(self.line.centre, self.share)

    def embed(self, values: Values) -> Matrix:
        """Place values on the line, and missing ones beside its average."""
        missing = is_missing(values)
        on_line = self.line.embed(np.where(missing, 0, values))
        on_line[missing] = 0.0
        return self.stretch * np.column_stack([on_line, missing.astype(np.float64)])

    def average(self, values: Values, groups: Partition, weights: Matrix | None = None) -> Matrix:
        """Average the coordinates of each group."""
        return group_means(self.embed(values), groups, weights)


@dataclass(frozen=True, eq=False)
class _NoValues:
    """A column in which every value is missing: all records are alike."""

    one_label = False

    @property
    def grid(self) -> Grid:
        """Everything can be published."""
        return Grid(np.zeros(1), np.zeros(1), np.zeros(1, dtype=bool))

    @property
    def centre(self) -> Matrix:
        """Zero."""
        return np.zeros(1)

    def embed(self, values: Values) -> Matrix:
        """Place all records at the same point."""
        return np.zeros((len(values), 1))

    def average(self, values: Values, groups: Partition, weights: Matrix | None = None) -> Matrix:  # noqa: ARG002
        """Place all groups there, too."""
        return self.embed(values)
