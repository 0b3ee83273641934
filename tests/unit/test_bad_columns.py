"""Each fault of roles, kinds, levels, codes and strata gets one sentence; nothing is written."""

import csv
import io
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from algorithms.errors import ReleaseError
from expectations.data_warnings import table_warnings
from flows.cli import main
from tasks.ingest import ingest
from tasks.publish import publish
from tasks.validate import validate
from tests.conftest import Request, faults_in
from tests.publishing import approved

Row = dict[str, str]

SEXES, SCHOOLS = ("female", "male"), ("none-at-all", "primary", "secondary")
CODES = ("I21.4", "I21.1", "I25.1", "J45.0")
TREE = "I21.4,I21,heart\nI21.1,I21,heart\nI25.1,I25,heart\nJ45.0,J45,lungs\n"


def patients() -> list[Row]:
    """Make twelve records in two regions."""
    return [
        {
            "patient": f"patient-{i:03}",
            "household": f"house-{i:03}",
            "region": "Northumbria" if i % 2 else "Southampton",
            "sex": SEXES[i % 2],
            "school": SCHOOLS[i % 3],
            "icd": CODES[i % 4],
            "admitted": f"2026-03-{i + 10}",
            "bmi": f"{21.125 + i}",
            "weight": f"{1000.5 + i}",
            "outcome": f"outcome-{i % 5}",
        }
        for i in range(12)
    ]


COLUMNS: dict[str, Any] = {
    "identifiers": ["patient"],
    "unit": "household",
    "strata": ["region"],
    "quasi_identifiers": ["sex", "school", "icd", "admitted", "bmi"],
    "weight": "weight",
    "confidential": ["outcome"],
    "integers": [],
    "categories": ["sex"],
    "ordered": {"school": [*SCHOOLS]},
    "hierarchies": {"icd": {"file": "icd.csv"}},
    "dates": {"admitted": "day"},
}


@pytest.fixture
def hospital(tmp_path: Path) -> Request:
    """Put a table of every kind of column on disk, with a spec that publishes it."""
    request_of = Request(tmp_path)
    request_of.content["columns"] = COLUMNS
    request_of.content["microaggregation"] = {"method": "mdav", "k": 3}
    write(request_of, patients())
    (tmp_path / "icd.csv").write_text(TREE, encoding="utf-8")
    return request_of


def write(request_of: Request, rows: list[Row]) -> None:
    with request_of.source.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)


def cells(request_of: Request) -> set[str]:
    """List the cells of the table that must not be shown: all that stand in no spec.

    The file of a hierarchy is a part of the spec, and the manifest keeps both.
    """
    text = request_of.source.read_text(encoding="utf-8")
    spec = request_of.path.read_text(encoding="utf-8")
    spec += "".join(tree.read_text(encoding="utf-8") for tree in request_of.folder.glob("icd.csv"))
    rows = csv.reader(io.StringIO(text, newline=""))
    header = next(rows)
    found = {cell for row in rows for cell in row if len(cell) > 3}
    hidden = {cell for cell in found if cell not in spec and cell not in header}
    assert "patient-005" in hidden
    return hidden


@dataclass(frozen=True)
class Bad:
    """A fault: cells or the hierarchy that are changed, sections of the spec, and the message."""

    code: int
    words: str
    cells: dict[str, dict[int, str]] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, Any] = field(default_factory=dict)
    tree: str | None = TREE


def same(name: str, cell: str, *rows: int) -> dict[str, dict[int, str]]:
    return {name: dict.fromkeys(rows, cell)}


WITHHOLD = {"microaggregation": {"small_strata": "withhold"}}
MERGE = {"microaggregation": {"small_strata": "merge"}}

