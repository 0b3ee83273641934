"""The table that travels from ingestion to publication."""

import math
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.attributes.attribute import Attribute, Coordinates, Values, is_missing
from algorithms.attributes.missing import WithMissing
from algorithms.attributes.number import Number, number_coordinates
from algorithms.attributes.tree import Tree
from algorithms.errors import ContractError, DataError
from algorithms.moments import moments_of
from algorithms.rounding.grid import Grid
from algorithms.types import Integers, Labels, Mask, Matrix, Order, Partition


class Carried(Sized, Protocol):
    """A column that is carried along unread."""

    def take(self, rows: Any) -> "Carried":
        """Select rows."""


@dataclass(frozen=True, eq=False)
class Codes:
    """A column that is published unchanged, with its distinct values numbered from 0.

    Attributes
    ----------
    values : Integers of shape (n,)
        Number of the value of each record; numbers follow the order of the values, if there is one.
    ordered : bool
        Whether values have an order.
    numbers : Matrix of shape (n,), optional
        The values themselves, if they are numbers; NaN where one is missing.
    missing : int, optional
        Number of the missing value, which is the last; None if no value is missing.
    """

    values: Integers
    ordered: bool = False
    numbers: Matrix | None = None
    missing: int | None = None

    def take(self, rows: Order) -> "Codes":
        """Select rows, and number the values that are left: others must not count as values."""
        left, values = np.unique(self.values[rows], return_inverse=True)
        numbers = None if self.numbers is None else self.numbers[rows]
        missing = left.size - 1 if self.missing is not None and self.missing in left else None
        return Codes(values.reshape(-1), self.ordered, numbers, missing)

    def emptied(self, rows: Mask) -> "Codes":
        """Make the values of some records missing.

        Examples
        --------
        >>> Codes(np.array([0, 2, 1])).emptied(np.array([False, True, False])).values
        array([0, 2, 1])
        """
        last = int(self.values.max()) + 1 if self.missing is None else self.missing
        left, values = np.unique(np.where(rows, last, self.values), return_inverse=True)
        numbers = None if self.numbers is None else np.where(rows, np.nan, self.numbers)
        missing = left.size - 1 if left[-1] == last else None
        return Codes(values.reshape(-1), self.ordered, numbers, missing)


@dataclass(frozen=True, eq=False)
class Stratum:
    """A column that is published as it is, and whose values no group crosses.

    Attributes
    ----------
    name : str
        Name of the column.
    values : Integers of shape (n,)
        Number of the value of each record; the node of the tree, if there is one.
    tree : Tree, optional
        Wider strata, for merging small ones.
    """

    name: str
    values: Integers
    tree: Tree | None = None


@dataclass(frozen=True, eq=False)
class Embedding:
    """The records of a table in coordinates, all key columns side by side.

    Attributes
    ----------
    x : Matrix of shape (n, d)
        Coordinates of each record; the squared distance is the dissimilarity of two records.
    grid : Grid
        Coordinates of publishable values.
    columns : tuple of Coordinates
        The scale of each key column.
    places : tuple of slice
        Which columns of ``x`` belong to each key column.
    """

    x: Matrix
    grid: Grid
    columns: tuple[Coordinates, ...]
    places: tuple[slice, ...]

    def embed(self, keys: Sequence[Values]) -> Matrix:
        """Compute the coordinates of other values of the same key columns."""
        return side_by_side(
            [column.embed(values) for column, values in zip(self.columns, keys, strict=True)]
        )

    def take(self, rows: Order) -> "Embedding":
        """Select records; the scale stays that of the whole table."""
        return replace(self, x=np.asfortranarray(self.x[rows]))

    @cached_property
    def centre(self) -> Matrix:
        """The mean of the coordinates of the table that the scale was fitted to."""
        return np.concatenate([column.centre for column in self.columns])

    @cached_property
    def one_label(self) -> Mask:
        """Mark the coordinates of columns in which a group publishes one label of a record."""
        marks = np.zeros(self.x.shape[1], dtype=bool)
        for column, place in zip(self.columns, self.places, strict=True):
            marks[place] = column.one_label
        return marks


