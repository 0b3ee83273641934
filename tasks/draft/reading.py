"""Reads a table for which there is no spec yet; refuses names of columns that may be records."""

import codecs
import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from algorithms.errors import DataError
from expectations.labels import as_text
from expectations.numbers import is_number
from expectations.request.sections.source import (
    COMPRESSED,
    ENDINGS,
    OTHER_SHEETS,
    SourceSection,
)
from tasks.sources.packing import unpacked
from tasks.sources.table import read_table

DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = ("utf-8", "cp1252", "latin-1")
"""Encodings that are tried in this order; the last reads any file."""
WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
LINES = 200
"""Number of lines from which a delimiter is guessed."""
LONGEST_NAME = 200

DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
DECIMAL_POINT = re.compile(r"[+-]?[0-9]+\.[0-9]+")
DATE_LIKE = re.compile(r"[0-9]{1,4}([./-])[0-9]{1,2}\1[0-9]{1,4}.*|[0-9]{4}-(?:[0-9]{2}|Q[1-4])")
SIGNS_AMONG_LABELS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?", "")
SIGNS = (*SIGNS_AMONG_LABELS, ".", "-", "*", "..")
"""Signs for missing values that programs write; an empty cell is missing anyway."""
SHORTEST_SHAPE = 4
"""Characters from which on a name that is built like the cells below it may be one of them."""


def read_undescribed(path: Path, content: bytes) -> tuple[SourceSection, pa.Table]:
    """Read a file, with its delimiter, decimal mark and encoding guessed if it is text.

    Returns
    -------
    source : SourceSection
        How the file was read.
    table : pyarrow.Table
        Its columns; text is read as numbers where that changes no cell.

    Raises
    ------
    DataError
        If the file cannot be read, or its header may be a record.
    """
    source = source_of(path, content)
    read = read_table(content, source)
    _refuse_records_as_names(read.table)
    if read.table.num_rows < 2:
        raise DataError(
            "the table must have at least two records; it has "
            f"{read.table.num_rows}: check the file"
        )
    more = {
        # columns with a label for some codes only are read as codes
        "codes": tuple({**read.half_labelled, **read.alike}),
        "missing_codes": missing_signs(read.table),
    }
    if not any(more.values()):
        return source, read.table
    source = source.model_copy(update={key: value for key, value in more.items() if value})
    return source, read_table(content, source).table


def missing_signs(table: pa.Table) -> dict[str, tuple[str, ...]]:
    """Find signs for missing values, such as NA, among the cells of each column of text.

    Only signs that are known are found, so that no other value of the table gets into a spec.

    Examples
    --------
    >>> missing_signs(pa.table({"income": ["12", "NA"], "country": ["NA", "DE"], "x": ["a", "b"]}))
    {'income': ('NA',)}
    """
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        labels = column.drop_null().combine_chunks().unique()
        others = [label for label in labels.to_pylist() if label not in SIGNS]
        if not others:
            continue
        numeric = bool(is_number(pa.array(others)).all())
        # NA is a country, too
        known = SIGNS if numeric else () if _are_countries(others) else SIGNS_AMONG_LABELS
        signs = tuple(sign for sign in known if sign in labels.to_pylist())
        if signs:
            found[name] = signs
    return found


def _are_countries(labels: list[str]) -> bool:
    return all(re.fullmatch("[A-Z]{2}", label) for label in labels)


def source_of(path: Path, content: bytes) -> SourceSection:
    """Guess how a file is read; what is not text says so itself."""
    settings: dict[str, Any] = {}
    compression = COMPRESSED.get(path.suffix.lower())
    ending = (path.with_suffix("") if compression else path).suffix.lower()
    kind = ENDINGS.get(ending)
    if kind is None and ending in OTHER_SHEETS:
        return SourceSection(path=path)
    if kind in (None, "csv"):
        content = unpacked(content, compression) if compression else content
        encoding = _encoding(content)
        text = content.decode(encoding, errors="replace").lstrip("\ufeff")
        delimiter = _delimiter(text)
        defaults = SourceSection(path=Path("table.csv"))
        settings = {
            name: value
            for name, value in {
                "encoding": encoding,
                "delimiter": delimiter,
                "decimal": _decimal(text, delimiter),
            }.items()
            if value != getattr(defaults, name)
        }
        if kind is None:
            settings["format"] = "csv"
    return SourceSection(path=path, **settings)


def _encoding(content: bytes) -> str:
    if content.startswith(WIDE_MARKS):
        return "utf-16"
    for encoding in ENCODINGS[:-1]:
        try:
            content.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return ENCODINGS[-1]


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """Read the first lines of a text; fewer if a quoted field never ends."""
    lines = csv.reader(io.StringIO(text), delimiter=delimiter)
    rows: list[list[str]] = []
    try:
        for row in lines:
            rows += [row] if row else []
            if len(rows) == LINES:
                break
    except csv.Error:
        pass
    return rows


def _delimiter(text: str) -> str:
    """Choose the delimiter that gives all lines the same number of fields, and the most."""

    def fields(delimiter: str) -> int:
        counts = {len(row) for row in _rows(text, delimiter)}
        return counts.pop() if len(counts) == 1 else 1

    return max(DELIMITERS, key=fields)


def _decimal(text: str, delimiter: str) -> str:
    """Choose the decimal mark that more cells have."""
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in _rows(text, delimiter) for cell in row]
    commas = sum(DECIMAL_COMMA.fullmatch(cell) is not None for cell in cells)
    points = sum(DECIMAL_POINT.fullmatch(cell) is not None for cell in cells)
    return "," if commas > points else "."


def _refuse_records_as_names(table: pa.Table) -> None:
    """Refuse a header that may be a record; its cells are counted and never shown."""
    names = table.column_names
    _refuse(
        sum(not name.strip() for name in names),
        "every column must have a name; {} of {} are empty: name them in the table, or remove "
        "these columns",
        len(names),
    )
    _refuse(
        sum(len(name) > LONGEST_NAME or "\0" in name for name in names),
        "names of columns must be short, at most 200 characters and no NUL; {} of {} are not: "
        "does the table have a line with names?",
        len(names),
    )
    _refuse(
        sum(_may_be_a_cell(name, table[name]) for name in names),
        "the table must begin with the names of its columns; {} of {} look like numbers, dates or "
        "cells of their own column (not shown): add a line with names, or rename these columns, "
        "such as y2026 for 2026",
        len(names),
    )


def _refuse(count: int, words: str, columns: int) -> None:
    if count:
        raise DataError(words.format(count, columns))


def _may_be_a_cell(name: str, column: pa.ChunkedArray) -> bool:
    """Check whether the name of a column is a number or a date, or is built like its cells."""
    if is_number(pa.array([name])).any() or DATE_LIKE.fullmatch(name):
        return True
    if not pa.types.is_string(column.type):
        return False
    cells = Counter(cell for cell in as_text(column).to_pylist() if cell is not None)
    if name in cells:
        return True
    shape = _shape(name)
    if len(name) < SHORTEST_SHAPE or "9" not in shape:
        return False
    return 0 < len(cells) == sum(_shape(cell) == shape for cell in cells)


def _shape(text: str) -> str:
    """Describe how a text is built: each digit as 9, each letter as a."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))
