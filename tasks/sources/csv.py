"""Reads CSV files."""

import codecs
import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.csv

from algorithms.errors import DataError
from expectations.published.files import OpenFile
from expectations.request.sections.source import SourceSection
from tasks.sources.reader import Decoded, Reader

BYTE_ORDER_MARK = "\ufeff"


def read(content: bytes, source: SourceSection) -> Decoded:
    """Read all cells of a CSV file as text."""
    with _in_words(source):
        text = content
        if not _is_utf_8(source):
            text = content.decode(source.encoding).removeprefix(BYTE_ORDER_MARK).encode()
        return _all_text(lambda: pa.BufferReader(text), source)


def stream(file: OpenFile, source: SourceSection) -> Decoded:
    """Read all cells of an open CSV file as text."""
    if not _is_utf_8(source):
        return read(file.read(), source)
    with _in_words(source):
        return _all_text(file.reader, source)


@contextmanager
def _in_words(source: SourceSection) -> Iterator[None]:
    """Say that a file is no CSV file; errors of readers quote it."""
    try:
        yield
    except (pa.ArrowException, UnicodeError, csv.Error, StopIteration):
        raise DataError(
            "the source must be a CSV file with as many fields in every line as in its header; it "
            f"cannot be read with delimiter {source.delimiter!r} and encoding {source.encoding!r}: "
            "correct the file, or source.delimiter and source.encoding"
        ) from None


def _is_utf_8(source: SourceSection) -> bool:
    return codecs.lookup(source.encoding).name in ("utf-8", "utf-8-sig")


def _all_text(opened: Callable[[], pa.NativeFile], source: SourceSection) -> Decoded:
    """Read a file in UTF-8, with or without a byte order mark, which Arrow skips."""
    table = pyarrow.csv.read_csv(
        opened(),
        parse_options=pyarrow.csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(_header(opened(), source), pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return Decoded(table, written=tuple(table.column_names))


def _header(file: pa.NativeFile, source: SourceSection) -> list[str]:
    """Read the first line that is not empty."""
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
        return next(row for row in csv.reader(lines, delimiter=source.delimiter) if row)


READER = Reader("a CSV file", is_text=True, read=read, stream=stream)
