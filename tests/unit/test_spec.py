"""Of the request: every fault is found, all at once, each with its path."""

import json
import math
from typing import Annotated, Any

import pytest
from annotated_types import Ge, Lt

from algorithms.errors import SpecError, StorageError
from algorithms.measures import MEASURES
from expectations.request.limits import limits_in_words
from expectations.request.options import described, options_of
from expectations.request.sections.gate import GateSection
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import load
from flows.cli import main
from flows.example import SPEC
from tests.conftest import Request


def test_a_spec_is_read_and_its_paths_are_seen_from_its_folder(request_of: Request) -> None:
    spec = request_of.load()
    assert spec.source.path == request_of.folder / "table.csv"
    assert spec.publication.public_folder == request_of.public
    assert spec.publication.staging == request_of.folder / ".public.staging"
    assert spec.columns.public == ("staff", "sales", "zone", "score")
    assert str(spec.release.folder) == "small/2026-Q3"


def test_a_staging_folder_may_be_named(request_of: Request) -> None:
    spec = request_of.load(publication={"staging_folder": "elsewhere"})
    assert spec.publication.staging == request_of.folder / "elsewhere"


def test_a_revision_has_a_folder_of_its_own(request_of: Request) -> None:
    spec = request_of.load(release={"revision": 2})
    assert str(spec.release.folder) == "small/2026-Q3-revision-2"


def test_a_year_may_be_written_as_a_number(request_of: Request) -> None:
    assert request_of.load(release={"period": 2026}).release.period == "2026"


