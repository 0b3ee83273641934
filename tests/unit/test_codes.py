"""Codes in files: those that mean missing, and those that have labels."""

from datetime import date
from pathlib import Path
from typing import Any

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
from tasks.sources.codes import replace_codes
from tasks.sources.reader import Decoded
from tasks.sources.table import read_table
from tests.conftest import Request

CSV = Path("table.csv")
SAV = Path("table.sav")


def read_csv(text: str, **source: Any) -> dict[str, list[Any]]:
    section = SourceSection.model_validate({"path": CSV, **source})
    columns: dict[str, list[Any]] = read_table(text.encode(), section).table.to_pydict()
    return columns


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
