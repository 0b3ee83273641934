"""The records of a part, their scales, and the parts that records and groups go to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from algorithms.attributes import Number, Values
from algorithms.attributes.number import NumberCoordinates
from algorithms.blocks.cuts import Cuts
from algorithms.blocks.grouping import How
from algorithms.blocks.running import Arrays
from algorithms.rounding.centroids import decimal_centroids
from algorithms.rounding.grid import Grid
from algorithms.table import Stretched, combinations, side_by_side
from algorithms.types import Integers, Labels, Matrix, Partition
from expectations.tables import read_codes
from tasks.streamed.checking import Stratum
from tasks.streamed.packing import TABLE, packed, unpacked_all


@dataclass(frozen=True, eq=False)
class Scales:
    """The quasi-identifiers of a table, and their coordinates; it holds no record.

    Attributes
    ----------
    attributes : tuple of Number
        The quasi-identifiers.
    columns : tuple of Coordinates
        The scale of each.
    counted : tuple of bool
        Whether each has no more decimals than are published.
    """

    attributes: tuple[Number, ...]
    columns: tuple[NumberCoordinates | Stretched, ...]
    counted: tuple[bool, ...]

    @property
    def grid(self) -> Grid:
        """Coordinates of publishable values."""
        return Grid.join([column.grid for column in self.columns])

    def embed(self, keys: Sequence[Values]) -> Matrix:
        """Give the coordinates of records."""
        parts = [column.embed(key) for column, key in zip(self.columns, keys, strict=True)]
        return side_by_side(parts)

    def represent(self, keys: Sequence[Values], groups: Partition) -> list[Values]:
        """Replace values by the averages of their groups, as they can be published."""
        published = []
        for attribute, values, counted in zip(self.attributes, keys, self.counted, strict=True):
            if attribute.whole or attribute.places is None:
                published.append(attribute.represent(values, groups))
            else:
                published.append(decimal_centroids(values, groups, attribute.places, counted))
        return published

    def averages(self, keys: Sequence[Values], groups: Partition) -> Matrix:
        """Give the coordinates of each record's group average, with all digits."""
        return side_by_side(
            [column.average(key, groups) for column, key in zip(self.columns, keys, strict=True)]
        )


@dataclass(frozen=True, eq=False)
class Layout:
    """The part of every record: a block of a stratum, or several small strata.

    Attributes
    ----------
    cuts : tuple of Cuts or None
        The cuts of each stratum; None for one that is small enough.
    firsts : Integers of shape (strata,)
        The first part of each stratum.
    parts : int
        Number of parts.
    """

    cuts: tuple[Cuts | None, ...]
    firsts: Integers
    parts: int

    def assign(self, x: Matrix, strata: Integers) -> Labels:
        """Give the part of each record, or of each group by its average."""
        parts = self.firsts[strata]
        for stratum in np.unique(strata):
            cuts = self.cuts[stratum]
            if cuts is not None:
                own = strata == stratum
                parts[own] += cuts.assign(x[own])
        return parts


def layout_of(cuts: Sequence[Cuts | None], sizes: Sequence[int], rows: int) -> Layout:
    """Give numbers to parts: every block of a large stratum is one, and small strata share some."""
    firsts, parts, room = np.empty(len(cuts), dtype=np.int64), 0, 0
    for stratum, (own, size) in enumerate(zip(cuts, sizes, strict=True)):
        if own is not None:
            firsts[stratum] = parts
            parts += own.count
            room = 0
        elif size <= room:
            firsts[stratum] = parts - 1
            room -= size
        else:
            firsts[stratum] = parts
            parts += 1
            room = max(rows - size, 0)
    return Layout(tuple(cuts), firsts, parts)


@dataclass(frozen=True, eq=False)
class Given:
    """What every part of a table needs to know; it travels with each of them.

    Attributes
    ----------
    scales : Scales
        The quasi-identifiers and their coordinates.
    names : tuple of str
        The columns that divide the table into strata.
    carried : tuple of str
        The columns that are published unchanged.
    strata : tuple of Stratum
        All strata; a record has the number of its own.
    shares : tuple of float
        Share of each stratum from which its cuts are found; 0 for one that is not cut.
    known : tuple of str
        The carried columns that are counted into k.
    how, how_whole : How
        How a block is grouped, and how a stratum that is not cut.
    mends : bool
        Whether records have groups already.
    layout, following : Layout, optional
        Where records are now, and where groups go next; None if they stay.
    """

    scales: Scales
    names: tuple[str, ...]
    carried: tuple[str, ...]
    strata: tuple[Stratum, ...]
    shares: tuple[float, ...]
    known: tuple[str, ...]
    how: How
    how_whole: How
    mends: bool = False
    layout: Layout | None = None
    following: Layout | None = None

    def strata_of(self, table: pa.Table) -> Integers:
        """Give the number of the stratum of each record."""
        if not self.names:
            return np.zeros(table.num_rows, dtype=np.int64)
        numbers = {stratum: number for number, stratum in enumerate(self.strata)}
        codes = combinations([read_codes(table[name]).values for name in self.names])
        first = np.unique(codes, return_index=True)[1]
        found = table.select(list(self.names)).take(pa.array(first))
        rows = zip(*(found[name].to_pylist() for name in self.names), strict=True)
        return np.array([numbers[stratum] for stratum in rows], dtype=np.int64)[codes]


@dataclass(frozen=True, eq=False)
class Records:
    """Some records of a streamed table, in the order of their rows.

    Attributes
    ----------
    rows : Integers of shape (n,)
        Row numbers in the source.
    strata : Integers of shape (n,)
        Numbers of their strata.
    groups : Labels of shape (n,)
        Their groups, as arbitrary numbers; all -1 before they are grouped.
    keys : list of arrays
        Values of each quasi-identifier.
    carried : pyarrow.Table
        The columns that are published unchanged.
    """

    rows: Integers
    strata: Integers
    groups: Labels
    keys: list[Values]
    carried: pa.Table

    def take(self, chosen: Integers) -> "Records":
        """Select records."""
        return Records(
            self.rows[chosen],
            self.strata[chosen],
            self.groups[chosen],
            [key[chosen] for key in self.keys],
            self.carried.take(pa.array(chosen)),
        )

    @property
    def arrays(self) -> Arrays:
        """The records as arrays."""
        numbers = {"rows": self.rows, "strata": self.strata, "groups": self.groups}
        keys = {f"key{j}": key for j, key in enumerate(self.keys)}
        return {**numbers, **keys, **packed(self.carried)}

    @classmethod
    def gathered(cls, parts: Sequence[Arrays]) -> "Records":
        """Put the parts of some records together, in the order of rows."""
        parts = [part for part in parts if part]
        joined = {
            name: np.concatenate([part[name] for part in parts])
            for name in parts[0]
            if name != TABLE
        }
        records = cls(
            joined["rows"],
            joined["strata"],
            joined["groups"],
            [joined[f"key{j}"] for j in range(len(joined) - 3)],
            unpacked_all(parts),
        )
        return records.take(np.argsort(records.rows))

    def dealt(self, parts: Labels) -> dict[str, Arrays]:
        """Divide the records by the number of their part."""
        order = np.argsort(parts, kind="stable")
        numbers, starts = np.unique(parts[order], return_index=True)
        return {
            str(number): self.take(chosen).arrays
            for number, chosen in zip(numbers, np.split(order, starts[1:]), strict=True)
        }
