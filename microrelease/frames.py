"""Frames of other libraries, to Arrow and back: pandas, pyarrow, polars and other Arrow tables."""

import sys
from collections.abc import Collection
from numbers import Number
from typing import Any

import pandas as pd
import pyarrow as pa

from algorithms.errors import DataError
from algorithms.types import Order

Frame = Any
"""A pandas.DataFrame, a pyarrow.Table, a polars.DataFrame or another table that offers Arrow's
``__arrow_c_stream__``."""


def to_arrow(frame: Frame) -> pa.Table:
    """Convert a frame to an Arrow table with the same columns.

    The index of a pandas frame is no column.

    Raises
    ------
    DataError
        If it is not a frame, or a name of a column is not text.

    Examples
    --------
    >>> to_arrow(pd.DataFrame({"staff": [1, 2]})).schema.names
    ['staff']
    >>> to_arrow([1, 2])
    Traceback (most recent call last):
    ...
    algorithms.errors.DataError: the frame must be a table of pandas, pyarrow or polars; got an \
object of type list: make one of it, for example with pandas.DataFrame
    """
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pd.DataFrame):
        return _from_pandas(frame)
    try:
        # an object that offers nothing is refused in the same words as one that offers no table
        table = pa.table(frame if hasattr(frame, "__arrow_c_stream__") else None)
    except (TypeError, ValueError):  # errors of Arrow are these, and may quote cells
        lazy = hasattr(frame, "collect")
        remedy = "collect it first" if lazy else "make one of it, for example with pandas.DataFrame"
        raise DataError(
            "the frame must be a table of pandas, pyarrow or polars; got an "
            f"object of type {type(frame).__name__}: {remedy}"
        ) from None
    return pa.table([_classic(column) for column in table.columns], names=table.column_names)


def like(frame: Frame, table: pa.Table) -> Frame:
    """Convert an Arrow table to the library of a frame; Arrow itself is the library of others."""
    if isinstance(frame, pd.DataFrame):
        return table.to_pandas()
    return sys.modules["polars"].from_arrow(table) if _is_polars(frame) else table


def updated(
    frame: Frame, original: pa.Table, table: pa.Table, rows: Order, unchanged: Collection[str]
) -> Frame:
    """Give a frame the columns of a table that was computed from it.

    Parameters
    ----------
    frame : Frame
        The original.
    original : pyarrow.Table
        The same as an Arrow table.
    table : pyarrow.Table
        The columns of the result, one row for each of ``rows``.
    rows : Order
        Rows of the frame that are left; pandas keeps their index.
    unchanged : collection of str
        Columns that are taken from the frame as they are, with their types.
    """
    if isinstance(frame, pd.DataFrame):
        columns = {
            name: frame[name].array.take(rows)
            if name in unchanged
            else _series(table[name], frame[name].dtype)
            for name in table.column_names
        }
        return pd.DataFrame(columns, index=frame.index[rows])
    if _is_polars(frame):
        return like(frame, table).with_columns(
            [frame.get_column(name).gather(rows) for name in unchanged]
        )
    for name in unchanged:
        column = original[name].take(pa.array(rows))
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _is_polars(frame: Frame) -> bool:
    return type(frame).__module__.partition(".")[0] == "polars"


def _classic(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Hold text in the layout that every function of Arrow knows."""
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        parts = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
            for chunk in column.chunks
        ]
        return pa.chunked_array(parts, pa.dictionary(column.type.index_type, pa.large_string()))
    return column


def _series(column: pa.ChunkedArray, before: Any) -> Any:
    """Make a column of pandas; one that was held by Arrow stays so."""
    if isinstance(before, pd.ArrowDtype):
        return pd.arrays.ArrowExtensionArray(column)
    return column.to_pandas().array


def _from_pandas(frame: pd.DataFrame) -> pa.Table:
    names = list(frame.columns)
    strange = sum(not isinstance(name, str) for name in names)
    if strange:
        raise DataError(
            f"each column of the frame must have a text as its name; {strange} of {len(names)} "
            "do not: rename them, for example with frame.rename(columns=str)"
        )
    return pa.table([_column(frame.iloc[:, j]) for j in range(len(names))], names=names)


def _column(series: "pd.Series[Any]") -> pa.Array:
    """Convert a column; a mixture of numbers and text is read as text, as a file would hold it.

    A column that Arrow cannot hold becomes one of bytes, which is refused with all other columns
    that cannot be published: Arrow's own message would quote a cell.
    """
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        cells = list(series.astype(object).where(series.notna(), None))
        if all(cell is None or isinstance(cell, str | Number) for cell in cells):
            return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
        return pa.nulls(len(series), pa.binary())
