"""What cells of files mean: codes, labels, dates, empty cells, compressed bytes."""

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.errors import DataError
from expectations.data_warnings import source_warnings
from expectations.manifest import InputFacts
from expectations.request.sections.source import SourceSection
from flows.cli import main
from tasks.ingest import ingest
from tasks.sources import packing, readstat
from tasks.sources.codes import replace_codes
from tasks.sources.fingerprint import fingerprint
from tasks.sources.reader import Decoded
from tasks.sources.table import read_table
from tests.conftest import ROWS, Request
from tests.files import as_xlsx, saved

CSV = Path("table.csv")
SAV = Path("table.sav")
XLSX = SourceSection(path=Path("table.xlsx"))


def read_csv(text: str, **source: Any) -> dict[str, list[Any]]:
    section = SourceSection.model_validate({"path": CSV, **source})
    columns: dict[str, list[Any]] = read_table(text.encode(), section).table.to_pydict()
    return columns


# missing codes


@pytest.mark.parametrize(
    ("codes", "cells"),
    [
        ([-9], [1, 2.5, None, None, "x", "007"]),
        (["-9"], [1, 2.5, None, "-9.0", "x", "007"]),
        ([-9, "x"], [1, 2.5, None, None, None, "007"]),
        ([7], [1, 2.5, "-9", "-9.0", "x", None]),
        (["7"], [1, 2.5, "-9", "-9.0", "x", "007"]),
    ],
)
def test_a_number_is_found_however_it_is_written_and_text_exactly(
    codes: list[Any], cells: list[Any]
) -> None:
    found = read_csv("a\n1\n2.5\n-9\n-9.0\nx\n007\n", missing_codes={"a": codes})
    assert found == {"a": [None if cell is None else str(cell) for cell in cells]}


def test_a_column_is_read_as_numbers_once_its_codes_are_gone() -> None:
    assert read_csv("a,b\n1,x\nNA,y\n", missing_codes={"a": ["NA"]}) == {
        "a": [1, None],
        "b": ["x", "y"],
    }


def test_a_number_is_found_with_a_decimal_comma() -> None:
    source = {"delimiter": ";", "decimal": ",", "missing_codes": {"a": [-9.5]}}
    assert read_csv("a\n1,5\n-9,50\n", **source) == {"a": [1.5, None]}


@pytest.mark.parametrize(
    ("cells", "codes", "expected"),
    [
        ([1, -9], [-9.0], [1, None]),
        ([1, -9], ["-9"], [1, None]),
        ([1, -9], ["-09"], [1, -9]),
        ([2**53, 2**53 + 1], [2**53 + 1], [2**53, None]),
        ([1, 2], [2**70, 1.5], [1, 2]),
        ([1.5, -9.0], [-9], [1.5, None]),
        ([date(1900, 1, 1), None], ["1900-01-01"], [None, None]),
        ([date(1900, 1, 1), None], [1900], [date(1900, 1, 1), None]),
        ([True, False], ["true"], [None, False]),
    ],
)
def test_codes_are_found_in_columns_of_any_type(
    cells: list[Any], codes: list[Any], expected: list[Any]
) -> None:
    source = SourceSection.model_validate({"path": CSV, "missing_codes": {"a": codes}})
    read = replace_codes(Decoded(pa.table({"a": cells})), source)
    assert read.table["a"].to_pylist() == expected


def test_codes_are_found_in_parquet_columns_of_any_encoding(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    columns = {
        "a": pa.array(["x", "-9"]).dictionary_encode(),
        "b": pa.array(["x", "-9"], pa.large_string()),
        "c": pa.array([1, 2**64 - 1], pa.uint64()),
        "d": pa.array([None, None], pa.null()),
    }
    pyarrow.parquet.write_table(pa.table(columns), path)
    codes = {"a": [-9], "b": ["x"], "c": [1, -9], "d": [-9, "x"]}
    source = SourceSection.model_validate({"path": path, "missing_codes": codes})
    assert read_table(path.read_bytes(), source).table.to_pydict() == {
        "a": ["x", None],
        "b": [None, "-9"],
        "c": [None, 2**64 - 1],
        "d": [None, None],
    }


def test_a_column_of_lists_is_refused_before_codes_are_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [[1], [2]]}), path)
    source = SourceSection.model_validate({"path": path, "missing_codes": {"a": ["x"]}})
    with pytest.raises(DataError, match="these hold something else: 1 that the spec does not name"):
        read_table(path.read_bytes(), source)


