"""The rows that a release publishes, in the order of the public files."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from algorithms.attributes import Attribute
from algorithms.masked import Masked
from expectations.digest import digest_of
from expectations.request.sections.columns import ColumnsSection
from expectations.tables import arrow_of, frame_of

ROW_GROUP = 2**20
"""Number of rows of a row group of the Parquet file."""


class Publishable(Protocol):
    """Rows that may be published, whether they are in memory or not."""

    @property
    def attributes(self) -> Sequence[Attribute]:
        """Kinds of the quasi-identifiers."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the public columns."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def digest(self) -> str:
        """Digest of the rows, computed from the rows; it must be that of the `Approval`."""

    @property
    def masked(self) -> Masked | None:
        """The table behind the rows; None if it is not in memory."""

    def batches(self) -> Iterator[pa.Table]:
        """Read all rows, sorted by all columns in the order of the schema."""


class MaskedRows:
    """The rows of a masked table in memory."""

    def __init__(self, masked: Masked, columns: ColumnsSection) -> None:
        self.masked = masked
        self.attributes = masked.published.attributes
        # in one piece: taking rows from pieces joins them each time
        self._table = arrow_of(masked.published, columns).combine_chunks()
        self.schema, self.rows = self._table.schema, self._table.num_rows

    @cached_property
    def digest(self) -> str:
        """Digest of the rows."""
        return digest_of(frame_of(self._table))

    @cached_property
    def order(self) -> pa.Array:
        """The place of each row of the public files in the table."""
        return sort_order(self._table)

    def batches(self) -> Iterator[pa.Table]:
        """Sort the rows, as many at a time as a row group has."""
        for start in range(0, self.rows, ROW_GROUP):
            yield self._table.take(self.order.slice(start, ROW_GROUP))

    @property
    def units(self) -> pa.Array | None:
        """The unit of each row, in the order of the public files; None without units."""
        units = None if self.masked is None else self.masked.original.units
        return None if units is None else pa.array(units).take(self.order)


def sort_order(table: pa.Table) -> pa.Array:
    """Sort rows by their published content, so that their order reveals nothing else."""
    return pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
