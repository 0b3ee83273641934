"""Drafted specs: every rule by which a role or a kind is guessed, and what a draft never holds."""

import csv
import io
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.errors import DataError, SpecError
from expectations.request.periods import period_in
from expectations.request.spec_file import parsed
from tasks.draft.ceilings import Ceilings, iterations_for, sampled
from tasks.draft.draft import Asked, Draft, draft, slug
from tasks.draft.facts import facts_of
from tasks.draft.guess import Guess, guess, guess_all
from tasks.draft.levels import order_of
from tasks.draft.reading import missing_signs, read_undescribed, source_of
from tasks.draft.uniqueness import uniqueness
from tasks.draft.writing import decisions, quoted, write

K = 5


def cells(*values: Any, times: int = 1) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(list(values) * times)])


def guessed(name: str, column: pa.ChunkedArray, others: tuple[str, ...] = ()) -> Guess:
    return guess(facts_of(name, column), (name, *others), K)


def many(rows: int, text: str) -> pa.ChunkedArray:
    return cells(*(text.format(i) for i in range(rows)))


CODES = [
    f"{letter}{number:02d}.{digit}"
    for letter in "CIJ"
    for number in range(20, 30)
    for digit in (1, 4)
]
SPREAD = [10_000 + 37 * i for i in range(100)]


@pytest.mark.parametrize(
    ("name", "column", "role", "kind", "decides"),
    [
        ("company", many(60, "C{:05d}"), "identifiers", "", False),
        ("row", cells(*range(60)), "identifiers", "", False),
        ("strange", many(60, "word {}"), "identifiers", "", True),
        ("register", cells(*(10_000_000 + 7 * i for i in range(60))), "identifiers", "", True),
        ("turnover", cells(*SPREAD), "quasi_identifiers", "integer", False),
        ("height", cells(*(1.5 + i / 7 for i in range(60))), "quasi_identifiers", "number", False),
        ("patient_id", cells(*range(60), times=3), "unit", "", True),
        ("patient_id", cells(*range(60), None, times=3), "dropped", "", True),
        ("region_id", cells(*range(60), times=3), "quasi_identifiers", "category", False),
        ("surname", cells(*(f"Name {i}" for i in range(60)), times=2), "dropped", "", True),
        ("nothing", pa.chunked_array([pa.nulls(60, pa.string())]), "dropped", "", False),
        ("survey", cells("x", times=60), "dropped", "", False),
        ("sampling_weight", cells(1.5, 2.5, times=30), "weight", "", True),
        ("weight", cells(1.5, 0.0, 2.5, times=30), "quasi_identifiers", "number", False),
        ("member", cells(True, False, times=30), "quasi_identifiers", "category", False),
        ("sex", cells(1, 2, times=30), "quasi_identifiers", "category", False),
        ("roof", cells(1, 2, 3, 4, times=30), "quasi_identifiers", "category", False),
        ("children", cells(0, 1, 2, 3, times=30), "quasi_identifiers", "integer", False),
        ("grant", cells(500, 700, 900, times=30), "quasi_identifiers", "integer", False),
        ("age", cells(*range(20, 60), times=3), "quasi_identifiers", "integer", False),
        ("region", cells("North", "South", times=30), "quasi_identifiers", "category", False),
        ("admitted", cells(date(2026, 1, 2), date(2026, 2, 3)), "quasi_identifiers", "date", False),
        ("admitted", cells("2026-01-02", "2026-02-03"), "quasi_identifiers", "date", False),
        ("admitted", cells("2026-01", "2026-02"), "quasi_identifiers", "date", False),
        ("founded", cells(1999, 2004, 2010, times=30), "quasi_identifiers", "date", False),
        ("admitted", cells("02/01/2026", "03/02/2026", times=30), "dropped", "", True),
        ("icd", cells(*CODES, times=3), "quasi_identifiers", "hierarchy", True),
        ("occupation", cells(*range(1000, 9000, 70)), "quasi_identifiers", "hierarchy", True),
        ("remark", cells(*(f"the patient said {i} words today" for i in range(60)), times=2),
         "dropped", "", False),
        ("tag", cells(*(f"{'xyz'[i % 3]}a{i}q" for i in range(90)), "a", "a"), "dropped", "", True),
        ("town", cells(*(f"{'xyz'[i % 3]}{i} town" for i in range(1200)), times=3),
         "dropped", "", True),
        ("amount", cells(*(f"{i}" for i in range(40)), "lots", times=2), "dropped", "", True),
        ("ratio", cells(1.0, float("inf"), 2.0, times=30), "dropped", "", True),
        ("smokes", cells("never", "often", "sometimes", times=30),
         "quasi_identifiers", "category", True),
        ("income", cells(*SPREAD, times=2), "quasi_identifiers", "integer", True),
    ],
)  # fmt: skip
def test_the_role_and_kind_of_a_column_are_guessed(
    name: str, column: pa.ChunkedArray, role: str, kind: str, decides: bool
) -> None:
    found = guessed(name, column)
    assert found.role == role
    assert not kind or found.kind == kind
    assert bool(found.decide) is decides
    assert found.reason
    assert found.missing == column.null_count