BAD: dict[str, Bad] = {
    "a category that is no key": Bad(
        10,
        "categories must be quasi-identifiers (other columns are published unchanged); these are "
        "not: 'outcome'",
        columns={"categories": ["sex", "outcome"]},
    ),
    "a column of two kinds": Bad(
        10,
        "each quasi-identifier must have one kind; listed twice: 'school' (categories, ordered)",
        columns={"categories": ["sex", "school"]},
    ),
    "a level that is not listed": Bad(
        11,
        "'school' must hold the levels the spec lists; 2 values in 3 records are others",
        cells={"school": {0: "doctorate", 1: "doctorate", 2: "Primary"}},
    ),
    "a code outside its hierarchy": Bad(
        11,
        "'icd' must stand in its hierarchy; 2 values in 3 records do not",
        cells={"icd": {0: "Z99.9", 1: "Z99.9", 2: "Z11.1"}},
    ),
    "a code with two parents": Bad(
        10, "a code must have one parent; 1 has two or more", tree=TREE + "I21.4,J45,lungs\n"
    ),
    "a cycle": Bad(10, "there is a cycle", tree="a1,b1,c1\nb1,c1,a1\n"),
    "a ragged hierarchy": Bad(
        10, "every row must have as many names as the others", tree=TREE + "K1,kidneys\n"
    ),
    "a level without a name": Bad(
        10, "every level must have a name; 1", tree=TREE + "K1,,organs\n"
    ),
    "lines without codes": Bad(
        10,
        "it must have at least one row; it is empty",
        columns={"hierarchies": {"icd": {"rows": [[]]}}},
    ),
    "a level filled by a repeated name, and a cycle": Bad(
        10, "there is a cycle", tree="a1,a1,b1\nb1,b1,a1\n"
    ),
    "an empty hierarchy": Bad(10, "columns.hierarchies.icd.file: must have lines", tree=""),
    "no hierarchy": Bad(10, "icd.file: must be a readable CSV file in UTF-8", tree=None),
    "a group of codes as a value": Bad(
        11,
        "'icd' must not hold the name of a group of codes",
        cells=same("icd", "I21", 0, 1),
        columns={"hierarchies": {"icd": {"prefixes": [1, 3]}}},
    ),
    "missing values": Bad(
        11,
        "'bmi' must have no missing values, or columns.missing must say how they are treated; "
        "2 rows break this",
        cells=same("bmi", "", 0, 4),
    ),
    "a small stratum": Bad(
        12,
        "strata must hold at least k=3 units each; 1 with 2 records hold fewer",
        cells=same("region", "Lilliputia", 0, 2),
    ),
    "a small pattern of missing values": Bad(
        12,
        "strata or patterns of missing values must hold at least k=3 units each; 1 with 2 records",
        cells=same("bmi", "", 0, 2),
        columns={"missing": {"bmi": "apart"}},
    ),
    "a stratum of one unit": Bad(
        12,
        "must hold at least k=3 units each; 1 with 6 records",
        cells=same("household", "house-000", 0, 2, 4, 6, 8, 10),
    ),
    "nothing left": Bad(
        12,
        "nothing would be left",
        cells={"region": {i: f"hamlet-{i:02}" for i in range(12)}},
        sections={**WITHHOLD, "gate": {"ceilings": {"il": 100.0, "dld": 100.0, "withheld": 100.0}}},
    ),
    "more withheld than allowed": Bad(
        12,
        "withheld",
        cells=same("region", "Lilliputia", 0, 2),
        sections={**WITHHOLD, "gate": {"ceilings": {"il": 100.0, "dld": 100.0, "withheld": 1.0}}},
    ),
    "a weight of zero": Bad(
        11,
        "'weight' must be positive and finite; 2 values in 3 records are not",
        cells={"weight": {0: "0", 1: "0", 2: "-2000.25"}},
    ),
    "a weight that is no number": Bad(
        11,
        "'weight' must be positive and finite; 1 value in 1 record is not",
        same("weight", "heavy", 3),
    ),
    "days that are in no calendar": Bad(
        11,
        "'admitted' must hold dates as 2026-03-09; 2 values in 2 records are not",
        cells={"admitted": {0: "2026-02-30", 1: "32/13/2026"}},
    ),
    "a date with a time": Bad(
        11,
        "'admitted' must hold dates as 2026-03-09; 1 value in 1 record is not",
        cells=same("admitted", "2026-03-10 12:34:56", 0),
    ),
    "a date with a line break": Bad(
        11,
        "'admitted' must hold dates as 2026-03-09; 1 value in 1 record is not",
        cells=same("admitted", "2026-03-10\n", 0),
    ),
    "a unit that is missing": Bad(
        11,
        "'household' must have no missing values; 2 rows break this",
        same("household", "", 0, 1),
    ),
    "a stratum that is missing": Bad(
        11, "'region' must have no missing values; 1 row breaks this", same("region", "", 5)
    ),
    "repeated identifiers": Bad(
        11, "name it in columns.unit); 2 rows break this", same("patient", "patient-001", 0, 1)
    ),
    "a star where a star is published": Bad(
        11,
        "'sex' must not hold '*', which is published for no majority; 1 row breaks this",
        cells=same("sex", "*", 0),
        columns={"published": {"sex": "majority"}},
    ),
    "a stratum that is a key": Bad(
        10,
        "each column must have one role; listed more than once: 'region'",
        columns={"quasi_identifiers": [*COLUMNS["quasi_identifiers"], "region"]},
    ),
    "YAML's no as a level": Bad(
        10,
        "a level must be text, and YAML reads this one as false: quote it",
        columns={"ordered": {"school": [False, "primary"]}},
    ),
    "a number as a level": Bad(
        10,
        "a level must be text, and YAML reads this one as a number: quote it",
        columns={"ordered": {"school": ["primary", 7]}},
    ),
    "nothing as a level": Bad(
        10,
        "a level must be text, and YAML reads this one as nothing: quote it",
        columns={"ordered": {"school": ["primary", None]}},
    ),
    "a level twice": Bad(
        10,
        "the levels of 'school' must be at least two, all different",
        columns={"ordered": {"school": ["primary", "primary"]}},
    ),
    "withholding without a ceiling": Bad(
        10,
        "gate.ceilings.withheld: must be given where small strata are withheld",
        sections=WITHHOLD,
    ),
    "merging without a hierarchy": Bad(
        10, "merge needs a hierarchy of a stratum in columns.hierarchies", sections=MERGE
    ),
    "merging without strata": Bad(
        10,
        "merge is about strata, or missing values that stay apart; columns names none",
        columns={"strata": [], "dropped": {"region": "not needed"}},
        sections=MERGE,
    ),
    "merging where each column has its own groups": Bad(
        10,
        "microaggregation: each_column and small_strata: merge exclude each other",
        columns={
            "hierarchies": {"icd": {"file": "icd.csv"}, "region": {"prefixes": [1]}},
        },
        sections={"microaggregation": {"small_strata": "merge", "each_column": True}},
    ),
    "a rule of codes for labels": Bad(
        10,
        "published.sex must be mode, majority, calibrated; got 'leaf'",
        columns={"published": {"sex": "leaf"}},
    ),
    "a rule of labels for codes": Bad(
        10,
        "published.icd must be nearest, leaf, common; got 'mode'",
        columns={"published": {"icd": "mode"}},
    ),
    "a rule for a number": Bad(10, "'bmi' is neither", columns={"published": {"bmi": "mode"}}),
    "no importance": Bad(
        10,
        "columns.importance.bmi: must be greater than 0; got 0",
        columns={"importance": {"bmi": 0}},
    ),
    "importance of a stratum": Bad(
        10,
        "importance is about quasi-identifiers; these are not: 'region'",
        columns={"importance": {"region": 2.0}},
    ),
    "dropped without a reason": Bad(
        10,
        "columns.dropped.outcome: ",
        columns={"confidential": [], "dropped": {"outcome": ""}},
    ),
    "prefixes and a file": Bad(
        10,
        "a hierarchy must be given by prefixes or by a file, one of them",
        columns={"hierarchies": {"icd": {"prefixes": [1], "file": "icd.csv"}}},
    ),
    "prefixes that shrink": Bad(
        10,
        "prefixes must grow from one to the next; got [3, 1]",
        columns={"hierarchies": {"icd": {"prefixes": [3, 1]}}},
    ),
    "how a weight is published that is not there": Bad(
        10,
        "weight_published needs a weight; the spec names none",
        columns={"weight": None, "weight_published": "never", "dropped": {"weight": "unused"}},
    ),
    "a published weight that breaks k": Bad(
        12,
        "the weight 'weight' is published as it is and counted into k",
        columns={"weight_published": "as_it_is"},
    ),
    "an other column that breaks k": Bad(
        12,
        "columns.other ('outcome') is published unchanged and counted into k",
        columns={"confidential": [], "other": ["outcome"]},
    ),
}