def test_missing_codes_are_counted_in_the_record_and_warned_of_if_unused(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    request_of.write(source={"missing_codes": {"score": [7, -9], "zone": ["?"]}})
    spec = request_of.load(source={"missing_codes": {"score": [7, -9], "zone": ["?"]}})
    table, facts = ingest.fn(spec)
    assert table["score"].null_count == 2
    assert facts.missing_codes == {"score": {"7": 1, "-9": 0}, "zone": {"?": 0}}
    assert facts.missing_by_code == {"score": 1}
    assert source_warnings(facts) == (
        "source.missing_codes.zone: ? occurs nowhere in the source; is it written as in the "
        "source?",
        "source.missing_codes.score: -9 occurs nowhere in the source; is it written as in the "
        "source?",
    )
    assert main(["check", str(request_of.path)]) == 0
    shown = capsys.readouterr()
    assert "warning: source.missing_codes.score: -9 occurs nowhere" in shown.err
    assert "missing  1 cells of 'score', by a code" in shown.out


def test_codes_of_the_file_and_of_the_spec_are_counted_together() -> None:
    facts = InputFacts(
        path="x",
        sha256="",
        bytes=1,
        rows=1,
        columns=1,
        declared_missing={"a": 2, "b": 1},
        missing_codes={"a": {"-9": 3}},
    )
    assert facts.missing_by_code == {"a": 5, "b": 1}
    assert source_warnings(facts) == ()


# value labels

LABELS = {1.0: "yes", 2.0: "no", 9.0: "no answer"}


def labelled(cells: list[Any], labels: dict[Any, str] = LABELS, **source: Any) -> Any:
    section = SourceSection.model_validate({"path": SAV, **source})
    decoded = Decoded(pa.table({"a": cells}), labels={"a": labels})
    return replace_codes(decoded, section)


def test_a_column_becomes_labels_if_all_its_codes_have_one() -> None:
    assert labelled([1, 2, None]).table["a"].to_pylist() == ["yes", "no", None]
    assert labelled(["m", "f"], {"m": "male", "f": "female"}).table["a"].to_pylist() == [
        "male",
        "female",
    ]


def test_a_column_stays_codes_if_none_of_them_has_a_label() -> None:
    read = labelled([5, 6, None])
    assert read.table["a"].to_pylist() == [5, 6, None]
    assert not read.half_labelled


@pytest.mark.parametrize("code", [9, "no answer", "9"])
def test_a_labelled_code_may_mean_missing_by_its_number_or_its_label(code: Any) -> None:
    read = labelled([100, 200, 9], missing_codes={"a": [code]})
    assert read.table["a"].to_pylist() == [100, 200, None]
    assert read.missing_codes == {"a": {str(code): 1}}


def test_a_column_named_in_codes_keeps_them() -> None:
    read = labelled([1, 2, 100], codes=["a"])
    assert read.table["a"].to_pylist() == [1, 2, 100]
    assert not read.half_labelled


def test_half_labelled_columns_and_labels_of_two_codes_are_counted() -> None:
    assert labelled([1, 2, 100, 101]).half_labelled == {"a": 2}
    assert labelled([1, 2, 3], {1: "yes", 2: "yes", 3: "no"}).alike == {"a": 2}
    assert labelled([1, 3], {1: "yes", 2: "yes", 3: "no"}).alike == {}


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({1: "SECRET"}, "in source.codes to read it without labels; 2 codes have no label, and"),
        ({1: "SECRET", 2: "SECRET"}, "to read it without labels; 4 codes share a label: 'zone'"),
    ],
)
def test_such_columns_are_refused_without_a_label(
    request_of: Request, labels: dict[int, str], words: str
) -> None:
    import pyreadstat

    frame = pd.DataFrame({"id": ["a", "b"], "zone": [1.0, 2.0], "town": [1.0, 2.0]})
    path = request_of.folder / "table.sav"
    pyreadstat.write_sav(frame, path, variable_value_labels={"zone": labels, "town": labels})
    spec = request_of.load(source={"path": "table.sav"})
    with pytest.raises(DataError, match=r": 'zone', 1 that the spec does not name$") as raised:
        read_table(path.read_bytes(), spec.source, spec.columns)
    assert words in str(raised.value)
    assert "SECRET" not in str(raised.value)
    assert "town" not in str(raised.value)