@dataclass(frozen=True, eq=False)
class Table:
    """Records: key columns with their kinds, and columns that are carried along unchanged.

    A table cannot be changed. Its arrays are read-only; writable arrays are copied.

    Attributes
    ----------
    attributes : tuple of Attribute
        Kind of each key column.
    keys : tuple of Values
        Values of each key column, one per record.
    carried : mapping of str to Carried
        Columns that are published unchanged, in the form in which they were read. The algorithms
        never read them.
    confidential : mapping of str to Codes
        Carried columns that an attacker would want to learn.
    other : mapping of str to Codes
        Carried columns that an attacker may know; they count into k as key columns do.
    persons : Integers of shape (n,), optional
        A token for the person whom each record describes. It is derived from the identifiers and
        never published; None in a published table.
    strata : tuple of Stratum
        Columns that no group crosses; they count into k, too.
    units : Integers of shape (n,), optional
        A token for the person, household or company to which each record belongs, if several
        records may belong to one; k then counts these. None in a published table.
    weights : Matrix of shape (n,), optional
        Sampling weight of each record; None for equal weights. In a published table the weights
        that are published, which count into k.
    importance : tuple of float
        How much each key column weighs in distances; empty if all weigh alike.
    muted : Mask of shape (n,), optional
        The records whose confidential and other columns are empty, because they could be followed
        from release to release; None if there are none.
    tokens : mapping of str to Integers
        For strata, confidential and other columns, a number for the value of each record that is
        the same in every table of a series; only tables that have it can be compared by values.
    exact : bool
        Whether numbers are standardised by exact moments, which are the same in whatever order and
        parts the records are read.

    Raises
    ------
    ContractError
        If columns have different lengths, or the number of key columns and attributes differs.
    """

    attributes: tuple[Attribute, ...]
    keys: tuple[Values, ...]
    carried: Mapping[str, Carried] = field(default_factory=dict)
    confidential: Mapping[str, Codes] = field(default_factory=dict)
    other: Mapping[str, Codes] = field(default_factory=dict)
    persons: Integers | None = None
    strata: tuple[Stratum, ...] = ()
    units: Integers | None = None
    weights: Matrix | None = None
    importance: tuple[float, ...] = ()
    muted: Mask | None = None
    tokens: Mapping[str, Integers] = field(default_factory=dict)
    exact: bool = False

    def __post_init__(self) -> None:
        optional = (self.persons, self.units, self.weights, self.muted)
        codes = [each.values for each in self.confidential.values()]
        codes += [each.values for each in self.other.values()]
        codes += [each.values for each in self.strata]
        lengths = {
            len(column)
            for column in (
                *self.keys,
                *self.carried.values(),
                *codes,
                *self.tokens.values(),
                *optional,
            )
            if column is not None
        }
        if len(self.attributes) != len(self.keys) or len(lengths) != 1:
            raise ContractError(
                "a table must have one key column per attribute, and all columns must have the "
                "same length"
            )
        if self.importance and len(self.importance) != len(self.keys):
            raise ContractError("a table must have one importance per key column")
        for name in ("persons", "units", "weights", "muted"):
            column = getattr(self, name)
            object.__setattr__(self, name, None if column is None else _read_only(column))
        object.__setattr__(self, "keys", tuple(map(_read_only, self.keys)))

    def __len__(self) -> int:
        return len(self.keys[0])

    def take(self, rows: Order) -> "Table":
        """Select records; their coordinates stay those of the whole table."""
        taken = replace(
            self,
            keys=tuple(column[rows] for column in self.keys),
            carried={name: column.take(rows) for name, column in self.carried.items()},
            confidential={name: each.take(rows) for name, each in self.confidential.items()},
            other={name: each.take(rows) for name, each in self.other.items()},
            persons=None if self.persons is None else self.persons[rows],
            strata=tuple(replace(each, values=each.values[rows]) for each in self.strata),
            units=None if self.units is None else self.units[rows],
            weights=None if self.weights is None else self.weights[rows],
            muted=None if self.muted is None else self.muted[rows],
            tokens={name: column[rows] for name, column in self.tokens.items()},
        )
        vars(taken)["embedding"] = self.embedding.take(rows)
        return taken

    def mute(self, rows: Mask) -> "Table":
        """Empty the confidential and other columns of some records."""
        if not rows.any():
            return self
        return replace(
            self,
            confidential={name: each.emptied(rows) for name, each in self.confidential.items()},
            other={name: each.emptied(rows) for name, each in self.other.items()},
            muted=rows,
        )

    @cached_property
    def embedding(self) -> Embedding:
        """The records in coordinates, on the scale of this table; computed once.

        Raises
        ------
        DataError
            If a column cannot be scaled; the message names every such column.
        """
        fitted: list[Coordinates] = []
        faults: list[str] = []
        for j, (attribute, values) in enumerate(zip(self.attributes, self.keys, strict=True)):
            try:
                scale = self._scale(attribute, values)
            except DataError as error:
                faults.append(str(error))
                continue
            importance = self.importance[j] if self.importance else 1.0
            fitted.append(scale if importance == 1.0 else Stretched(scale, math.sqrt(importance)))
        if faults:
            raise DataError("; ".join(faults))
        parts = [column.embed(values) for column, values in zip(fitted, self.keys, strict=True)]
        ends = np.cumsum([part.shape[1] for part in parts]).tolist()
        starts = [0, *ends[:-1]]
        return Embedding(
            x=side_by_side(parts),
            grid=Grid.join([column.grid for column in fitted]),
            columns=tuple(fitted),
            places=tuple(map(slice, starts, ends)),
        )

    def _scale(self, attribute: Attribute, values: Values) -> Coordinates:
        if self.exact and isinstance(attribute, Number):
            return number_coordinates(attribute, moments_of(attribute.numbers(values)))
        return attribute.scale(values)

    @cached_property
    def blocks(self) -> Labels | None:
        """Number the sets of records that no group crosses; None if there is only one set.

        These are the strata and, within them, the patterns of values that are missing in columns
        whose missing values stay apart.
        """
        apart = [
            is_missing(values).astype(np.int64)
            for attribute, values in zip(self.attributes, self.keys, strict=True)
            if isinstance(attribute, WithMissing) and attribute.policy == "apart"
        ]
        columns = [*(each.values for each in self.strata), *apart]
        return combinations(columns) if columns else None

    @cached_property
    def classes(self) -> Labels:
        """Number the combinations of all values that an attacker may know, for each record.

        These are key columns, strata, other columns and published weights. Missing is a value.
        """
        known: list[Values] = []
        for column in self.keys:
            missing = is_missing(column)
            known += [np.where(missing, 0, column), missing] if missing.any() else [column]
        known += [each.values for each in self.strata]
        known += [each.values for each in self.other.values()]
        return combinations(known if self.weights is None else [*known, self.weights])

    @cached_property
    def silent(self) -> Mask:
        """Mark the records that show nothing beside key columns and strata, if some are muted.

        Anyone who has the file cannot tell a muted record from one whose values are all missing.
        """
        silent = np.full(len(self), self.muted is not None)
        if self.muted is not None:
            for codes in (*self.confidential.values(), *self.other.values()):
                silent &= codes.values == (-1 if codes.missing is None else codes.missing)
        return silent

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Count the records of each class."""
        return np.bincount(self.classes)


@dataclass(frozen=True, eq=False)
class Stretched:
    """Coordinates of a column that weighs more or less than others."""

    scale: Coordinates
    factor: float

    @property
    def grid(self) -> Grid:
        """The coordinates of publishable values."""
        grid = self.scale.grid
        return Grid(self.factor * grid.origin, self.factor * grid.step, grid.whole)

    @property
    def centre(self) -> Matrix:
        """The mean of the coordinates of the table."""
        return self.factor * self.scale.centre

    @property
    def one_label(self) -> bool:
        """Whether different values are equally far apart, and a group publishes one of them."""
        return self.scale.one_label

    def embed(self, values: Values) -> Matrix:
        """Give the coordinates of values, one row per record."""
        return self.factor * self.scale.embed(values)

    def average(self, values: Values, groups: Partition, weights: Matrix | None = None) -> Matrix:
        """Give the coordinates of each record's group average, with all digits."""
        return self.factor * self.scale.average(values, groups, weights)


def combinations(columns: Sequence[Values]) -> Labels:
    """Give the number of each record's combination of values of some columns.

    Examples
    --------
    >>> combinations([np.array([1, 1, 2]), np.array([5, 4, 5])])
    array([1, 0, 2])
    """
    order = np.lexsort(tuple(columns))
    differs = np.zeros(len(order) - 1, dtype=bool)
    for column in columns:
        ordered = column[order]
        differs |= ordered[1:] != ordered[:-1]
    labels = np.zeros(len(order), dtype=np.int64)
    labels[order[1:]] = np.cumsum(differs)
    return labels


def side_by_side(parts: Sequence[Matrix]) -> Matrix:
    """Join coordinates in contiguous columns, so that numpy sums each column pairwise."""
    joined = np.empty((len(parts[0]), sum(part.shape[1] for part in parts)), order="F")
    np.concatenate(parts, axis=1, out=joined)
    return joined


def _read_only(column: Values) -> Values:
    if not column.flags.writeable:
        return column
    copy = column.copy()
    copy.flags.writeable = False
    return copy
