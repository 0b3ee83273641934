"""Reads Parquet files."""

import pyarrow as pa
import pyarrow.parquet

from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Decoded, Reader, unreadable

FILE = "a Parquet file"


def read(content: bytes, _source: SourceSection) -> Decoded:
    """Read a Parquet file, every page of it."""
    try:
        # unlike read_table, this reads repeated columns, which get their own message
        table = pyarrow.parquet.ParquetFile(pa.BufferReader(content)).read()
        table.validate(full=True)
        # decoding a damaged name raises an error
        return Decoded(pa.table(table.columns, names=table.column_names))
    except (pa.ArrowException, OSError, UnicodeError):
        raise unreadable(FILE) from None


READER = Reader(FILE, is_text=False, read=read, starts=b"PAR1")