def test_a_format_may_be_given(request_of: Request) -> None:
    spec = request_of.load(source={"path": "table.txt", "format": "csv"})
    assert spec.source.kind == "csv"


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"release": {"name": "Has Spaces"}}, "release.name: must be lower-case letters"),
    ({"release": {"period": "../up"}}, "release.period: must be letters and digits"),
    ({"release": {"period": "2026-revision-1"}}, "release.period: a period must not contain"),
    ({"release": {"revision": -1}}, "release.revision: must be greater than or equal to 0; got -1"),
    ({"source": {"path": "table.txt"}}, "source: path must end in .csv, .parquet, .dta, .sav"),
    ({"source": {"sheet": "a"}}, "source: sheet is about files of kind excel; this file is of"),
    ({"source": {"codes": ["zone"]}}, "source: codes is about files of kind stata, spss, sas; "),
    (
        {"source": {"path": "table.parquet", "delimiter": ";"}},
        "source: delimiter is about files of kind csv; this file is of kind parquet: leave it out",
    ),
    (
        {"source": {"path": "table.sav", "codes": ["town"]}},
        "source.codes must be about columns that have a role; these have none: 'town'",
    ),
    (
        {"source": {"missing_codes": {"town": [-9]}}},
        "source.missing_codes must be about columns that have a role; these have none: 'town'",
    ),
    (
        {"source": {"missing_codes": {"zone": [False]}}},
        "source.missing_codes.zone.0: a code must be text or a number, and YAML reads this one as "
        "false: quote it",
    ),
    (
        {"source": {"missing_codes": {"zone": [None]}}},
        "a code must be text or a number, and YAML reads this one as nothing that a cell can hold",
    ),
    (
        {"source": {"missing_codes": {"zone": [float("inf")]}}},
        "a code must be text or a finite number; this one is not finite: quote it",
    ),
    ({"source": {"delimiter": ",", "decimal": ","}}, "source: delimiter and decimal must differ"),
    ({"source": {"encoding": "klingon"}}, "source.encoding: must be a character encoding of files"),
    ({"source": {"path": "public/table.csv"}}, "source.path must lie outside public_folder"),
    ({"columns": {"other": ["staff"]}}, "columns: each column must have one role; listed more"),
    ({"columns": {"integers": ["zone"]}}, "columns: integers must be quasi-identifiers"),
    ({"columns": {"quasi_identifiers": []}}, "columns.quasi_identifiers: must list at least 1"),
    ({"columns": {"other": [""]}}, "columns: a column must have a name"),
    (
        {"columns": {"decimals": {"staff": 1}}},
        "columns: each quasi-identifier must have one kind; listed twice: 'staff' (integers, dec",
    ),
    ({"columns": {"decimals": {"zone": 1}}}, "that are not integers; these are not: 'zone'"),
    ({"columns": {"decimals": {"sales": -1}}}, "sales: must be a whole number from 0 to 15, or"),
    ({"columns": {"decimals": {"sales": True}}}, "from 0 to 15, or all; got True"),
    ({"columns": {"decimals": {"sales": None}}}, "columns.decimals.sales: must be a whole number"),
    ({"columns": {"missing": {"sales": "x"}}}, "columns.missing.sales: must be 'state', 'blank',"),
    ({"columns": {"published": {"sales": "x"}}}, "columns.published.sales: must be 'mode',"),
    ({"microaggregation": {"method": "mdva"}}, "microaggregation.method: no method is called"),
    ({"microaggregation": {"k": 1}}, "microaggregation.k: must be greater than or equal to 2"),
    ({"microaggregation": {"k": 2.5}}, "microaggregation.k: must be a valid integer; got 2.5"),
    ({"microaggregation": {"ordering": "zscore"}}, "reads no path: drop the ordering"),
    ({"microaggregation": {"options": {"gamma": 1}}}, "gamma: no such key; the options of 'mdav'"),
    ({"microaggregation": {"options": {"tail": "x"}}}, "tail: must be 'nearest' or 'block'"),
    ({"microaggregation": {"method": "mhm"}}, "reads a path: name an ordering"),
    (
        {"microaggregation": {"method": "mhm", "ordering": "zscore", "recut": True}},
        "method 'mhm' cuts a path already: drop recut",
    ),
    ({"microaggregation": {"method": "best", "refine": {}}}, "refines its groups already: drop"),
    (
        {"microaggregation": {"refine": {"rounds": 3}}},
        "rounds: no such key; the options of 'refine' are: iterations, seconds, seed",
    ),
    ({"microaggregation": {"refine": {"iterations": -1}}}, "iterations: must be greater"),
    (
        {
            "microaggregation": {
                "method": "mhm",
                "ordering": "mdav",
                "ordering_options": {"chain": 1},
            }
        },
        "options of ordering 'mdav' do not fit: chain: must be a valid boolean",
    ),
    (
        {"microaggregation": {"ordering_options": {"chain": True}}},
        "ordering_options need an ordering; the spec names none",
    ),
    ({"publication": None}, "publication: must be given; it is missing"),
    ({"gate": {"ceilings": {"il": -1.0, "dld": 5.0}}}, "gate.ceilings.il: must be greater"),
    ({"gate": {"ceilings": {"il": 5.0, "dld": 100.5}}}, "gate.ceilings.dld: must be less"),
    ({"gate": {"ceilings": {"il": float("nan"), "dld": 5.0}}}, "gate.ceilings.il: must be"),
    ({"gate": {"ceilings": {"il": True, "dld": 5.0}}}, "gate.ceilings.il: must be a valid number"),
    ({"gate": {"ceilings": {"il": 5.0, "dld": 5.0, "pmes": 1.0}}}, "did you mean 'pmse'?"),
    ({"gate": {"ceilings": {"il": 5.0, "dld": 5.0, "qqq": 1.0}}}, "no measure is called 'qqq'"),
    (
        {"gate": {"ceilings": {"il": 5.0, "dld": 5.0, "l_distinct": 2.0}}},
        "'l_distinct' cannot have a ceiling: higher is better",
    ),
    (
        {"gate": {"ceilings": {"il": 5.0, "dld": 5.0}, "floors": {"k": 2.0}}},
        "'k' cannot have a floor: set microaggregation.k",
    ),
    ({"gate": {"ceilings": {"il": 5.0, "dld": 5.0, "pmse": "x"}}}, "gate.ceilings.pmse: must be"),
    ({"publication": {"register_folder": "public/r"}}, "register_folder must lie outside"),
    ({"publication": {"public_folder": "register/p"}}, "public_folder must lie outside"),
    ({"publication": {"staging_folder": "public/s"}}, "staging_folder must lie outside"),
    ({"surprise": 1}, "surprise: no such key; check its spelling and its place"),
]