# files of statistical software, decoded in this process


def sample(folder: Path, write: Callable[..., None], frame: pd.DataFrame, **more: Any) -> bytes:
    path = folder / "sample"
    write(frame, path, **more)
    return path.read_bytes()


def test_ranges_that_spss_declares_are_missing_and_counted(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"n": [1.0, 97.0, 98.0, 99.0, None], "s": ["x", "REF", "", "y", "REF"]})
    ranges = {"n": [{"lo": 97, "hi": 98}, 99], "s": ["REF"]}
    content = sample(tmp_path, pyreadstat.write_sav, frame, missing_ranges=ranges)
    table, _, missing = readstat.decode_spss(content, None)
    assert table.to_pydict() == {
        "n": [1, None, None, None, None],
        "s": ["x", None, None, "y", None],
    }
    assert missing == {"n": 3, "s": 2}


def test_extended_missing_values_of_stata_are_missing(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"a": [1.0, "a", "z"], "b": [0.5, 1.5, None]})
    labels = {"a": {1: "yes", "a": "refused", "z": "unknown"}}
    content = sample(
        tmp_path,
        pyreadstat.write_dta,
        frame,
        variable_value_labels=labels,
        missing_user_values={"a": ["a", "z"]},
    )
    table, found, missing = readstat.decode_stata(content, None)
    assert table.to_pydict() == {"a": [1, None, None], "b": [0.5, 1.5, None]}
    assert (found, missing) == ({"a": {1: "yes"}}, {})


@pytest.mark.parametrize("version", [114, 117, 118, 119])
def test_stata_files_of_pandas_give_their_labels_and_short_numbers(
    tmp_path: Path, version: int
) -> None:
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(["m", "f", "m"]),
            "slim": np.array([0.1, 2.5, np.nan], dtype=np.float32),
            "small": np.array([1, 2, 3], dtype=np.int8),
            "born": pd.to_datetime(["2020-02-29", "1950-01-01", None]),
        }
    )
    path = tmp_path / "pandas.dta"
    frame.to_stata(path, write_index=False, version=version, convert_dates={"born": "td"})
    table, labels, _ = readstat.decode_stata(path.read_bytes(), None)
    assert table.to_pydict() == {
        "sex": [1, 0, 1],
        "slim": [0.1, 2.5, None],
        "small": [1, 2, 3],
        "born": [date(2020, 2, 29), date(1950, 1, 1), None],
    }
    assert labels == {"sex": {0: "f", 1: "m"}}


@pytest.mark.parametrize(
    ("clock", "style", "numbers", "expected"),
    [
        (readstat.STATA, "%td", [0.0, 21915.0, np.nan], [date(1960, 1, 1), date(2020, 1, 1), None]),
        (readstat.STATA, "%-tdD_m_Y", [21915.0], [date(2020, 1, 1)]),
        (readstat.STATA, "%tc", [1893492000500.0], [datetime(2020, 1, 1, 10, 0, 0, 500_000)]),
        (readstat.STATA, "%tm", [-1.0, 720.0], [date(1959, 12, 1), date(2020, 1, 1)]),
        (readstat.STATA, "%tq", [241.0], [date(2020, 4, 1)]),
        (readstat.STATA, "%ty", [2020.0], None),
        (readstat.STATA, "%9.0g", [2020.0], None),
        (readstat.SPSS, "DATE11", [13797216000.0], [date(2020, 1, 1)]),
        (readstat.SPSS, "ADATE10", [13797252000.0], [datetime(2020, 1, 1, 10)]),
        (readstat.SPSS, "TIME8", [36000.0], None),
        (readstat.SAS, "YYMMDDN8.", [21915.0], [date(2020, 1, 1)]),
        (readstat.SAS, "E8601DA10", [21915.0], [date(2020, 1, 1)]),
        (readstat.SAS, "DATETIME20", [1893492000.0], [datetime(2020, 1, 1, 10)]),
        (readstat.SAS, "DATEGROUP", [1.0], None),
        (readstat.SAS, None, [1.0], None),
    ],
)
def test_dates_are_counted_as_each_kind_of_file_counts_them(
    clock: readstat.Clock, style: str | None, numbers: list[float], expected: list[Any] | None
) -> None:
    read = clock.read(np.array(numbers), style)
    assert (None if read is None else read.to_pylist()) == expected


