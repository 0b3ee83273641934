"""Reads CSV files."""

import codecs
import csv
import io

import pyarrow as pa
import pyarrow.csv

from algorithms.errors import DataError
from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Decoded, Reader

BYTE_ORDER_MARK = "\ufeff"


def read(content: bytes, source: SourceSection) -> Decoded:
    """Read all cells of a CSV file as text."""
    try:
        table = _all_text(content, source)
    except (pa.ArrowException, UnicodeError, csv.Error, StopIteration):
        raise DataError(
            "the source must be a CSV file with as many fields in every line as in its header; it "
            f"cannot be read with delimiter {source.delimiter!r} and encoding {source.encoding!r}: "
            "correct the file, or source.delimiter and source.encoding"
        ) from None
    return Decoded(table, written=tuple(table.column_names))


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


READER = Reader("a CSV file", is_text=True, read=read)
