"""The fingerprint of a table, whatever file or database it comes from."""

import hashlib
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from expectations.published.batches import rebatched

ROWS = 65_536
"""Number of rows that are hashed at a time; another number would give another fingerprint."""

ZEROS = pa.py_buffer(bytes(32))
"""As many bytes as any cell has."""


class _Hash:
    """A file that only remembers the SHA-256 of everything written to it."""

    closed = False

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def write(self, content: Any) -> int:
        self.sha256.update(content)
        return len(content)

    def flush(self) -> None:
        """Do nothing: all bytes are hashed already."""


def fingerprint(table: pa.Table) -> str:
    """Compute the SHA-256 of the names, types and cells of a table, in their order.

    The hash is that of an Arrow IPC stream in one form: batches of `ROWS` rows, no metadata, and
    for each column its cells beside their presence, so that bytes behind a missing cell, chunks and
    padding do not matter.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of numbers, text, truth values, dates or times, as `tasks.sources.table` gives them.

    Examples
    --------
    >>> whole = pa.table({"a": [1, None, 3]})
    >>> parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    >>> fingerprint(whole) == fingerprint(parts)
    True
    >>> fingerprint(whole) == fingerprint(whole.rename_columns(["b"]))
    False
    """
    return streamed_fingerprint(table.schema, [table])


def streamed_fingerprint(schema: pa.Schema, tables: Iterable[pa.Table]) -> str:
    """Compute the fingerprint of a table that is given in pieces.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and types of its columns.
    tables : iterable of pyarrow.Table
        The pieces, in their order.
    """
    names = [name for column in schema.names for name in (column, "")]
    kinds = [kind for field in schema for kind in (_stored(field.type), pa.uint8())]
    hashed = pa.schema(list(zip(names, kinds, strict=True)))
    sink = _Hash()
    options = pyarrow.ipc.IpcWriteOptions(use_threads=False)
    with pyarrow.ipc.new_stream(pa.PythonFile(sink, "w"), hashed, options=options) as stream:
        for piece in rebatched(tables, ROWS):
            arrays = [array for column in piece.columns for array in _canonical(column)]
            stream.write_batch(pa.record_batch(arrays, schema=hashed))
    return sink.sha256.hexdigest()


def _canonical(column: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Give the cells of a column, zero or empty where missing, and 1 where they are present."""
    array = pa.concat_arrays(column.chunks)
    buffers = [None, *[ZEROS] * (array.type.num_buffers - 1)]
    nothing = pa.Array.from_buffers(array.type, 1, buffers)[0]
    present = pc.is_valid(array).cast(pa.uint8())
    return pc.fill_null(array, nothing).cast(_stored(array.type)), present


def _stored(kind: pa.DataType) -> pa.DataType:
    # of truth values, eight share a byte, and the last byte may have bits that nothing sets
    return pa.uint8() if pa.types.is_boolean(kind) else kind