def test_a_date_beyond_the_calendar_is_refused(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"id": [1e300, 5.0]})
    path = tmp_path / "far.dta"
    pyreadstat.write_dta(frame, path, variable_format={"id": "%td"})
    with pytest.raises(DataError, match="must lie in the years 1 to 9999"):
        read_table(path.read_bytes(), SourceSection(path=path))


# Excel


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


# compressed files


def packed(compression: str, content: bytes) -> bytes:
    if compression == "gzip":
        return gzip.compress(content)
    compressed: bytes = pa.compress(content, compression, asbytes=True)
    return compressed


@pytest.mark.parametrize(("ending", "compression"), [(".gz", "gzip"), (".zst", "zstd")])
def test_a_compressed_file_has_the_fingerprint_of_its_content(
    request_of: Request, ending: str, compression: str
) -> None:
    path = request_of.folder / f"table.csv{ending}"
    path.write_bytes(packed(compression, ROWS.encode()))
    plain, facts = (
        ingest.fn(request_of.load(source={"path": name}))[1] for name in ("table.csv", path.name)
    )
    assert plain.content == facts.content
    assert plain.sha256 != facts.sha256
    assert facts.bytes == path.stat().st_size


def test_a_file_that_is_not_compressed_as_its_name_says_is_refused() -> None:
    source = SourceSection(path=Path("table.csv.gz"))
    for content, kind in (
        (ROWS.encode(), "a text file, such as CSV"),
        (packed("zstd", ROWS.encode()), "compressed with zstd"),
    ):
        with pytest.raises(DataError, match=f"with gzip, as its name says; it is {kind}: correct"):
            read_table(content, source)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_compressed_file_that_is_cut_or_grows_too_much_is_refused(
    compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = packed(compression, os.urandom(4000))
    for cut in (5, 100, len(content) - 1):
        with pytest.raises(DataError, match="cannot be unpacked: it may be damaged or incomplete"):
            packing.unpacked(content[:cut], compression)
    monkeypatch.setattr(packing, "ALWAYS_ALLOWED", 100_000)
    monkeypatch.setattr(packing, "CHUNK", 10_000)
    bomb = packed(compression, bytes(10_000_000))
    with pytest.raises(DataError, match="must not grow to more than 200 times its size"):
        packing.unpacked(bomb, compression)


# fingerprints


def test_a_fingerprint_is_of_names_types_and_cells_alone() -> None:
    table = pa.table({"a": [1, None, 3], "b": ["x", None, ""], "c": [True, None, False]})
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    behind = pa.Array.from_buffers(
        pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.array([1, 2, 3]).buffers()[1]]
    )
    same = [
        parts,
        table.replace_schema_metadata({"x": "y"}),
        table.set_column(0, "a", behind),
        pa.concat_tables([table.slice(1), table]).slice(2),
    ]
    assert {fingerprint(each) for each in same} == {fingerprint(table)}
    other = [
        table.slice(0, 2),
        table.rename_columns(["a", "b", "d"]),
        table.set_column(0, "a", pa.array([1.0, None, 3.0])),
        table.set_column(0, "a", pa.array([1, 0, 3])),
        table.set_column(1, "b", pa.array(["x", "", None])),
        table.slice(0, 0),
    ]
    assert len({fingerprint(each) for each in [table, *other]}) == 7


def test_a_fingerprint_does_not_change_from_version_to_version() -> None:
    table = pa.table({"a": [1, None], "b": ["x", None], "c": [date(2026, 1, 1), None]})
    assert fingerprint(table) == "55ef217e21fe79f373477b789191b668c1094b3752ca68cf82296f066694db4d"


@pytest.mark.parametrize(("encoding", "town"), [(None, "CÃ¡diz"), ("utf-8", "Cádiz")])
def test_an_encoding_in_the_spec_replaces_that_of_the_file(
    encoding: str | None, town: str, tmp_path: Path
) -> None:
    path = tmp_path / "towns.dta"
    # a file of this version states no encoding, and holds bytes of UTF-8 all the same
    misread = "Cádiz".encode().decode("latin-1")
    pd.DataFrame({"town": [misread, "Soria"]}).to_stata(path, version=114, write_index=False)
    stated = {} if encoding is None else {"encoding": encoding}
    section = SourceSection.model_validate({"path": path, **stated})
    found = read_table(path.read_bytes(), section).table
    assert found["town"].to_pylist() == [town, "Soria"]
