"""Arrow tables as arrays, for the scratch folder."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from algorithms.blocks.running import Arrays

TABLE = "table"


def packed(table: pa.Table) -> Arrays:
    """Write a table as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return {TABLE: np.frombuffer(sink.getvalue(), dtype=np.uint8)}


def unpacked(arrays: Arrays) -> pa.Table:
    """Read a table from the bytes of an Arrow stream.

    Examples
    --------
    >>> unpacked(packed(pa.table({"a": [1, None]})))["a"].to_pylist()
    [1, None]
    """
    return pyarrow.ipc.open_stream(pa.py_buffer(arrays[TABLE])).read_all()


def unpacked_all(parts: Sequence[Arrays]) -> pa.Table:
    """Read tables one below the other; parts that hold nothing are left out."""
    return pa.concat_tables([unpacked(part) for part in parts if part])
