"""Reads a source of any kind, and refuses tables that cannot be published."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from algorithms.errors import DataError
from expectations.numbers import lossless
from expectations.published.files import OpenFile
from expectations.published.verifier import field_type
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.source import SourceSection
from tasks.sources import READERS
from tasks.sources.codes import SourceTable, decimal_points, replace_codes
from tasks.sources.packing import HEAD, TEXT, kind_by_content, unpacked
from tasks.sources.reader import Decoded, Reader

EPOCH = date(1970, 1, 1).toordinal()
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units of time per second."""


def read_table(
    content: bytes | OpenFile, source: SourceSection, columns: ColumnsSection | None = None
) -> SourceTable:
    """Read a file.

    Parameters
    ----------
    content : bytes or OpenFile
        The whole file, compressed if its ending says so; an open file is read in a stream, if that
        is possible for its kind.
    source : SourceSection
        Its kind, and how it is read.
    columns : ColumnsSection, optional
        The roles of its columns. Without them, text becomes numbers wherever that changes no cell.

    Returns
    -------
    SourceTable
        Each column once, as numbers, text, truth values, dates or times; NaN counts as missing.

    Raises
    ------
    DataError
        If the file is of another kind than the spec says, cannot be read, or has columns that
        cannot be published.
    """
    return converted(_decoded(content, source), source, columns)


def converted(
    decoded: Decoded, source: SourceSection, columns: ColumnsSection | None = None
) -> SourceTable:
    """Give each column of a file that was decoded one of the types that can be published.

    Parameters and errors are those of `read_table`.
    """
    read = replace_codes(replace(decoded, table=checked(decoded.table, columns)), source)
    if columns is not None:
        _refuse_other_labels(read, frozenset(columns.all))
    return replace(read, table=_from_text(read.table, decoded.written, source, columns))


def _decoded(content: bytes | OpenFile, source: SourceSection) -> Decoded:
    """Decode a file, open if its reader can read it so."""
    reader = READERS[source.kind]
    if isinstance(content, OpenFile) and reader.stream is not None and not source.compression:
        _refuse_other_kinds(content.read_at(0, HEAD), reader)
        return reader.stream(content, source)
    whole = content.read() if isinstance(content, OpenFile) else content
    if source.compression:
        whole = unpacked(whole, source.compression)
    _refuse_other_kinds(whole, reader)
    return reader.read(whole, source)


def checked(table: pa.Table, columns: ColumnsSection | None = None) -> pa.Table:
    """Normalise the types of a table, and refuse columns that cannot be published.

    Raises
    ------
    DataError
        If a column is repeated, or has a type or a year that cannot be published.
    """
    known = frozenset(() if columns is None else columns.all)
    _refuse_duplicates(table, known)
    plain = pa.table([_plain(column) for column in table.columns], names=table.column_names)
    _refuse_other_types(plain, known)
    _refuse_other_years(plain, known)
    return plain


def _from_text(
    table: pa.Table, written: tuple[str, ...], source: SourceSection, columns: ColumnsSection | None
) -> pa.Table:
    """Give numbers a decimal point; read columns without a kind as numbers if that is safe."""
    numeric = () if columns is None else columns.numeric
    plain = written if columns is None else _plain_columns(columns)
    cells = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        pointed = decimal_points(column) if source.decimal == "," else column
        is_plain = name in plain and name in written
        numbers = lossless(pointed) if is_plain else None
        cells.append(pointed if name in numeric else column if numbers is None else numbers)
    return pa.table(cells, names=table.column_names)


def _plain_columns(columns: ColumnsSection) -> list[str]:
    """List the columns that are published unchanged and need not stay text."""
    return [name for name in columns.untouched if name not in columns.hierarchies]


def _refuse_other_kinds(content: bytes, reader: Reader) -> None:
    """Refuse a file of another kind than the spec says, if its first bytes show the kind."""
    if reader.starts is not None and re.match(reader.starts, content, re.DOTALL):
        return
    kind = kind_by_content(content)
    if kind not in (None, TEXT if reader.is_text else reader.file):
        raise DataError(
            f"the source must be {reader.file}; it is {kind}: unpack or convert it, or correct "
            "source.path and source.format"
        )


def _refuse_duplicates(table: pa.Table, known: frozenset[str]) -> None:
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    _refuse(repeated, known, "each column of the source must have its own name; these are repeated")


def _refuse_other_labels(read: SourceTable, known: frozenset[str]) -> None:
    _refuse(
        read.alike,
        known,
        "codes of a column must have different value labels, or source.codes must name the column "
        f"to read it without labels; {sum(read.alike.values())} codes share a label",
    )
    _refuse(
        read.half_labelled,
        known,
        "all codes of a column must have value labels, or none: name codes that mean missing in "
        "source.missing_codes, or name the column in source.codes to read it without labels; "
        f"{sum(read.half_labelled.values())} codes have no label, and others of the same column do",
    )


def _refuse_other_types(table: pa.Table, known: frozenset[str]) -> None:
    _refuse(
        [field.name for field in table.schema if field_type(field.type) is None],
        known,
        "columns must hold numbers, text, truth values, dates or times without time zone; these "
        "hold something else",
    )


def _refuse_other_years(table: pa.Table, known: frozenset[str]) -> None:
    _refuse(
        [name for name in table.column_names if not _within_years(table[name])],
        known,
        "dates and times must lie in the years 1 to 9999; these columns have other years",
    )


def _refuse(names: Iterable[str], known: frozenset[str], words: str) -> None:
    """Refuse a table because of some columns.

    Columns that the spec does not name are only counted: in a damaged file their names may be
    records.
    """
    listed = list(names)
    if listed:
        shown = [repr(name) for name in listed if name in known]
        unknown = len(listed) - len(shown)
        counted = [f"{unknown} that the spec does not name"] if unknown else []
        raise DataError(f"{words}: {', '.join(shown + counted)}")


def _within_years(column: pa.ChunkedArray) -> bool:
    """Check whether all dates and times of a column lie in the years of Python's calendar."""
    if pa.types.is_date32(column.type):
        day, counts = 1, column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        day, counts = 86_400 * UNITS[column.type.unit], column.cast(pa.int64())
    else:
        return True
    first = (date.min.toordinal() - EPOCH) * day
    last = (date.max.toordinal() - EPOCH + 1) * day - 1
    ends = pc.min_max(counts).as_py()
    return ends["min"] is None or first <= ends["min"] <= ends["max"] <= last


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Normalise encodings without meaning: dictionaries, wide text, NaN for missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        column = column.cast(pa.string())
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
    return column