def test_the_unit_of_dates_and_the_prefixes_of_codes_are_guessed() -> None:
    assert guessed("d", cells("2026-01-02", "2026-02-03")).date == "day"
    assert guessed("d", cells("2026-01", "2026-02")).date == "month"
    assert guessed("born", cells(1999, 2004, 2010)).date == "year"
    assert guessed("icd", cells(*CODES, times=3)).prefixes == (1, 3)
    assert guessed("occupation", cells(*range(1000, 9000, 20))).prefixes == (1, 2)


def test_a_code_that_could_be_taken_for_a_group_of_codes_is_no_prefix() -> None:
    codes = [*CODES, *(f"{letter}{number}" for letter in "CIJ" for number in range(20, 30))]
    assert 3 not in guessed("icd", cells(*codes)).prefixes


def test_a_weight_beside_a_height_is_that_of_a_body() -> None:
    column = cells(70.5, 81.2, 64.0, times=30)
    assert guessed("weight", column).role == "weight"
    assert guessed("weight", column, ("height",)).role == "quasi_identifiers"
    assert guessed("survey_weight", column, ("height",)).role == "weight"


def test_there_is_one_unit_and_one_weight() -> None:
    table = pa.table(
        {
            "household": [i // 4 for i in range(400)],
            "person": [i // 2 for i in range(400)],
            "weight": [1.0 + i % 2 for i in range(400)],
            "weight2": [2.0 + i % 3 for i in range(400)],
        }
    )
    found = guess_all([facts_of(name, table[name]) for name in table.column_names], K)
    assert [each.role for each in found] == ["dropped", "unit", "weight", "dropped"]
    assert "instead of 'person'" in found[0].decide


def test_levels_are_asked_about_and_confidential_columns_need_a_signature() -> None:
    levels = guessed("smokes", cells("never", "often", "sometimes", None, times=30))
    assert levels.question is not None
    assert not levels.question.default
    assert levels.question.otherwise.levels == ("never", "sometimes", "often")
    assert levels.question.otherwise.missing == 30
    both = guessed("diagnosis", cells(*CODES, times=3))
    assert both.kind == "hierarchy"
    assert "prefixes" in both.decide
    assert "confidential" in both.decide
    income = guessed("income", cells(*SPREAD, times=2))
    assert income.question is not None
    assert not income.question.default
    assert income.question.otherwise.role == "confidential"


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["high", "low", "medium"], ["low", "medium", "high"]),
        (["Very_Good", "bad", "Good"], ["bad", "Good", "Very_Good"]),
        (["2 - some", "1 - none", "10 - all"], ["1 - none", "2 - some", "10 - all"]),
        (["10-19", "0-9", "20+"], ["0-9", "10-19", "20+"]),
        (["250 and more", "under 10", "10 to 249"], ["under 10", "10 to 249", "250 and more"]),
        (["over 10", "10", "<10"], ["<10", "10", "over 10"]),
        (["secondary", "none", "primary"], ["none", "primary", "secondary"]),
        (["low", "high"], None),
        (["red", "green", "blue"], None),
        (["1 a", "1 b", "2 c"], None),
        (["low", "Low", "high"], None),
        (["1 a", "2 b", "other"], None),
    ],
)
def test_the_order_of_levels_is_recognised(labels: list[str], order: list[str] | None) -> None:
    assert order_of(labels) == (None if order is None else tuple(order))


