"""Reads Excel files.

Calamine reads the values. To it, an error, a formula without a result and a text without characters
are empty cells, so the XML of the sheet is searched for these.
"""

import functools
import io
import posixpath
import re
import zipfile
from datetime import date, datetime, time
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
from python_calamine import CalamineSheet, CalamineWorkbook, SheetTypeEnum

from algorithms.errors import DataError
from expectations.request.sections.source import SourceSection
from tasks.sources.packing import check_growth
from tasks.sources.reader import Decoded, Reader, unreadable
from tasks.sources.readstat import compact

FILE = "an Excel file (.xlsx)"
WORKBOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
TEXTS = "xl/sharedStrings.xml"

CELL = rb"<(?:\w+:)?c\b"
NO_VALUE = rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v\s*></(?:\w+:)?v>)"
FORMULA = rb"<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)"
NO_TEXT = rb"<(?:\w+:)?is>(?:<(?:\w+:)?t\b[^>]*/>|<(?:\w+:)?t\b[^>]*></(?:\w+:)?t>)</(?:\w+:)?is>"
ERROR = CELL + rb"[^>]*\bt=[\"']e[\"']"
NO_RESULT = CELL + rb"(?![^>]*\bt=[\"']str)[^>]*>" + FORMULA + NO_VALUE + rb"?</(?:\w+:)?c>"
EMPTY_TEXT = (
    CELL + rb"([^>]*\bt=[\"'](?:str|inlineStr)[\"'][^>]*)>"
    rb"(?:" + FORMULA + rb")?(?:" + NO_VALUE + rb"|" + NO_TEXT + rb")</(?:\w+:)?c>"
)
PLACE = re.compile(rb"\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"']")

MOST_EMPTY = 1_000_000
"""A sheet may have so many cells that are not in the file: a cell far from the others would fill
the memory with empty ones."""

Place = tuple[int, int]


def read(content: bytes, source: SourceSection) -> Decoded:
    """Read one sheet: the first row has the names, and every other row is a record."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_sums(archive, len(content))
            workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
            name = _chosen(workbook, source.sheet)
            xml = archive.read(_file_of(archive, name))
            _refuse_unknown_values(xml)
            empty = _empty_texts(xml, archive)
        return _decoded(_rows(workbook.get_sheet_by_name(name), empty))
    except (DataError, KeyboardInterrupt, SystemExit):
        raise
    # calamine may panic, which is no Exception
    except BaseException:
        raise unreadable(FILE) from None


def _check_sums(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse a damaged archive, and one that grows too much; calamine checks neither."""
    check_growth(sum(member.file_size for member in archive.infolist()), size)
    if archive.testzip() is not None:
        raise unreadable(FILE)


def _chosen(workbook: CalamineWorkbook, wanted: str | None) -> str:
    sheets = workbook.sheets_metadata
    names = [sheet.name for sheet in sheets if sheet.typ == SheetTypeEnum.WorkSheet]
    if wanted is None and len(names) != 1:
        raise DataError(
            "the source must have one sheet, or source.sheet must name the sheet to read; it has "
            f"{len(names)} sheets"
        )
    if wanted is not None and wanted not in names:
        raise DataError(
            f"source.sheet must name a sheet of the source; none of {len(names)} has that name"
        )
    return names[0] if wanted is None else wanted


def _file_of(archive: zipfile.ZipFile, sheet: str) -> str:
    """Find the file of a sheet in the archive."""
    sheets = ElementTree.fromstring(archive.read(WORKBOOK)).iterfind(".//{*}sheets/{*}sheet")
    (element,) = (each for each in sheets if each.get("name") == sheet)
    (key,) = (value for name, value in element.items() if name.endswith("}id"))
    relations = ElementTree.fromstring(archive.read(RELATIONS))
    (target,) = (each.attrib["Target"] for each in relations if each.get("Id") == key)
    return posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")


def _refuse_unknown_values(xml: bytes) -> None:
    """Refuse cells whose value calamine does not show, and sheets that are nearly empty."""
    errors = sum(1 for _ in re.finditer(ERROR, xml))
    if errors:
        raise DataError(
            f"the sheet must have no cells with errors such as #N/A or #DIV/0!; found {errors}: "
            "correct the formulas, or clear the cells"
        )
    formulas = sum(1 for _ in re.finditer(NO_RESULT, xml))
    if formulas:
        raise DataError(
            "formulas must be stored with their results; found without one: "
            f"{formulas}: open the file in Excel and save it"
        )
    columns = rows = cells = 0
    for cells, match in enumerate(PLACE.finditer(xml), 1):  # noqa: B007
        row, column = _place(match[1], match[2])
        rows, columns = max(rows, row + 1), max(columns, column + 1)
    if rows * columns > cells + MOST_EMPTY:
        raise DataError(
            f"the sheet must be one table; it has {rows} rows and {columns} columns, and most of "
            "its cells are empty: delete what lies beside the table or below it"
        )


def _empty_texts(xml: bytes, archive: zipfile.ZipFile) -> set[Place]:
    """Find the cells that hold a text without characters."""
    places = [match[1] for match in re.finditer(EMPTY_TEXT, xml)]
    if TEXTS in archive.namelist():
        root = ElementTree.fromstring(archive.read(TEXTS))
        texts = ("".join(text.text or "" for text in item.iterfind(".//{*}t")) for item in root)
        numbers = [str(number).encode() for number, text in enumerate(texts) if not text]
        if numbers:
            shared = CELL + rb"([^>]*)><(?:\w+:)?v>(?:" + rb"|".join(numbers) + rb")</(?:\w+:)?v>"
            found = (match[1] for match in re.finditer(shared, xml))
            places += [each for each in found if re.search(rb"\bt=[\"']s[\"']", each)]
    matches = (PLACE.search(each) for each in places)
    return {_place(match[1], match[2]) for match in matches if match}


@functools.cache
def _column_of(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number - 1


def _place(letters: bytes, digits: bytes) -> Place:
    return int(digits) - 1, _column_of(letters)


def _rows(sheet: CalamineSheet, empty: set[Place]) -> list[list[Any]]:
    """Read the rows of a sheet; None for empty cells, and no empty rows at the end."""
    if sheet.merged_cell_ranges:
        raise DataError(
            "the sheet must be one table without merged cells; found "
            f"{len(sheet.merged_cell_ranges)}: split them"
        )
    rows: list[list[Any]] = sheet.to_python(skip_empty_area=False)
    for i, row in enumerate(rows):
        row[:] = [
            None if cell == "" and (i, j) not in empty else cell for j, cell in enumerate(row)
        ]
    while rows and _is_empty(rows[-1]):
        rows.pop()
    blank = sum(map(_is_empty, rows))
    if blank or len(rows) < 2:
        found = f"empty rows: {blank}" if blank else "it has no rows below the names"
        raise DataError(
            "the sheet must be one table, with names in row 1 and records below, and no empty rows "
            f"between them; {found}: correct the sheet, or choose another by source.sheet"
        )
    return rows


def _is_empty(row: list[Any]) -> bool:
    return all(cell is None for cell in row)


def _decoded(rows: list[list[Any]]) -> Decoded:
    header, *records = rows
    columns = [list(column) for column in zip(*records, strict=True)]
    used = [j for j, name in enumerate(header) if name is not None or not _is_empty(columns[j])]
    faults = sum(not _is_name(header[j]) for j in used)
    if faults:
        raise DataError(
            "row 1 of the sheet must name every column, by text or a whole number; "
            f"columns without such a name: {faults} of {len(used)}: name them, or clear them"
        )
    names = [_text(header[j]) for j in used]
    arrays = [_array(columns[j]) for j in used]
    written = tuple(name for name, (_, mixed) in zip(names, arrays, strict=True) if mixed)
    return Decoded(pa.table([array for array, _ in arrays], names=names), written=written)


def _is_name(cell: Any) -> bool:
    if isinstance(cell, str):
        return bool(cell.strip())
    return isinstance(cell, float | int) and not isinstance(cell, bool) and cell == int(cell)


def _array(cells: list[Any]) -> tuple[pa.Array, bool]:
    """Convert a column; tell whether its cells have several types and are written as text."""
    types = {type(cell) for cell in cells} - {type(None)}
    if types <= {float, int}:
        known = np.array([cell is not None for cell in cells])
        numbers = np.array([cell or 0.0 for cell in cells], dtype=np.float64)
        return compact(numbers, known), False
    for kind, arrow in ((str, pa.string()), (bool, pa.bool_()), (date, pa.date32())):
        if types == {kind}:
            return pa.array(cells, arrow), False
    if types <= {date, datetime}:
        return pa.array(map(_time, cells), pa.timestamp("ms"), size=len(cells)), False
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string()), True


def _time(cell: date | datetime | None) -> datetime | None:
    if cell is None or isinstance(cell, datetime):
        return cell
    # calamine gives a time at midnight as a date
    return datetime.combine(cell, time())


def _text(cell: Any) -> str:
    """Write a cell as a CSV file would have it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell == int(cell):
        return str(int(cell))
    return str(cell)


READER = Reader(FILE, is_text=False, read=read, starts=rb"PK\x03\x04")
