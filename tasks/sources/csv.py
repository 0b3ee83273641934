"""Reads CSV files."""

import codecs
import csv
import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from algorithms.errors import DataError
from expectations.numbers import lossless
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.source import SourceSection
from expectations.request.spec import ReleaseSpec
from tasks.sources.reader import Reader

BYTE_ORDER_MARK = "\ufeff"


def read(content: bytes, spec: ReleaseSpec) -> pa.Table:
    """Read a CSV file as text; unchanged columns become numbers if no cell changes."""
    source = spec.source
    assert isinstance(source, SourceSection)
    try:
        table = _all_text(content, source)
    except (pa.ArrowException, UnicodeError, csv.Error, StopIteration):
        raise DataError(
            "the source must be a CSV file with as many fields in every line as in its header; it "
            f"cannot be read with delimiter {source.delimiter!r} and encoding {source.encoding!r}: "
            "correct the file, or source.delimiter and source.encoding"
        ) from None
    named = zip(table.column_names, table.columns, strict=True)
    columns = [_column(name, text, source, spec.columns) for name, text in named]
    return pa.table(columns, names=table.column_names)


def _column(
    name: str, text: pa.ChunkedArray, source: SourceSection, columns: ColumnsSection
) -> pa.ChunkedArray:
    """Give numbers a decimal point; read an unchanged column as numbers if that is safe."""
    pointed = _swap_marks(text) if source.decimal == "," else text
    if name in columns.numeric:
        return pointed
    is_plain = name in columns.untouched and name not in columns.hierarchies
    numbers = lossless(pointed) if is_plain else None
    return text if numbers is None else numbers


def _all_text(content: bytes, source: SourceSection) -> pa.Table:
    header, text = _header_and_text(content, source)
    return pyarrow.csv.read_csv(
        pa.BufferReader(text),
        parse_options=pyarrow.csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _header_and_text(content: bytes, source: SourceSection) -> tuple[list[str], bytes]:
    """Read the first line that is not empty, and recode the whole file to UTF-8."""
    if codecs.lookup(source.encoding).name in ("utf-8", "utf-8-sig"):
        text = content.removeprefix(codecs.BOM_UTF8)
    else:
        text = content.decode(source.encoding).removeprefix(BYTE_ORDER_MARK).encode()
    with io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter=source.delimiter)
        return next(row for row in rows if row), text


def _swap_marks(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write a decimal comma as a point; a point becomes a comma, which no number contains."""
    marked = pc.replace_substring(text, ".", "\0")
    return pc.replace_substring(pc.replace_substring(marked, ",", "."), "\0", ",")


READER = Reader("a CSV file", is_text=True, read=read)
