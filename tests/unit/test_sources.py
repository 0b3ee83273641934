"""Kinds of source: one reader each, on one list, with everything else in common."""

import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from algorithms.errors import DataError, SpecError
from expectations.request.sections.source import ENDINGS, SOURCE_KINDS, SourceSection
from tasks.sources import READERS
from tasks.sources.table import read_table
from tests.conftest import Request
from tests.copies import Copy
from tests.files import saved

ROOT = Path(__file__).parents[2]
COMMON = {
    "__init__", "apart", "codes", "fingerprint", "opening", "packing", "reader", "readstat",
    "table",
}  # fmt: skip


def test_every_file_of_the_folder_is_a_reader_on_the_list() -> None:
    modules = {path.stem for path in (ROOT / "tasks" / "sources").glob("*.py")}
    assert modules - COMMON == set(SOURCE_KINDS) == set(READERS)


@pytest.mark.parametrize(("ending", "kind"), ENDINGS.items())
def test_the_ending_or_the_format_tells_the_kind(ending: str, kind: str) -> None:
    assert SourceSection(path=Path(f"table{ending.upper()}")).kind == kind
    assert SourceSection(path=Path(f"table{ending}.gz")).kind == kind
    assert SourceSection.model_validate({"path": "table.txt", "format": kind}).kind == kind


def test_the_last_ending_tells_how_a_file_is_unpacked() -> None:
    endings = {".csv": None, ".csv.gz": "gzip", ".CSV.ZST": "zstd", ".gz.csv": None}
    found = {ending: SourceSection(path=Path(f"t{ending}")).compression for ending in endings}
    assert found == endings


def test_the_schema_offers_every_kind() -> None:
    field = SourceSection.model_json_schema()["properties"]["format"]
    assert field["enum"] == list(SOURCE_KINDS)
    assert all(ending in field["description"] for ending in ENDINGS)


def test_another_ending_is_refused_with_the_ones_that_are_known(request_of: Request) -> None:
    with pytest.raises(SpecError, match=r"must end in \.csv, \.parquet, \.dta, .* or format must"):
        request_of.load(source={"path": "table.txt.gz"})


@pytest.mark.parametrize("ending", [".xls", ".xlsb", ".ods"])
def test_another_spreadsheet_is_to_be_saved_as_one_that_is_read(
    request_of: Request, ending: str
) -> None:
    with pytest.raises(SpecError, match=rf"ends in '\{ending}': save the sheet as \.xlsx"):
        request_of.load(source={"path": f"table{ending}"})


@pytest.mark.parametrize("kind", SOURCE_KINDS)
def test_no_kind_quotes_the_bytes_that_it_cannot_read(request_of: Request, kind: str) -> None:
    spec = request_of.load(source={"format": kind})
    for content in (b"SECRET,\xff\xfe\0\nSECRET", b"SECRET,a\nSECRET,b,c\n", b"PAR1\xffSECRETPAR1"):
        with pytest.raises(DataError) as raised:
            read_table(content, spec.source, spec.columns)
        assert f"the source must be {READERS[kind].file}" in str(raised.value)
        assert "SECRET" not in str(raised.value)


def written(kind: str, columns: list[tuple[str, list[Any]]]) -> bytes:
    """Write a table with names that may repeat."""
    names, cells = zip(*columns, strict=True)
    if kind == "excel":
        book = openpyxl.Workbook()
        for row in [names, *zip(*cells, strict=True)]:
            book.active.append(row)
        return saved(book)
    if kind == "csv":
        rows = [names, *zip(*cells, strict=True)]
        return "\n".join(",".join(map(str, row)) for row in rows).encode()
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table([pa.array(c) for c in cells], names=list(names)), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", ["csv", "parquet", "excel"])
def test_a_repeated_column_is_refused_whatever_the_kind(request_of: Request, kind: str) -> None:
    spec = request_of.load(source={"format": kind})
    staff = ("staff", [1, 2])
    with pytest.raises(DataError, match="these are repeated: 'staff', 1 that the spec does not"):
        read_table(
            written(kind, [staff, staff, ("SECRET", [3, 4]), ("SECRET", [5, 6])]),
            spec.source,
            spec.columns,
        )


@pytest.mark.parametrize("kind", SOURCE_KINDS)
def test_a_compressed_file_is_called_what_it_is_whatever_the_kind(
    request_of: Request, kind: str
) -> None:
    with pytest.raises(DataError, match="it is compressed with gzip: unpack or convert it"):
        read_table(b"\x1f\x8b\x08\xff\0", request_of.load(source={"format": kind}).source)


def test_a_text_file_may_be_cut_anywhere_when_its_head_is_looked_at(request_of: Request) -> None:
    filled = "BZh,zone,staff,sales,score\n" + "a,ü,1,1,1\n" * 20_000
    for shift in range(11):
        content = ("\n" * shift + filled).encode()
        spec = request_of.load(columns={"identifiers": ["BZh"]})
        assert read_table(content, spec.source, spec.columns).table.num_rows == 20_000


THROW_AWAY = '''"""Reads Arrow files."""

import pyarrow as pa

from algorithms.errors import DataError
from tasks.sources.reader import Decoded, Reader


def read(content, _source):
    try:
        return Decoded(pa.ipc.open_file(content).read_all())
    except pa.ArrowException:
        raise DataError("the source must be an Arrow file, but cannot be read as one") from None


READER = Reader("an Arrow file", is_text=False, read=read)
'''
LISTED = '    "parquet",\n'
TRY_IT = """
import json, sys
from pathlib import Path
from algorithms.errors import ReleaseError
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import load
from tasks.ingest import ingest

spec = load(Path(sys.argv[1]))
table, facts = ingest.fn(spec)
spec.source.path.write_text("a,b")
try:
    ingest.fn(spec)
except ReleaseError as error:
    fault = str(error)
offered = ReleaseSpec.model_json_schema()["$defs"]["SourceSection"]["properties"]["format"]["enum"]
json.dump([facts.rows, str(table["score"].type), fault, offered], sys.stdout)
"""


def test_a_new_kind_is_one_file_and_one_line_on_the_list(
    request_of: Request, tmp_path: Path
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.add("tasks/sources/arrow.py", THROW_AWAY)
    the_list = "expectations/request/sections/source.py"
    copy.insert(the_list, LISTED, '    "arrow",\n')
    assert copy.new_files == {"tasks/sources/arrow.py"}
    assert copy.changes == {the_list: ['+     "arrow",']}

    table = pa.table({"id": ["a"], "zone": ["x"], "staff": [1], "sales": [1.5], "score": [None]})
    with pa.ipc.new_file(str(request_of.folder / "table.arrow"), table.schema) as writer:
        writer.write_table(table)
    spec = request_of.write(source={"path": "table.arrow"})
    assert json.loads(copy.run(TRY_IT, str(spec))) == [
        1,
        "string",
        "the source must be an Arrow file; it is a text file, such as CSV: unpack or convert it, "
        "or correct source.path and source.format",
        ["csv", "parquet", "arrow", "stata", "spss", "sas", "excel"],
    ]
