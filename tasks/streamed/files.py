"""The records of a streamed table before and after masking, as measures read them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from algorithms.comparison import Chunk, Files, PublishedFiles
from algorithms.measure import Estimate, Omitted
from algorithms.search.linkage import Linkage
from algorithms.table import Codes, Stratum, Table
from algorithms.types import Integers, Labels, Mask, Matrix, Order
from expectations.tables import read_codes
from tasks.streamed import linking
from tasks.streamed.masking import CARRIED, RECORDS, StreamedMasked, column_part
from tasks.streamed.packing import unpacked


@dataclass(frozen=True, eq=False)
class StreamedReleased(PublishedFiles):
    """The published side of a streamed table.

    Attributes
    ----------
    masked : StreamedMasked
        The records.
    k : int
        The promised size of the smallest group.
    names : sequence of str
        Names of the confidential columns.
    """

    masked: StreamedMasked
    k: int
    names: Sequence[str]

    @property
    def confidential_names(self) -> Sequence[str]:
        """Names of the confidential columns."""
        return self.names

    @property
    def rows(self) -> int:
        """Number of published records."""
        return len(self.masked)

    @cached_property
    def classes(self) -> Labels:
        """Number of each record's combination of published values that are counted into k.

        Combinations are told apart by hashes of 128 bits.
        """
        one, two = self.masked.gathered(RECORDS, "hash_one", "hash_two")
        order = np.lexsort((two, one))
        differs = np.zeros(len(order), dtype=bool)
        for hashed in (one, two):
            differs[1:] |= hashed[order[1:]] != hashed[order[:-1]]
        del one, two
        labels = np.empty(len(order), dtype=np.int64)
        labels[order] = np.cumsum(differs)
        return labels

    @cached_property
    def sizes(self) -> NDArray[Any]:
        """Number of records of each such combination."""
        return np.bincount(self.classes)

    @property
    def silent(self) -> Mask | None:
        """None: no record of a streamed table is muted."""
        return None

    def confidential(self, name: str) -> Codes:
        """Give one confidential column."""
        chunks: list[pa.Array] = []
        for file in self.masked.files:
            column = unpacked(self.masked.engine.store.read(file, CARRIED))[name]
            chunks += column.dictionary_encode().chunks if _is_text(column) else column.chunks
        joined = pa.chunked_array(chunks).unify_dictionaries()
        return _codes(joined) if pa.types.is_dictionary(joined.type) else read_codes(joined)


@dataclass(frozen=True, eq=False)
class StreamedFiles(Files):
    """A streamed table before and after masking.

    Attributes
    ----------
    masked : StreamedMasked
        The records.
    confidential : tuple of str
        Names of the confidential columns.
    """

    masked: StreamedMasked
    confidential: Sequence[str]

    @property
    def k(self) -> int:
        """The promised size of the smallest group."""
        return self.masked.k

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.masked)

    @cached_property
    def original(self) -> Table:
        """A table of no records, with the attributes of all."""
        attributes = self.masked.scales.attributes
        kinds = [np.int64 if attribute.whole else np.float64 for attribute in attributes]
        nothing = np.empty(0, dtype=np.int64)
        return Table(
            attributes,
            tuple(np.empty(0, dtype=kind) for kind in kinds),
            strata=tuple(Stratum(name, nothing) for name in self.masked.given.names),
        )

    @property
    def published(self) -> Table:
        """A table of no records, as `original`."""
        return self.original

    @property
    def sets(self) -> Labels | None:
        """Number of the stratum of each record; None without strata."""
        return self.masked.gathered(RECORDS, "strata")[0] if self.masked.given.names else None

    @property
    def places(self) -> tuple[slice, ...]:
        """One coordinate for each key column."""
        return tuple(slice(j, j + 1) for j in range(len(self.masked.scales.attributes)))

    @property
    def centre(self) -> Matrix:
        """Zero: numbers are measured from their mean."""
        return np.zeros(len(self.places))

    @cached_property
    def released(self) -> StreamedReleased:
        """The published side alone."""
        return StreamedReleased(self.masked, self.k, tuple(self.confidential))

    def column(self, coordinate: int) -> tuple[Matrix, Matrix]:
        """Give one coordinate of all records, before and after."""
        embed = self.masked.scales.columns[coordinate].embed
        before, after = np.empty(self.rows), np.empty(self.rows)
        start = 0
        for file in self.masked.files:
            values = self.masked.engine.store.read(file, column_part(coordinate))
            end = start + len(values["original"])
            before[start:end] = embed(values["original"])[:, 0]
            after[start:end] = embed(values["published"])[:, 0]
            start = end
        return before, after

    def chunks(self) -> Iterator[Chunk]:
        """Give the records of each part."""
        for file in self.masked.files:
            yield self._chunk(file)

    def some(self, rows: Order) -> tuple[Matrix, Matrix]:
        """Give some records, before and after, in coordinates."""
        d = len(self.places)
        before, after = np.empty((len(rows), d)), np.empty((len(rows), d))
        ends = np.cumsum(self.masked.sizes)
        of_file = np.searchsorted(ends, rows, side="right")
        for number in np.unique(of_file):
            wanted = np.flatnonzero(of_file == number)
            chunk = self._chunk(self.masked.files[number])
            own = rows[wanted] - (ends[number] - self.masked.sizes[number])
            before[wanted], after[wanted] = chunk.before[own], chunk.after[own]
        return before, after

    def numbers(self, column: int) -> tuple[Matrix, Matrix]:
        """Give a key column before and after, in its own unit."""
        pairs = self.masked.gathered(column_part(column), "original", "published")
        before, after = (np.asarray(values, dtype=np.float64) for values in pairs)
        return before, after

    def linkage(self) -> Linkage:
        """Link published records to originals by their distances."""
        return linking.linkage(self.masked)

    def linked_known(self) -> float | Estimate:
        """Link originals to published records by all columns that are counted into k."""
        return linking.linked_known(self.masked)

    def neighbour_bound(self, k: int) -> float | Omitted:
        """Bound the SSE of any partition from below; groups stay within strata."""
        return linking.bound(self.masked, k)

    def _chunk(self, file: str) -> Chunk:
        store, columns = self.masked.engine.store, self.masked.scales.columns
        parts = [store.read(file, column_part(j)) for j in range(len(columns))]
        before, after = (
            self.masked.scales.embed([part[side] for part in parts])
            for side in ("original", "published")
        )
        return Chunk(before, after, np.column_stack([part["average"] for part in parts]))


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type))


def _codes(column: pa.ChunkedArray) -> Codes:
    """Give the values of a column of text numbers in their order; missing is the last."""
    values = column.chunk(0).dictionary
    order = np.argsort(np.array(values.to_pylist(), dtype=object))
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = len(order)
    indices = [
        np.asarray(chunk.indices.fill_null(len(order)), dtype=np.int64) for chunk in column.chunks
    ]
    codes: Integers = rank[np.concatenate(indices)]
    return Codes(codes, missing=len(order) if column.null_count else None)
