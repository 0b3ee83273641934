"""What cells of Excel sheets mean, and sheets that are no table."""

import io
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from algorithms.errors import DataError
from expectations.request.sections.source import SourceSection
from tasks.sources.table import read_table
from tests.files import as_xlsx, saved

XLSX = SourceSection(path=Path("table.xlsx"))


def sheet(*rows: list[Any], change: Callable[[Any], None] = lambda _: None) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book)
    return saved(book)


def test_cells_keep_their_types() -> None:
    content = sheet(
        ["code", "n", "x", "day", "time", "mixed", 2020, "truth"],
        ["007", 1, 1.5, date(2020, 1, 1), datetime(2020, 1, 1, 10), "a", 1, True],
        ["8", 2, 2, date(2021, 1, 1), datetime(2021, 1, 1), 7, None, False],
    )
    assert read_table(content, XLSX).table.to_pydict() == {
        "code": ["007", "8"],
        "n": [1, 2],
        "x": [1.5, 2.0],
        "day": [date(2020, 1, 1), date(2021, 1, 1)],
        "time": [datetime(2020, 1, 1, 10), datetime(2021, 1, 1)],
        "mixed": ["a", "7"],
        "2020": [1, None],
        "truth": [True, False],
    }


SHEET, RELATIONS = "xl/worksheets/sheet1.xml", "xl/_rels/workbook.xml.rels"
HERE = b'<c r="B3" t="inlineStr"><is><t>gone</t></is></c>'
TEXTS = b"""<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="2"
uniqueCount="2"><si><t>x</t></si><si><r><t></t></r></si></sst>"""
RELATION = (
    b'<Relationship Id="rId99" Target="sharedStrings.xml" Type="http://schemas.openxmlformats.org/'
    b'officeDocument/2006/relationships/sharedStrings"/></Relationships>'
)


def with_cell(content: bytes, cell: bytes) -> bytes:
    """Change the XML of a cell, and let texts be shared."""
    changes = {SHEET: (HERE, cell), RELATIONS: (b"</Relationships>", RELATION)}
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(stream, "w") as after:
        for member in before.namelist():
            after.writestr(member, before.read(member).replace(*changes.get(member, (b"\0", b""))))
        after.writestr("xl/sharedStrings.xml", TEXTS)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (HERE, "gone"),
        (b'<c r="B3" t="s"><v>0</v></c>', "x"),
        (b'<c r="B3" t="s"><v>1</v></c>', ""),
        (b'<c r="B3" t="str"><f>T(A9)</f><v></v></c>', ""),
        (b'<c r="B3" t="inlineStr"><is><t/></is></c>', ""),
        (b'<c r="B3"/>', None),
    ],
)
def test_an_empty_cell_is_missing_and_an_empty_text_is_not(
    cell: bytes, expected: str | None
) -> None:
    content = sheet(["a", "b"], ["x", "y"], ["x", "gone"])
    assert read_table(with_cell(content, cell), XLSX).table["b"].to_pylist() == ["y", expected]


def far(book: Any) -> None:
    book.active["XFD1048576"] = 1


FAULTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "error": (
        lambda book: book.active.append(["SECRET", "#N/A"]),
        "no cells with errors such as #N/A or #DIV/0!; found 1: correct the formulas",
    ),
    "formula": (
        lambda book: book.active.append(["SECRET", "=1+1"]),
        "formulas must be stored with their results; found without one: 1",
    ),
    "merged": (lambda book: book.active.merge_cells("A1:B1"), "without merged cells; found 1"),
    "sheets": (lambda book: book.create_sheet("SECRET"), "source.sheet must name the sheet"),
    "far": (far, "the sheet must be one table; it has 1048576 rows and 16384 columns"),
    "no name": (
        lambda book: book.active.append(["SECRET", 1, "SECRET"]),
        "columns without such a name: 1 of 3",
    ),
    "gap": (lambda book: book.active.cell(6, 1, "SECRET"), "no empty rows between them; empty"),
    "no rows": (lambda book: book.active.delete_rows(2, 9), "it has no rows below the names"),
    "odd name": (lambda book: book.active.cell(1, 1, date(2020, 1, 1)), "such a name: 1 of 2"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_sheet_that_is_no_table_is_refused_in_one_sentence(fault: str) -> None:
    change, words = FAULTS[fault]
    with pytest.raises(DataError) as raised:
        read_table(sheet(["a", "b"], ["SECRET", 1], ["SECRET", 2], change=change), XLSX)
    assert words in str(raised.value)
    assert "SECRET" not in str(raised.value)


def test_a_sheet_is_chosen_by_its_name() -> None:
    def second(book: Any) -> None:
        book.create_sheet("more").append(["b"])
        book["more"].append([5])

    content = sheet(["a"], [1], change=second)
    chosen = SourceSection(path=Path("t.xlsx"), sheet="more")
    assert read_table(content, chosen).table.to_pydict() == {"b": [5]}
    with pytest.raises(DataError, match="must name a sheet of the source; none of 2 has that name"):
        read_table(content, SourceSection(path=Path("t.xlsx"), sheet="SECRET"))


def test_columns_and_rows_that_only_have_a_format_are_left_out() -> None:
    def formats(book: Any) -> None:
        for place in ("D1", "D9", "A9"):
            book.active[place].font = openpyxl.styles.Font(bold=True)

    content = sheet(["a"], [1], change=formats)
    assert read_table(content, XLSX).table.to_pydict() == {"a": [1]}


def test_a_workbook_with_a_wrong_sum_is_damaged() -> None:
    content = as_xlsx()
    place = content.index(b"xl/worksheets/sheet1.xml") + 60
    changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    with pytest.raises(DataError, match=r"must be an Excel file \(.xlsx\), but cannot be read"):
        read_table(changed, XLSX)
