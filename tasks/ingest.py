"""Reads the confidential table."""

import codecs
import csv
import errno
import hashlib
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from algorithms.errors import DataError
from expectations.published.verifier import field_type
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.source import SourceSection
from expectations.request.spec import ReleaseSpec
from expectations.suites.numbers import CERTAIN_DIGITS
from tasks.stage import stage

INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"
BYTE_ORDER_MARK = "\ufeff"
EPOCH = date(1970, 1, 1)
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of them make a second."""

KINDS = {
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
"""Files that are taken for CSV files now and then, by their first bytes."""

NOT_READABLE = {
    errno.ENOENT,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EACCES,
    errno.EPERM,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}
"""Faults of the path; all others may pass, and are worth another try."""


@dataclass(frozen=True, eq=False)
class Ingested:
    """The table as it was read, and the fingerprint of the file it was read from."""

    frame: pd.DataFrame
    sha256: str
    size: int


@stage(name="ingest", retries=2)
def ingest(spec: ReleaseSpec) -> Ingested:
    """Read the file that the spec names, once, and fingerprint the bytes that were read."""
    content = _content(spec.source.path)
    _refuse_other_kinds(content, spec.source.kind)
    table = _read_csv(content, spec) if spec.source.kind == "csv" else _read_parquet(content, spec)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return Ingested(frame, hashlib.sha256(content).hexdigest(), len(content))


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        if error.errno not in NOT_READABLE:
            raise
        raise DataError(
            f"source.path must be a readable file; {str(path)!r} is not ({error.strerror})"
        ) from None
    if not content.strip():
        raise DataError(f"the source must have a header and rows; {str(path)!r} is empty")
    return content


def _refuse_other_kinds(content: bytes, kind: str) -> None:
    """Say which kind of file was given, where its first bytes tell."""
    other = next((name for start, name in KINDS.items() if content.startswith(start)), None)
    if kind == "csv" and other is not None and not _is_text(content):
        raise DataError(
            f"the source must be a CSV file; it is {other}: unpack or convert it, or correct "
            "source.path and source.format"
        )


def _read_csv(content: bytes, spec: ReleaseSpec) -> pa.Table:
    """Read all columns as text; give a type to those that are published as they are."""
    source = spec.source
    try:
        names, text = _header_and_text(content, source)
        _refuse_duplicates(names, spec.columns)
        table = pyarrow.csv.read_csv(
            pa.BufferReader(text),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=source.delimiter, newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, UnicodeError, csv.Error, StopIteration):
        # the reader quotes the line it stumbled over: not a word of that
        raise DataError(
            "the source must be a CSV file with as many fields in every line as in its header; it "
            f"cannot be read with delimiter {source.delimiter!r} and encoding {source.encoding!r}"
        ) from None
    if source.decimal == ",":
        keys = spec.columns.quasi_identifiers
        table = _map(table, lambda name, text: _swap_marks(text) if name in keys else text)
    untouched = spec.columns.untouched
    return _map(
        table, lambda name, text: _typed(text, source.decimal) if name in untouched else text
    )


def _header_and_text(content: bytes, source: SourceSection) -> tuple[list[str], bytes]:
    """Read the first line that is not empty; give the whole file in UTF-8."""
    if codecs.lookup(source.encoding).name in ("utf-8", "utf-8-sig"):
        text = content.removeprefix(codecs.BOM_UTF8)
    else:
        text = content.decode(source.encoding).removeprefix(BYTE_ORDER_MARK).encode()
    with io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter=source.delimiter)
        return next(row for row in rows if row), text


def _read_parquet(content: bytes, spec: ReleaseSpec) -> pa.Table:
    try:
        table = pyarrow.parquet.read_table(pa.BufferReader(content))
        table.validate(full=True)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeError):
        hint = "; is it a CSV file? set source.format" if _is_text(content) else ""
        raise DataError(
            f"the source must be a Parquet file; it cannot be read as one{hint}"
        ) from None
    _refuse_duplicates(names, spec.columns)
    table = _map(table, lambda _, column: _plain(column))
    _refuse(
        [field.name for field in table.schema if field_type(field.type) is None],
        spec.columns,
        "columns must hold numbers, text, truth values, dates or times without zone; these hold "
        "something else",
    )
    _refuse(
        [name for name in names if not _within_years(table[name])],
        spec.columns,
        "dates and times must lie in the years 1 to 9999; these columns have others",
    )
    return table.replace_schema_metadata(None)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _refuse(names: list[str], columns: ColumnsSection, words: str) -> None:
    """Refuse a table for some of its columns; those that the spec does not name are counted."""
    if names:
        known = [repr(name) for name in names if name in columns.all]
        unknown = len(names) - len(known)
        counted = [f"{unknown} that the spec does not name"] if unknown else []
        raise DataError(f"{words}: {', '.join(known + counted)}")


def _within_years(column: pa.ChunkedArray) -> bool:
    """Tell whether all dates of a column, if it has any, are dates to everyone."""
    if pa.types.is_date32(column.type):
        first, last = (day.toordinal() - EPOCH.toordinal() for day in (date.min, date.max))
        held = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        size = UNITS[column.type.unit]
        first = (date.min.toordinal() - EPOCH.toordinal()) * 86_400 * size
        last = (date.max.toordinal() - EPOCH.toordinal() + 1) * 86_400 * size - 1
        held = column.cast(pa.int64())
    else:
        return True
    ends = pc.min_max(held).as_py()
    return ends["min"] is None or first <= ends["min"] <= ends["max"] <= last


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Undo encodings that carry no meaning: dictionaries, wide text, NaN for missing."""
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


def _refuse_duplicates(names: list[str], columns: ColumnsSection) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    words = "each column of the source must have a name of its own; these stand more than once"
    _refuse(twice, columns, words)


def _swap_marks(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write a decimal comma as a point; a point becomes a comma, which no number has."""
    held = pc.replace_substring(text, ".", "\0")
    return pc.replace_substring(pc.replace_substring(held, ",", "."), "\0", ",")


def _typed(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Read text as whole or real numbers if that loses nothing: '007' and '1.2.2026' stay text."""
    if text.null_count == len(text):
        return text
    if pc.all(pc.match_substring_regex(text, INTEGER)).as_py():
        return text.cast(pa.int64())
    pointed = _swap_marks(text) if decimal == "," else text
    if not pc.all(pc.match_substring_regex(pointed, NUMBER)).as_py():
        return text
    numbers = pointed.cast(pa.float64())
    digits = pc.replace_substring_regex(pointed, r"[eE].*$|^-?0*\.?0*|\.", "")
    certain = pc.less_equal(pc.utf8_length(digits), CERTAIN_DIGITS)
    same = pc.equal(numbers.cast(pa.string()), pointed)
    return numbers if pc.all(pc.or_(certain, same)).as_py() else text


def _map(table: pa.Table, change: Callable[[str, pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    columns = [change(name, table[name]) for name in table.column_names]
    return pa.table(columns, names=table.column_names)
