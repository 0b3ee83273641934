"""Reads Parquet files."""

import pyarrow as pa
import pyarrow.parquet

from expectations.published.files import OpenFile
from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Decoded, Reader, unreadable

FILE = "a Parquet file"


def read(content: bytes, _source: SourceSection) -> Decoded:
    """Read the bytes of a Parquet file."""
    return _read(pa.BufferReader(content))


def stream(file: OpenFile, _source: SourceSection) -> Decoded:
    """Read an open Parquet file."""
    return _read(file.reader())


def _read(file: pa.NativeFile) -> Decoded:
    """Read a Parquet file, every page of it."""
    try:
        # unlike read_table, this reads repeated columns, which get their own message
        table = pyarrow.parquet.ParquetFile(file).read()
        table.validate(full=True)
        # decoding a damaged name raises an error
        return Decoded(pa.table(table.columns, names=table.column_names))
    except (pa.ArrowException, OSError, UnicodeError):
        raise unreadable(FILE) from None


READER = Reader(FILE, is_text=False, read=read, stream=stream, starts=b"PAR1")