# -- files ----------------------------------------------------------------------------------------


def read(text: str, name: str = "table.csv", encoding: str = "utf-8") -> Any:
    return read_undescribed(Path(name), text.encode(encoding))


def test_delimiter_decimal_mark_and_encoding_are_guessed() -> None:
    source, table = read("größe;preis\n1,5;ä\n2,5;ö\n3,5;ö\n", "x.txt", "cp1252")
    assert source.model_dump(exclude_defaults=True, exclude={"path"}) == {
        "format": "csv",
        "delimiter": ";",
        "decimal": ",",
        "encoding": "cp1252",
    }
    assert table["größe"].to_pylist() == [1.5, 2.5, 3.5]
    assert source_of(Path("x.csv"), "a\tb\n1\t2\n".encode("utf-16")).encoding == "utf-16"
    assert source_of(Path("x.csv"), b"a,b\n1.5,2\n").delimiter == ","
    assert source_of(Path("x.csv"), b"a\x81,b\n1,2\n").encoding == "latin-1"
    assert source_of(Path("x.csv"), b'a,b\n"1,2\n').delimiter == ","
    assert source_of(Path("x.parquet"), b"PAR1").kind == "parquet"


def test_known_signs_for_missing_values_are_found_and_others_are_not() -> None:
    source, table = read("income,region,id\n12,?,1\nNA,North,2\n14,South,3\n")
    assert source.missing_codes == {"income": ("NA",), "region": ("?",)}
    assert table["income"].to_pylist() == [12, None, 14]
    assert missing_signs(pa.table({"x": ["12", "none"], "y": ["NA", "NA"], "z": [1, 2]})) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4711,North\n4712,South\n4713,South\n", "look like numbers, dates or cells"),
        ("name,2026-03-09\na,b\nc,d\n", "1 of 2 look like"),
        ("North,x\nSouth,y\nNorth,z\n", "1 of 2 look like"),
        ("C0001,amount\nC0002,y\nC0003,z\n", "1 of 2 look like"),
        (",amount\n1,2\n2,3\n", "1 of 2 are empty"),
        (f"{'x' * 300},amount\n1,2\n2,3\n", "1 of 2 are not"),
        ("a,b\n1,2\n", "at least two records; it has 1"),
        ("a,a\n1,2\n3,4\n", "must have its own name"),
    ],
)
def test_a_header_that_may_be_a_record_is_refused_and_not_shown(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        read(text)
    for cell in text.splitlines()[0].split(","):
        if len(cell) >= 4 and cell not in ("name", "amount"):
            assert cell not in str(error.value)


def test_periods_in_names_are_found() -> None:
    assert period_in("survey-2026-Q3") == ("2026-Q3", "quarter")
    assert period_in("2026-03") == ("2026-03", "month")
    assert period_in("x_2026") == ("2026", "year")
    for none in ("survey", "x2026", "2026-03-09", "2025-2026", "3026", "2026-13", "2026-Q5"):
        assert period_in(none) is None, none


# -- drafts ---------------------------------------------------------------------------------------

NOTHING = Asked()
SURVEY = pa.table(
    {
        "company": [f"C{i:04d}" for i in range(40)],
        "region": ["North", "South", "East", "West"] * 10,
        "employees": [(7 * i) % 31 for i in range(40)],
        "income": [1000 + (37 * i) % 400 if i % 5 else None for i in range(40)],
    }
)


def drafted(
    table: pa.Table = SURVEY, asked: Asked = NOTHING, name: str = "survey-2026-Q3.csv"
) -> Draft:
    path = Path("/data") / name
    return draft(path, path.parent, source_of(path, b"a,b\n1,2\n"), table, asked, 2026)


def loaded(made: Draft) -> Any:
    return parsed(write(made).encode(), Path("/data/survey.yaml")).spec


def test_a_draft_is_a_valid_spec_with_the_period_of_the_file() -> None:
    spec = loaded(drafted())
    assert spec.release.name == "survey"
    assert spec.release.every == "quarter"
    assert spec.source.path == Path("/data/survey-{period}.csv")
    assert spec.columns.identifiers == ("company",)
    assert spec.columns.quasi_identifiers == ("region", "employees", "income")
    assert spec.columns.missing == {"income": "state"}
    assert spec.microaggregation.method == "best"
    assert spec.microaggregation.k == 5
    assert spec.gate.ceilings.missing == ("il", "dld")


@pytest.mark.parametrize(
    ("name", "asked", "period", "path"),
    [
        ("survey.csv", Asked(), "2026", "survey.csv"),
        ("survey.csv", Asked(every="month"), None, "survey.csv"),
        ("survey-2026-03.csv", Asked(every="quarter"), None, "survey-2026-03.csv"),
        ("survey-2026.csv", Asked(every="year"), None, "survey-{period}.csv"),
    ],
)
def test_a_draft_without_a_period_says_so(
    name: str, asked: Asked, period: str | None, path: str
) -> None:
    made = drafted(name=name, asked=asked)
    spec = loaded(made)
    assert spec.release.period == period
    assert spec.source.path.name == path
    about = {each.subject for each in decisions(write(made))}
    assert ("period" in about) is (period is not None)
    assert ("every" in about) is (period is None and "{" not in path)


def test_roles_that_are_given_are_not_guessed() -> None:
    roles: Any = {"employees": "weight", "region": "strata", "income": "confidential"}
    table = SURVEY.append_column("weight", pa.array([1.0, 2.0] * 20))
    table = table.append_column("age", pa.array([20 + i % 17 for i in range(40)]))
    spec = loaded(drafted(table, Asked(name="given", k=3, roles=roles)))
    assert spec.columns.weight == "employees"
    assert spec.columns.strata == ("region",)
    assert spec.columns.confidential == ("income",)
    assert spec.columns.dropped == {"weight": "another column is the weight"}
    assert spec.microaggregation.k == 3
    with pytest.raises(SpecError, match="it has no column 'age2'"):
        drafted(asked=Asked(roles={"age2": "unit"}))


def test_a_table_without_a_column_to_mask_is_refused() -> None:
    table = pa.table({"id": [f"x{i}" for i in range(9)], "same": ["y"] * 9})
    with pytest.raises(DataError, match="none of 2 is: 1 identifiers, 1 dropped"):
        drafted(table)


def test_small_tables_get_a_smaller_k_and_are_told_so() -> None:
    made = drafted(SURVEY.slice(0, 8).select(["employees"]))
    assert made.k == 4
    assert "leave a single group" in write(made)
    assert [each.subject for each in decisions(write(made))][-1] == ""
    assert "hardly anything is left" in write(made)


def test_ceilings_and_their_figures_are_written() -> None:
    made = drafted()
    ceilings = Ceilings({"il": 12.0, "dld": 39.5}, {"il": 10.1, "dld": 40.0}, 20)
    text = write(Draft(**{**vars(made), "ceilings": ceilings}))
    spec = parsed(text.encode(), Path("/data/survey.yaml")).spec
    assert spec.gate.ceilings.all == {"il": 12.0, "dld": 39.5}
    assert "a sample of 20 records" in text
    assert {each.subject: each.words for each in decisions(text)}["dld"].startswith(
        "it is exceeded"
    )
    assert spec.warnings == ()


def test_confirmed_levels_codes_and_dates_are_written() -> None:
    table = pa.table(
        {
            "smokes": ["no", "on and off", "yes"] * 60,
            "icd": CODES * 3,
            "born": [1950 + i % 40 for i in range(180)],
        }
    )
    made = drafted(table)
    levels = Guess("smokes", "quasi_identifiers", "ordered", levels=("no", "on and off", "yes"))
    spec = loaded(made.with_guesses([levels, *made.guesses[1:]]))
    assert spec.columns.ordered == {"smokes": ("no", "on and off", "yes")}
    assert spec.columns.hierarchies["icd"].prefixes == (1, 3)
    assert spec.columns.dates == {"born": "year"}


def test_records_that_are_alone_are_counted() -> None:
    table = pa.table({"a": [1, 1, 2, 2, 3] * 4, "b": [*range(10), *range(10)]})
    single, twos = uniqueness(table, ["a", "b"])
    assert (single, twos) == ([], [])
    table = pa.table({"a": [1] * 10 + [2] * 10, "b": [*range(10), *range(10)], "c": range(20)})
    single, twos = uniqueness(table, ["a", "b", "c"])
    assert [(each.columns, each.records) for each in single] == [(("c",), 20)]
    assert [(each.columns, each.records) for each in twos] == [(("a", "b"), 20)]


def test_a_sample_keeps_units_together() -> None:
    table = pa.table({"unit": [i // 3 for i in range(90)]})
    assert len(sampled(table, "unit")) == 90
    rows = sampled(table, "unit", most=31)
    assert len(rows) == 30
    assert set(np.bincount(rows // 3)) == {0, 3}
    assert len(sampled(table, None, most=31)) == 31


def test_budgets_and_names_suit_the_table() -> None:
    assert [iterations_for(n, 5) for n in (10, 100, 100_000)] == [16, 1600, 10_000]
    assert slug("A  b/C") == "a-b-c"


AWKWARD = [
    "a: b", "# c", "no", "2nd", "größe", "x\ny", "[z]", "'q\"", " padded ", "a,b", "-",
    "😀", "~", "null", "{", "*", "&a", "y",
]  # fmt: skip


def test_awkward_names_survive() -> None:
    for name in AWKWARD:
        assert yaml.safe_load(f"- {quoted(name)}\n") == [name]
        assert yaml.safe_load(f"{{{quoted(name)}: [{quoted(name)}]}}") == {name: [name]}
    table = pa.table(
        {name: [(i * 7 + j) % 23 for i in range(60)] for j, name in enumerate(AWKWARD)}
    )
    table = table.append_column(
        "day: one", pa.array([f"2026-01-{1 + i % 28:02d}" for i in range(60)])
    )
    spec = loaded(drafted(table))
    assert set(spec.columns.all) == {*AWKWARD, "day: one"}


LETTERS = "ζξψωжщю"
"""Letters that no word of a draft has."""
WORDS = st.text(LETTERS, min_size=4, max_size=9)
COLUMNS = st.one_of(
    st.lists(st.one_of(st.none(), WORDS), min_size=12, max_size=12),
    st.lists(st.sampled_from(["ζζζζ", "ξξξξ", "ψψψψ", None]), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=12, max_size=12),
    st.lists(st.integers(70_000, 70_003), min_size=12, max_size=12),
    st.lists(st.floats(), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=12, max_size=12),
    st.lists(st.dates(), min_size=12, max_size=12),
    st.lists(st.sampled_from(["ζ21.4", "ζ21.5", "ж03.1", "ж04.2"]), min_size=12, max_size=12),
)
NAMES = st.lists(
    st.one_of(
        st.sampled_from(["id", "weight", "income", "born", "patient", "icd", "name"]),
        st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(
            str.strip
        ),
    ),
    min_size=1,
    max_size=5,
    unique=True,
)


@settings(max_examples=20, deadline=None)
@given(names=NAMES, data=st.data())
def test_any_draft_loads_and_holds_no_cell(names: list[str], data: st.DataObject) -> None:
    columns = [data.draw(COLUMNS) for _ in names]
    table = pa.table(dict(zip(names, map(pa.array, columns), strict=True)))
    try:
        text = write(drafted(table))
    except DataError as error:
        text = str(error)
    else:
        spec = parsed(text.encode(), Path("/data/survey.yaml")).spec
        assert set(spec.columns.all) == set(names)
    named = "".join(names)
    for column in columns:
        for cell in column:
            # a shorter number may also be a count or a percentage of the draft
            least = 4 if isinstance(cell, str) else 7
            if len(str(cell)) >= least:
                assert str(cell) in named or str(cell) not in text


@settings(max_examples=30, deadline=None)
@given(names=NAMES, data=st.data())
def test_any_text_file_is_drafted_or_refused_in_words(
    names: list[str], data: st.DataObject
) -> None:
    columns = [data.draw(COLUMNS) for _ in names]
    file = io.StringIO()
    csv.writer(file).writerows([names, *zip(*columns, strict=True)])
    content = file.getvalue().encode()
    path = Path("/data/table.csv")
    try:
        source, table = read_undescribed(path, content)
        text = write(draft(path, path.parent, source, table, Asked(), 2026))
    except DataError:
        return
    parsed(text.encode(), Path("/data/table.yaml"))
