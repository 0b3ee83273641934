"""Labels without order: any two of them differ alike."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from algorithms.attributes.attribute import MISSING, Coordinates, Values, group_means, sums
from algorithms.rounding.calibration import calibrated
from algorithms.rounding.grid import Grid
from algorithms.types import Integers, Matrix, Partition

LabelRule = Literal["mode", "majority", "calibrated"]

ANY = "*"
"""Published where no label can be."""


@dataclass(frozen=True)
class Category:
    """A column of labels, as their positions in a list.

    Attributes
    ----------
    name : str
        Name of the column.
    labels : tuple of str
        All labels of the table, sorted.
    published : {"mode", "majority", "calibrated"}
        What a group publishes: its most frequent label, where ties go to the label that is rarer in
        the table; that label only if it holds more than half of the records, and ``*`` otherwise;
        or a label such that the published totals of all labels equal the original ones as nearly
        as groups allow.
    compact : bool
        Whether two labels share one coordinate, if there are only two and no value is missing.

    Examples
    --------
    >>> sex = Category("sex", ("f", "m"))
    >>> sex.write(sex.represent(np.array([1, 0, 1]), Partition(np.array([0, 0, 0]), k=3)))
    array(['m', 'm', 'm'], dtype=object)
    """

    name: str
    labels: tuple[str, ...]
    published: LabelRule = "mode"
    compact: bool = True

    has_line: ClassVar[bool] = False

    def scale(self, values: Values) -> "CategoryCoordinates":
        """Fit the distance of two labels to a table; missing is one more label."""
        missing = int((values == MISSING).sum())
        counts = [*np.bincount(values[values >= 0], minlength=len(self.labels)).tolist(), missing]
        n = sum(counts)
        # from whole numbers alone, so that it is the same on every machine
        differing_pairs = n * n - sum(count * count for count in counts)
        two = self.compact and self.published != "majority" and len(self.labels) == 2
        squared = (2 if two and not missing else 1) * n * (n - 1)
        unit = math.sqrt(squared / differing_pairs) if differing_pairs else 1.0
        if two and not missing:
            return CategoryCoordinates(unit, np.array(counts[1:2]) / n, compact=True, labels=2)
        seen = counts if missing else counts[:-1]
        return CategoryCoordinates(
            unit,
            np.array(seen) / n,
            only_labels=self.published != "majority",
            labels=len(self.labels),
        )

    def represent(
        self,
        values: Values,
        groups: Partition,
        weights: Matrix | None = None,
        scale: Coordinates | None = None,  # noqa: ARG002 - counts decide
    ) -> Values:
        """Replace each label by that which its group publishes."""
        any_label = len(self.labels)
        if self.published == "calibrated":
            return _calibrated(values, groups, weights, any_label)
        mode, count, size = modes(values, groups, weights)
        if self.published == "majority":
            mode = np.where(2.0 * count > size, mode, any_label)
        published: Values = mode[groups.labels]
        return published

    def numbers(self, values: Values) -> None:  # noqa: ARG002
        """Give nothing: labels have no number line."""
        return

    def write(self, values: Values) -> Values:
        """Give the labels as text."""
        return np.array([*self.labels, ANY], dtype=object)[np.maximum(values, 0)]


@dataclass(frozen=True, eq=False)
class CategoryCoordinates:
    """One coordinate per label, which is 0 or ``unit``, and one for missing values if there are.

    Coordinates are not centred: subtracting a mean would turn exact ties into near ties.
    """

    unit: float
    shares: Matrix
    labels: int
    compact: bool = False
    only_labels: bool = True

    @property
    def one_label(self) -> bool:
        """Whether groups publish labels only, never ``*``."""
        return self.only_labels

    @property
    def grid(self) -> Grid:
        """Zero or one unit in each coordinate."""
        d = self.shares.size
        return Grid(np.zeros(d), np.full(d, self.unit), np.ones(d, dtype=bool))

    @property
    def centre(self) -> Matrix:
        """The share of each label, in units."""
        return self.unit * self.shares

    def embed(self, values: Values) -> Matrix:
        """Put one unit into the coordinate of each label; ``*`` has none."""
        if self.compact:
            x: Matrix = self.unit * (values == 1).astype(np.float64).reshape(-1, 1)
            return x
        x = np.zeros((len(values), self.shares.size), order="F")
        labelled = np.flatnonzero((values >= 0) & (values < self.labels))
        x[labelled, values[labelled]] = self.unit
        x[values == MISSING, -1] = self.unit
        return x

    def average(self, values: Values, groups: Partition, weights: Matrix | None = None) -> Matrix:
        """Give the share of each label in each record's group, in units."""
        return group_means(self.embed(values), groups, weights)


def modes(
    codes: Integers, groups: Partition, weights: Matrix | None = None
) -> tuple[Integers, Matrix, Matrix]:
    """Find the most frequent code of each group; ties go to the code that is rarer in the table.

    Returns
    -------
    mode : Integers of shape (groups,)
        The code.
    count, size : Matrix of shape (groups,)
        The weight of the records with that code, and of all records.

    Examples
    --------
    >>> mode, count, size = modes(np.array([0, 1, 0, 0]), Partition(np.array([0, 0, 1, 1]), k=2))
    >>> mode, count
    (array([1, 0]), array([1., 2.]))
    """
    own = np.ones(len(codes)) if weights is None else weights
    width = int(codes.max()) + 1
    pairs, place = np.unique(groups.labels * width + codes, return_inverse=True)
    counts = sums(place, own)
    group, code = pairs // width, pairs % width
    rarity = sums(codes, own)[code]
    order = np.lexsort((code, rarity, -counts, group))
    first = order[np.searchsorted(group[order], np.arange(groups.sizes.size))]
    return code[first], counts[first], sums(groups.labels, own)


def _calibrated(
    codes: Integers, groups: Partition, weights: Matrix | None, labels: int
) -> Integers:
    own = np.ones(len(codes)) if weights is None else weights
    width = max(labels, int(codes.max()) + 1)
    counts = sums(groups.labels * width + codes, own, groups.sizes.size * width).reshape(-1, width)
    sizes = sums(groups.labels, own)
    published: Integers = calibrated(counts, sizes, counts.sum(axis=0))[groups.labels]
    return published
