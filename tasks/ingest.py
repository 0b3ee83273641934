"""Reads the confidential table."""

import codecs
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from algorithms.errors import DataError
from expectations.published import field_type
from expectations.spec import Columns, ReleaseSpec, Source
from tasks.stage import stage

INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"
CERTAIN_DIGITS = 15
"""So many significant digits survive the way through a real number and back."""


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
    table = _read_csv(content, spec) if spec.source.kind == "csv" else _read_parquet(content, spec)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return Ingested(frame, hashlib.sha256(content).hexdigest(), len(content))


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise DataError(
            f"source.path must be a readable file; {str(path)!r} is not ({error.strerror})"
        ) from None
    if not content.strip():
        raise DataError(f"the source must have a header and rows; {str(path)!r} is empty")
    return content


def _read_csv(content: bytes, spec: ReleaseSpec) -> pa.Table:
    """Read all columns as text; give a type to those that are published as they are."""
    source = spec.source
    try:
        names = _header(content, source)
        _refuse_duplicates(names, spec.columns)
        table = pyarrow.csv.read_csv(
            pa.BufferReader(content),
            read_options=pyarrow.csv.ReadOptions(encoding=source.encoding),
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
    except (pa.ArrowException, UnicodeError, OSError, csv.Error, StopIteration):
        # the reader quotes the line it stumbled over: not a word of that
        raise DataError(
            "the source must be a CSV file with as many fields in every line as in its header; "
            f"it cannot be read with delimiter {source.delimiter!r} and encoding "
            f"{source.encoding!r}"
        ) from None
    if source.decimal == ",":
        keys = spec.columns.quasi_identifiers
        table = _map(table, lambda name, text: _swap_marks(text) if name in keys else text)
    untouched = spec.columns.untouched
    return _map(
        table, lambda name, text: _typed(text, source.decimal) if name in untouched else text
    )


def _header(content: bytes, source: Source) -> list[str]:
    encoding = "utf-8-sig" if codecs.lookup(source.encoding).name == "utf-8" else source.encoding
    with io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="") as text:
        return next(csv.reader(text, delimiter=source.delimiter))


def _read_parquet(content: bytes, spec: ReleaseSpec) -> pa.Table:
    try:
        table = pyarrow.parquet.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError):
        raise DataError("the source must be a Parquet file; it cannot be read as one") from None
    _refuse_duplicates(table.column_names, spec.columns)
    table = _map(table, lambda _, column: _plain(column))
    odd = [field.name for field in table.schema if field_type(field.type) is None]
    if odd:
        raise DataError(
            "columns must hold numbers, text, truth values, dates or times without zone; these "
            f"hold something else: {', '.join(map(repr, odd))}"
        )
    return table.replace_schema_metadata(None)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Undo encodings that carry no meaning: dictionaries, wide text, NaN for missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    return column


def _refuse_duplicates(names: list[str], columns: Columns) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        # a file without a header has its first record there: name what the spec names, no more
        known = [repr(name) for name in twice if name in columns.all]
        raise DataError(
            "each column of the source must have a name of its own; "
            f"{', '.join(known) or f'{len(twice)} names'} stand more than once"
        )


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
