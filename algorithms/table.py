"""The table that travels from ingestion to publication."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from algorithms.attributes.attribute import Attribute, Coordinates, Values
from algorithms.errors import ContractError, DataError
from algorithms.rounding.grid import Grid
from algorithms.types import Integers, Labels, Matrix


@dataclass(frozen=True, eq=False)
class Codes:
    """A confidential column, with its distinct values numbered from 0.

    Attributes
    ----------
    values : Integers of shape (n,)
        Number of the value of each record; numbers follow the order of the values, if there is one.
    ordered : bool
        Whether values have an order.
    """

    values: Integers
    ordered: bool


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
        return _side_by_side(
            [column.embed(values) for column, values in zip(self.columns, keys, strict=True)]
        )


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
    carried : mapping of str to Sized
        Columns that are published unchanged, in the form in which they were read. The algorithms
        never read them.
    confidential : mapping of str to Codes
        Carried columns that an attacker would want to learn.
    persons : Integers of shape (n,), optional
        A token for the person whom each record describes. It is derived from the identifiers and
        never published; None in a published table.
    strata : Labels of shape (n,), optional
        Stratum of each record, which no group crosses; None for one stratum.
    weights : Matrix of shape (n,), optional
        Sampling weight of each record; None for equal weights.

    Raises
    ------
    ContractError
        If columns have different lengths, or the number of key columns and attributes differs.
    """

    attributes: tuple[Attribute, ...]
    keys: tuple[Values, ...]
    carried: Mapping[str, Sized] = field(default_factory=dict)
    confidential: Mapping[str, Codes] = field(default_factory=dict)
    persons: Integers | None = None
    strata: Labels | None = None
    weights: Matrix | None = None

    def __post_init__(self) -> None:
        optional = (self.persons, self.strata, self.weights)
        lengths = {
            len(column)
            for column in (*self.keys, *self.carried.values(), *optional)
            if column is not None
        }
        if len(self.attributes) != len(self.keys) or len(lengths) != 1:
            raise ContractError(
                "a table must have one key column per attribute, and all columns must have the "
                "same length"
            )
        for name in ("persons", "strata", "weights"):
            column = getattr(self, name)
            object.__setattr__(self, name, None if column is None else _read_only(column))
        object.__setattr__(self, "keys", tuple(map(_read_only, self.keys)))

    def __len__(self) -> int:
        return len(self.keys[0])

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
        for attribute, values in zip(self.attributes, self.keys, strict=True):
            try:
                fitted.append(attribute.scale(values))
            except DataError as error:
                faults.append(str(error))
        if faults:
            raise DataError("; ".join(faults))
        parts = [column.embed(values) for column, values in zip(fitted, self.keys, strict=True)]
        ends = np.cumsum([part.shape[1] for part in parts]).tolist()
        starts = [0, *ends[:-1]]
        return Embedding(
            x=_side_by_side(parts),
            grid=Grid.join([column.grid for column in fitted]),
            columns=tuple(fitted),
            places=tuple(map(slice, starts, ends)),
        )

    @cached_property
    def classes(self) -> Labels:
        """Number the distinct combinations of key values, for each record."""
        order = np.lexsort(self.keys)
        differs = np.zeros(len(order) - 1, dtype=bool)
        for column in self.keys:
            ordered = column[order]
            differs |= ordered[1:] != ordered[:-1]
        labels = np.zeros(len(order), dtype=np.int64)
        labels[order[1:]] = np.cumsum(differs)
        return labels

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Count the records of each class."""
        return np.bincount(self.classes)


def _side_by_side(parts: Sequence[Matrix]) -> Matrix:
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
