"""Reads a source of any kind, and refuses tables that cannot be published."""

import codecs
from collections import Counter
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from algorithms.errors import DataError
from expectations.published.verifier import field_type
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from tasks.sources import READERS
from tasks.sources.reader import Reader

TEXT = "a text file, such as CSV"
FIRST_BYTES = {
    b"PAR1": "a Parquet file",
    b"PARE": "an encrypted Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x1f\x8b": "compressed with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\0": "compressed with xz",
    b"PK\x03\x04": "a ZIP archive, as Excel files are",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
}
"""Kinds of file that are often confused, by their first bytes."""
HEAD = 65_536
"""Number of bytes that show whether a file is text."""

EPOCH = date(1970, 1, 1).toordinal()
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units of time per second."""


def read_table(content: bytes, spec: ReleaseSpec) -> pa.Table:
    """Read the bytes of the file that a spec names.

    Returns
    -------
    pyarrow.Table
        Each column once, as numbers, text, truth values, dates or times; NaN counts as missing.

    Raises
    ------
    DataError
        If the file is of another kind than the spec says, cannot be read, or has columns that
        cannot be published.
    """
    reader = READERS[spec.source.kind]
    _refuse_other_kinds(content, reader)
    return checked(reader.read(content, spec), spec.columns)


def checked(table: pa.Table, columns: ColumnsSection) -> pa.Table:
    """Normalise the types of a table, and refuse columns that cannot be published.

    Raises
    ------
    DataError
        If a column is repeated, or has a type or a year that cannot be published.
    """
    _refuse_duplicates(table, columns)
    plain = pa.table([_plain(column) for column in table.columns], names=table.column_names)
    _refuse_other_types(plain, columns)
    _refuse_other_years(plain, columns)
    return plain


def _refuse_other_kinds(content: bytes, reader: Reader) -> None:
    """Refuse a file of another kind than the spec says, if its first bytes show the kind."""
    kinds = (kind for start, kind in FIRST_BYTES.items() if content.startswith(start))
    kind = TEXT if _is_text(content) else next(kinds, None)
    if kind not in (None, TEXT if reader.is_text else reader.file):
        raise DataError(
            f"the source must be {reader.file}; it is {kind}: unpack or convert it, or correct "
            "source.path and source.format"
        )


def _is_text(content: bytes) -> bool:
    try:
        # unlike bytes.decode, this accepts a character that is cut in two at the end
        return "\0" not in codecs.getincrementaldecoder("utf-8")().decode(content[:HEAD])
    except UnicodeDecodeError:
        return False


def _refuse_duplicates(table: pa.Table, columns: ColumnsSection) -> None:
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    _refuse(
        repeated, columns, "each column of the source must have its own name; these are repeated"
    )


def _refuse_other_types(table: pa.Table, columns: ColumnsSection) -> None:
    _refuse(
        [field.name for field in table.schema if field_type(field.type) is None],
        columns,
        "columns must hold numbers, text, truth values, dates or times without time zone; these "
        "hold something else",
    )


def _refuse_other_years(table: pa.Table, columns: ColumnsSection) -> None:
    _refuse(
        [name for name in table.column_names if not _within_years(table[name])],
        columns,
        "dates and times must lie in the years 1 to 9999; these columns have other years",
    )


def _refuse(names: list[str], columns: ColumnsSection, words: str) -> None:
    """Refuse a table because of some columns.

    Columns that the spec does not name are only counted: in a damaged file their names may be
    records.
    """
    if names:
        known = [repr(name) for name in names if name in columns.all]
        unknown = len(names) - len(known)
        counted = [f"{unknown} that the spec does not name"] if unknown else []
        raise DataError(f"{words}: {', '.join(known + counted)}")


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