def spoil(request_of: Request, bad: Bad) -> dict[str, Any]:
    """Bring a fault about, and give the sections of its spec."""
    rows = patients()
    for name, changes in bad.cells.items():
        for row, cell in changes.items():
            rows[row][name] = cell
    write(request_of, rows)
    tree = request_of.folder / "icd.csv"
    if bad.tree is None:
        tree.unlink()
    else:
        tree.write_text(bad.tree, encoding="utf-8")
    return {"columns": bad.columns, **bad.sections}


def assert_nothing_is_public(request_of: Request) -> None:
    assert not list(request_of.public.glob("**/*"))
    assert not list(request_of.folder.glob(".*"))


def test_the_table_without_a_fault_is_published(hospital: Request) -> None:
    assert publish.fn(*approved(hospital.load())).folder.is_dir()


@pytest.mark.parametrize("name", BAD)
def test_a_fault_gets_one_sentence_with_counts_and_no_cell(
    hospital: Request, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    bad = BAD[name]
    sections = spoil(hospital, bad)
    with caplog.at_level(logging.DEBUG), pytest.raises(ReleaseError) as refusal:
        publish.fn(*approved(hospital.load(**sections)))
    message = str(refusal.value)
    assert bad.words in message
    assert (refusal.value.exit_code, "\n" in message) == (bad.code, False)
    for cell in cells(hospital):
        assert cell not in message
        assert cell not in caplog.text
    assert_nothing_is_public(hospital)


COMMANDS = ("a small stratum", "a level that is not listed", "a cycle", "a weight of zero")


@pytest.mark.flow
@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_show_the_sentence_and_nothing_else(
    hospital: Request, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    bad = BAD[name]
    spec = str(hospital.write(**spoil(hospital, bad)))
    for command in ("check", "run"):
        assert main([command, spec]) == bad.code
        shown = capfd.readouterr()
        assert bad.words in shown.err
        assert len(faults_in(shown.err)) == 1
        kept = [path.read_text(encoding="utf-8") for path in hospital.register.glob("**/*.*")]
        for text in (shown.out, shown.err, *kept):
            assert "Traceback" not in text
            assert not [cell for cell in cells(hospital) if cell in text]
        assert_nothing_is_public(hospital)


@pytest.mark.parametrize(
    "tree",
    ["\ufeff" + TREE, TREE.replace(",", ";"), TREE.replace("\n", "\r\n"), TREE + "\n\n"],
    ids=["byte order mark", "semicolons", "Windows", "empty lines"],
)
def test_hierarchies_are_read_as_spreadsheets_write_them(hospital: Request, tree: str) -> None:
    (hospital.folder / "icd.csv").write_text(tree, encoding="utf-8", newline="")
    section = hospital.load().columns.hierarchies["icd"]
    assert section.rows == tuple(tuple(line.split(",")) for line in TREE.split())


ALIKE: dict[str, Callable[[str], str]] = {
    "case": str.upper,
    "blanks": lambda label: f" {label}",
    "Unicode form": lambda label: label.replace("m", "\uff4d"),
}


@pytest.mark.parametrize("form", ALIKE)
def test_labels_that_look_alike_are_counted_in_a_warning(hospital: Request, form: str) -> None:
    rows = patients()
    rows[1]["sex"] = ALIKE[form](rows[1]["sex"])
    write(hospital, rows)
    spec = hospital.load()
    source, _ = ingest.fn(spec)
    table, _ = validate.fn(source, spec)
    (alike, rare) = table_warnings(table, spec.microaggregation.k)
    assert alike == (
        "2 labels of 'sex' differ from another only by case, blanks or Unicode form: are they the "
        "same?"
    )
    assert "1 of 3 labels of 'sex' stand for fewer than k=3 records each (1 in all)" in rare
