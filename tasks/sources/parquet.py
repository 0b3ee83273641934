"""Reads Parquet files."""

import pyarrow as pa
import pyarrow.parquet

from algorithms.errors import DataError
from expectations.request.spec import ReleaseSpec
from tasks.sources.reader import Reader


def read(content: bytes, _spec: ReleaseSpec) -> pa.Table:
    """Read a Parquet file, every page of it."""
    try:
        # unlike read_table, this reads repeated columns, which get their own message
        table = pyarrow.parquet.ParquetFile(pa.BufferReader(content)).read()
        table.validate(full=True)
        # decoding a damaged name raises an error
        return pa.table(table.columns, names=table.column_names)
    except (pa.ArrowException, OSError, UnicodeError):
        raise DataError(
            "the source must be a Parquet file, but cannot be read as one: it may be damaged or "
            "incomplete"
        ) from None


READER = Reader("a Parquet file", is_text=False, read=read)