@pytest.mark.parametrize(("sections", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_a_fault_is_named_with_its_path(
    request_of: Request, sections: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError) as raised:
        request_of.load(**sections)
    assert words in str(raised.value)


def test_all_faults_are_reported_at_once(request_of: Request) -> None:
    with pytest.raises(SpecError) as raised:
        request_of.load(release={"name": "A"}, microaggregation={"k": 0}, source=None, surprise=1)
    assert len(str(raised.value).splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("release: [", "the spec must be valid YAML; line 1, column 11"),
        ("a: 1\na: 2\n", "line 2, column 1: the key 'a' is given twice"),
        ("a: \x00", "the spec must be valid YAML"),
        ("- one\n", "must be a YAML mapping"),
        ("", "must be a YAML mapping"),
        ("source: nothing\n", "source: must be a valid dictionary"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(request_of: Request, text: str, words: str) -> None:
    request_of.path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        load(request_of.path)
    assert words in str(raised.value)


def test_a_spec_that_is_not_text_is_refused(request_of: Request) -> None:
    request_of.path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="UTF-8"):
        load(request_of.path)


def test_a_spec_that_is_not_there_is_refused(request_of: Request) -> None:
    with pytest.raises(StorageError, match="must be a readable file"):
        load(request_of.folder / "missing.yaml")


def test_the_schema_explains_every_field() -> None:
    schema = ReleaseSpec.model_json_schema()
    json.dumps(schema)
    for name, model in schema["$defs"].items():
        limits = name in ("Ceilings", "Floors")
        assert model["additionalProperties"] == ({"type": "number"} if limits else False)
        for field in model.get("properties", {}).values():
            assert field.get("description")


def test_the_schema_titles_sections_as_the_spec_calls_them() -> None:
    schema = ReleaseSpec.model_json_schema()
    titles = {
        name: schema["$defs"][ref["$ref"].rsplit("/", 1)[1]]["title"].lower()
        for name, field in schema["properties"].items()
        for ref in (field.get("oneOf") or field.get("anyOf") or [field])[:1]
    }
    assert titles == {name: name for name in ReleaseSpec.model_fields}
    assert schema["title"] == "Whole spec"


def test_options_are_learned_from_the_signature() -> None:
    def method(
        x: Any,
        k: int,
        *,
        gamma: Annotated[float, Ge(0), Lt(1)] = 0.2,
        fast: bool = True,
        eps: Annotated[float, Ge(0)] | None = None,
    ) -> None: ...

    assert described(method) == [
        "gamma: number at least 0 below 1, default 0.2",
        "fast: boolean, default true",
        "eps: number at least 0 or none, default none",
    ]
    with pytest.raises(ValueError, match="gamma"):
        options_of(method).model_validate({"gamma": 1.0})


def test_a_limit_that_can_never_refuse_is_warned_of(request_of: Request) -> None:
    spec = request_of.load(
        microaggregation={"k": 5},
        gate={
            "ceilings": {"il": 100.0, "dld": 40.0, "within_values": 100.0, "pmse": 0.2},
            "floors": {"l_distinct": 1.0, "l_entropy": 1.5},
        },
    )
    assert spec.warnings == (
        "the ceiling of 40 on DLD can never refuse: with groups of at least k=5 the worst possible "
        "value is 40; set it below that",
        "the ceiling of 100 on values within 0.05 sd can never refuse: with groups of at least k=5 "
        "the worst possible value is 100; set it below that",
        "the floor of 1 on distinct l-diversity can never refuse: with groups of at least k=5 the "
        "worst possible value is 1; set it above that",
        "the ceiling of 100 on IL refuses hardly anything: IL has no worst possible value, and a "
        "file that loses 100 % is no better than publishing the mean of each column; set it well "
        "below that",
    )
    assert request_of.load(gate={"ceilings": {"il": 99.5, "dld": 39.9}}).warnings == ()


@pytest.mark.parametrize("name", [name for name in MEASURES if name != "k"])
def test_every_measure_with_a_worst_value_is_warned_of_at_that_value(
    request_of: Request, name: str
) -> None:
    measure = MEASURES[name]
    worst = measure.worst_at(3)
    kind = "ceilings" if measure.better == "lower" else "floors"
    limit = 100.0 if name == "il" else 1e6 if math.isinf(worst) else worst
    gate: dict[str, Any] = {"ceilings": {"il": 50.0, "dld": 50.0}, "floors": {}}
    gate[kind][name] = limit
    series = {"method": "cohorts", "stable": ["zone"]}
    spec = request_of.load(gate=gate, series=series)
    found = [text for text in spec.warnings if measure.title in text]
    assert len(found) == (name == "il" or not math.isinf(worst))


def test_limits_are_listed_with_the_worst_value_of_each_measure() -> None:
    gate = GateSection.model_validate(
        {
            "ceilings": {"il": 25.0, "dld": 38.0, "mean_change": 0.1, "t_equal": 0.5},
            "floors": {"l_distinct": 3},
        }
    )
    assert limits_in_words(gate, 5) == (
        "k at least 5",
        "IL at most 25 % (no largest value; 100 % is no better than publishing the mean)",
        "DLD at most 38 % (never above 40 % with groups of at least 5)",
        "largest change of a mean at most 0.1 sd (no largest value)",
        "t-closeness, equal distance at most 0.5 (never above 1)",
        "distinct l-diversity at least 3 (never below 1)",
    )
    assert limits_in_words(GateSection(), 5) == (
        "k at least 5",
        "IL: no ceiling yet",
        "DLD: no ceiling yet",
    )


@pytest.mark.parametrize(
    ("gate", "found"),
    [
        (None, "none are given"),
        ({"ceilings": {}}, "none are given"),
        ({"ceilings": {"pmse": 0.1}}, "none are given"),
        ({"ceilings": {"il": 5.0}}, "dld is missing"),
        ({"ceilings": {"dld": 5.0, "il": None}}, "il is missing"),
    ],
)
def test_a_spec_without_ceilings_is_a_spec_by_which_nothing_can_be_released(
    request_of: Request, gate: dict[str, Any] | None, found: str
) -> None:
    request_of.content["gate"] = {}
    spec = request_of.load(gate=gate)
    with pytest.raises(SpecError) as raised:
        spec.check_releasable()
    assert str(raised.value) == (
        "gate.ceilings must give il and dld before anything can be released; "
        f"{found}: `microrelease explore SPEC` proposes ceilings"
    )
    assert any("nothing can be released by it yet" in warning for warning in spec.warnings)


def test_a_spec_with_both_ceilings_can_be_released(request_of: Request) -> None:
    spec = request_of.load()
    spec.check_releasable()
    assert not any("released" in warning for warning in spec.warnings)


def test_a_spec_without_ceilings_is_checked_and_its_release_refused(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(request_of.write(gate=None))
    assert main(["check", path]) == 0
    shown = capsys.readouterr()
    assert "  limit  IL: no ceiling yet" in shown.out
    assert "gate.ceilings gives no il and no dld" in shown.err
    for options in ([], ["--dry-run"], ["--candidate"]):
        assert main(["run", path, *options]) == 10
        error = capsys.readouterr().err
        assert error.startswith("misspecified: gate.ceilings must give il and dld before anything")
        assert len(error.splitlines()) == 1
    assert not request_of.register.exists()


def test_every_limit_of_the_example_can_refuse() -> None:
    assert load(SPEC).warnings == ()


def test_the_check_command_warns_of_limits_that_can_never_refuse(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(request_of.write())]) == 0
    assert "the ceiling of 100 on DLD can never refuse" in capsys.readouterr().err
