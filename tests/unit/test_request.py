"""A run names a reviewed spec; it may tighten what the spec says, and never loosen it."""

import hashlib
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from algorithms.errors import RefusedError, SpecError, StorageError
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from expectations.manifest import Record
from expectations.request.named import (
    SPECS,
    Change,
    Changes,
    NamedSpec,
    ResolvedSpec,
    resolve_spec,
    spec_from_file,
)
from expectations.request.options import options_of
from expectations.review import SCHEDULE, Decision, person
from flows.cli import main
from tasks.explore.cell import choices, try_choice
from tasks.ingest import ingest
from tasks.publish import Candidate, decide, publish, record_attempt, seal
from tasks.reporting.artefacts import review_text
from tasks.store.history import history
from tasks.store.ownership import check_owner
from tasks.store.register import Register
from tasks.validate import validate
from tests.conftest import Request
from tests.publishing import candidate

OCTOBER = datetime(2026, 10, 2, 4, 0, tzinfo=UTC)

REVIEWED: dict[str, Any] = {
    "microaggregation": {"method": "mdav", "k": 5},
    "gate": {
        "ceilings": {"il": 50.0, "dld": 40.0, "pmse": 0.2},
        "floors": {"l_distinct": 2.0},
    },
}


def resolved(request_of: Request, changes: dict[str, Any], **sections: Any) -> ResolvedSpec:
    """Resolve the spec of a run as the parameters of a deployment ask for it."""
    path = request_of.write(**{**REVIEWED, **sections})
    named = NamedSpec.model_validate({"name": path.stem, "changes": changes})
    return resolve_spec(named, OCTOBER)


@pytest.fixture(autouse=True)
def specs(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SPECS, str(request_of.folder))
    return request_of.folder


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"k": 2},
            "microaggregation.k: may only be raised in a run; the reviewed spec says 5, the run "
            "asks for 2: change the spec file and have it reviewed",
        ),
        ({"il": 50.5}, "gate.ceilings.il: may only be lowered in a run; the reviewed spec says 50"),
        ({"dld": 100.0}, "gate.ceilings.dld: may only be lowered in a run"),
        ({"ceilings": {"pmse": 0.25}}, "gate.ceilings.pmse: may only be lowered in a run"),
        ({"floors": {"l_distinct": 1}}, "gate.floors.l_distinct: may only be raised in a run"),
    ],
)
def test_a_run_that_loosens_a_limit_is_refused(
    request_of: Request, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError) as raised:
        resolved(request_of, changes)
    assert words in str(raised.value)


def test_every_limit_that_is_loosened_is_named_at_once(request_of: Request) -> None:
    with pytest.raises(SpecError) as raised:
        resolved(request_of, {"k": 2, "il": 100, "dld": 100, "floors": {"l_distinct": 0}})
    assert len(str(raised.value).splitlines()) == 4


def test_a_run_may_tighten_every_limit_and_add_measures(request_of: Request) -> None:
    changes = {
        "k": 6,
        "il": 50.0,
        "dld": 30.0,
        "ceilings": {"pmse": 0.1, "il_over_bound": 3},
        "floors": {"l_distinct": 3, "l_entropy": 2},
    }
    found = resolved(request_of, changes)
    gate = found.spec.gate
    assert gate.ceilings.all == {"il": 50, "dld": 30, "pmse": 0.1, "il_over_bound": 3}
    assert gate.floors.all == {"l_distinct": 3, "l_entropy": 2}
    assert found.changes == (
        Change("microaggregation.k", 5, 6),
        Change("gate.ceilings.dld", 40.0, 30.0),
        Change("gate.ceilings.pmse", 0.2, 0.1),
        Change("gate.ceilings.il_over_bound", None, 3.0),
        Change("gate.floors.l_distinct", 2.0, 3.0),
        Change("gate.floors.l_entropy", None, 2.0),
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ceilings": {"pmes": 1.0}}, "did you mean 'pmse'"),
        ({"floors": {"pmse": 1.0}}, "'pmse' cannot have a floor"),
        ({"floors": {"k": 9.0}}, "set microaggregation.k"),
    ],
)
def test_a_run_cannot_add_a_limit_that_a_spec_could_not_have(
    request_of: Request, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        resolved(request_of, changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"ceilings": {"il": 1.0}},
        {"each_column": True},
        {"columns": {"other": ["company"]}},
        {"review": None},
        {"public_folder": "/srv/elsewhere"},
        {"options": {"tail": "block"}},
    ],
)
def test_nothing_else_can_be_changed(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Changes.model_validate(changes)


def test_a_whole_spec_is_not_a_request(request_of: Request) -> None:
    whole = request_of.load().model_dump(mode="json")
    for request in (whole, {"name": "spec", **whole}, {"name": "spec", "spec": whole}):
        with pytest.raises(ValidationError):
            NamedSpec.model_validate(request)


@pytest.mark.parametrize(
    "name", ["../spec", "/etc/passwd", "spec.yaml", "sub/spec", "", ".", "spec\0"]
)
def test_a_name_leads_to_no_file_outside_the_folder(request_of: Request, name: str) -> None:
    path = request_of.write()
    (request_of.folder / "sub").mkdir()
    (request_of.folder / "sub" / "spec.yaml").write_bytes(path.read_bytes())
    with pytest.raises(SpecError, match="no spec is called"):
        resolve_spec(NamedSpec(name=name), OCTOBER)


def test_only_this_process_can_have_a_spec_read_from_elsewhere(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = request_of.write()
    monkeypatch.setenv(SPECS, str(request_of.folder / "empty"))
    with spec_from_file(path) as named:
        assert resolve_spec(named, OCTOBER).spec.release.name == "small"
    with pytest.raises(SpecError, match="no spec is called 'spec'; there are: none"):
        resolve_spec(named, OCTOBER)
    with (
        spec_from_file(Path()) as named,
        pytest.raises(StorageError, match="must be a readable file"),
    ):
        resolve_spec(named, OCTOBER)


def test_another_method_takes_nothing_over_from_the_one_before(request_of: Request) -> None:
    how = {"method": "mdav", "options": {"tail": "block"}, "recut": True, "refine": {"seed": 3}}
    found = resolved(request_of, {"method": "best"}, microaggregation={**how, "k": 5})
    used = found.spec.microaggregation
    assert (used.method, used.refine, used.recut, used.options) == ("best", None, False, {})
    assert [change.field for change in found.changes] == [
        "microaggregation.method",
        "microaggregation.options.tail",
        "microaggregation.recut",
        "microaggregation.refine",
    ]
    along = {"method": "imhmi", "ordering": "mdav", "ordering_options": {"chain": True}, "k": 5}
    for changes in ({"method": "mhm", "ordering": "npn"}, {"ordering": "npn"}):
        used = resolved(request_of, changes, microaggregation=along).spec.microaggregation
        assert (used.ordering, used.ordering_options) == ("npn", {})
    used = resolved(request_of, {"method": "mdav"}, microaggregation=along).spec.microaggregation
    assert used.ordering is None


def test_a_method_or_ordering_that_the_spec_has_already_keeps_its_options(
    request_of: Request,
) -> None:
    how = {"method": "imhmi", "ordering": "mdav", "ordering_options": {"chain": True}, "k": 5}
    for changes in ({"method": "imhmi"}, {"ordering": "mdav"}):
        found = resolved(request_of, changes, microaggregation=how)
        assert found.spec.microaggregation.ordering_options == {"chain": True}
        assert found.changes == ()


@pytest.mark.parametrize("method", METHODS)
def test_a_change_of_method_never_switches_each_column(request_of: Request, method: str) -> None:
    path = {"ordering": "npn"} if METHODS[method].reads_path else {}
    for each_column in (False, True):
        how = {"method": "mdav", "k": 5, "each_column": each_column}
        found = resolved(request_of, {"method": method, **path}, microaggregation=how)
        assert found.spec.microaggregation.each_column is each_column
        assert found.spec.microaggregation.k == 5


def test_period_and_revision_are_recorded_as_changes(request_of: Request) -> None:
    found = resolved(request_of, {"period": "2026-Q2", "revision": 1})
    assert found.spec.release.folder == Path("small/2026-Q2-revision-1")
    assert found.changes == (
        Change("release.period", "2026-Q3", "2026-Q2"),
        Change("release.revision", 0, 1),
    )


def test_a_period_that_follows_from_the_schedule_is_no_change(request_of: Request) -> None:
    every = {"period": None, "every": "quarter"}
    found = resolved(request_of, {}, release=every)
    assert (found.spec.release.period, found.changes) == ("2026-Q3", ())


def test_the_record_names_the_file_and_its_digest(request_of: Request) -> None:
    found = resolved(request_of, {})
    digest = hashlib.sha256(request_of.path.read_bytes()).hexdigest()
    content = Record.of_resolved(found).content
    assert content["spec_file"] == {"name": "spec.yaml", "sha256": digest}
    assert content["changes"] == []


def test_two_specs_of_one_dataset_are_refused_and_both_named(request_of: Request) -> None:
    path = request_of.write()
    other = request_of.folder / "other.yaml"
    other.write_text(path.read_text().replace("public_folder: public", "public_folder: public-2"))
    for name in ("spec", "other"):
        with pytest.raises(SpecError, match="a dataset must have one spec") as raised:
            resolve_spec(NamedSpec(name=name), OCTOBER)
        assert "spec.yaml" in str(raised.value)
        assert "other.yaml" in str(raised.value)


def test_two_specs_that_publish_into_one_folder_are_refused(request_of: Request) -> None:
    path = request_of.write()
    (request_of.public / "large").mkdir(parents=True)
    (request_of.public / "small").symlink_to(request_of.public / "large")
    other = request_of.folder / "other.yaml"
    other.write_text(path.read_text().replace("name: small", "name: large"))
    with pytest.raises(SpecError, match="a dataset must have one spec"):
        resolve_spec(NamedSpec(name="spec"), OCTOBER)


def test_a_faulty_spec_beside_it_keeps_no_other_from_its_run(request_of: Request) -> None:
    request_of.write()
    (request_of.folder / "faulty.yaml").write_text("release: {name: small}", encoding="utf-8")
    assert resolve_spec(NamedSpec(name="spec"), OCTOBER).spec.release.name == "small"


def told(file: str | None) -> dict[str, Any]:
    return {"spec_file": {"name": file, "sha256": "0" * 64}} if file else {}


def publish_from(request_of: Request, file: str | None, **release: Any) -> None:
    masked, approval, spec, record = candidate(request_of, release=release)
    publish.fn(masked, approval, spec, record.adding(**told(file)))


def test_a_dataset_is_published_from_one_spec_file(request_of: Request) -> None:
    publish_from(request_of, "first.yaml")
    with pytest.raises(RefusedError) as raised:
        publish_from(request_of, "second.yaml", period="2026-Q4")
    assert "published from 'first.yaml', and this is 'second.yaml'" in str(raised.value)
    assert "set release.formerly to first.yaml" in str(raised.value)
    assert not (request_of.public / "small" / "2026-Q4").exists()
    publish_from(request_of, "second.yaml", name="other")
    publish_from(request_of, "second.yaml", period="2026-Q4", formerly="first.yaml")
    with pytest.raises(RefusedError, match=r"from 'second\.yaml', and this is 'first\.yaml'"):
        publish_from(request_of, "first.yaml")


def test_a_dataset_of_an_earlier_version_is_taken_over_by_the_spec_that_releases_it(
    request_of: Request,
) -> None:
    publish_from(request_of, None)
    publish_from(request_of, "first.yaml", period="2026-Q4")
    with pytest.raises(RefusedError, match=r"from 'first\.yaml'"):
        publish_from(request_of, "second.yaml", period="2027-Q1")


def test_an_attempt_that_published_nothing_takes_no_dataset_over(request_of: Request) -> None:
    spec = request_of.load()
    record_attempt(spec, Record.of(spec, **told("other.yaml")), "failed", "it was tried")
    publish_from(request_of, "first.yaml")


def test_a_candidate_of_another_spec_file_is_not_published(request_of: Request) -> None:
    masked, approval, spec, record = candidate(request_of, release={"period": "2026-Q4"})
    held = seal.fn(masked, approval, spec, record.adding(**told("second.yaml")))
    assert isinstance(held, Candidate)
    publish_from(request_of, "first.yaml")
    with pytest.raises(RefusedError, match=r"this is 'second\.yaml'"):
        decide.fn(request_of.register, held.attempt, Decision(True, "Bea"))


def owned(spec: Any) -> None:
    register = Register(spec.publication.register_folder)
    check_owner(register, spec.release, spec.publication, "spec.yaml")


def test_a_public_folder_that_another_register_filled_is_refused(request_of: Request) -> None:
    publish_from(request_of, "spec.yaml")
    other = request_of.load(publication={"register_folder": "register-2"})
    with pytest.raises(RefusedError, match="all releases of small must be in one register; 1 in"):
        owned(other)
    (request_of.public / "small" / ".DS_Store").mkdir()
    (request_of.public / "small" / "notes.txt").touch()
    owned(request_of.load())


def test_nobody_approves_a_run_of_which_the_starter_is_not_known(request_of: Request) -> None:
    with pytest.raises(RefusedError, match="is not known: reject it"):
        Decision(True, "Bea", started_by=" ")
    Decision(False, "Bea", started_by="")
    Decision(True, "Bea", started_by=SCHEDULE)
    masked, approval, spec, record = candidate(request_of)
    held = seal.fn(masked, approval, spec, record.adding(started_by=""))
    assert isinstance(held, Candidate)
    with pytest.raises(RefusedError, match="is not known"):
        decide.fn(request_of.register, held.attempt, Decision(True, "Bea"))
    assert not request_of.public.exists() or not any(request_of.public.iterdir())


def test_a_person_cannot_pass_for_the_schedule() -> None:
    assert person(" Ana ") == "Ana"
    assert person("  The  Schedule") == ""
    with pytest.raises(RefusedError, match="did both"):
        Decision(True, "the schedule", started_by=SCHEDULE)
    with pytest.raises(RefusedError, match="did both"):
        Decision(
            True,
            "Jose\N{COMBINING ACUTE ACCENT}",
            started_by="JOS\N{LATIN CAPITAL LETTER E WITH ACUTE}",
        )


def test_manifest_report_register_page_and_review_show_changes_beside_the_reviewed_values(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    found = resolved(request_of, {"k": 6, "ceilings": {"il_over_bound": 9}})
    record = Record.of_resolved(found)
    manifest = record_attempt(found.spec, record, "blocked", "it was tried")
    assert json.loads(manifest.read_bytes())["changes"][0] == {
        "field": "microaggregation.k",
        "reviewed": 5,
        "used": 6,
    }
    assert main(["register", str(request_of.register)]) == 0
    capsys.readouterr()
    report = manifest.with_name("report.html").read_text(encoding="utf-8")
    page = (request_of.register / "index.html").read_text(encoding="utf-8")
    review = review_text(found.spec, record, (), "", manifest, "")
    for text in (report, page, review):
        assert "spec.yaml" in text
        assert found.file.sha256 in text
    assert '<th scope="row">microaggregation.k</th><td class="number">5</td>' in report
    for text in (page, review):
        assert "microaggregation.k: 6 in this run, 5 in the reviewed spec" in text
        assert "gate.ceilings.il_over_bound: 9.0 in this run, none in the reviewed spec" in text
    (past,) = history(request_of.register)
    assert past.spec_file == "spec.yaml"


def test_where_nothing_was_changed_that_is_said(request_of: Request) -> None:
    found = resolved(request_of, {})
    record = Record.of_resolved(found)
    manifest = record_attempt(found.spec, record, "blocked")
    assert main(["register", str(request_of.register)]) == 0
    assert (
        "This run used the reviewed spec without changes."
        in manifest.with_name("report.html").read_text()
    )
    assert "as reviewed" in (request_of.register / "index.html").read_text()
    assert "Changed in this run" not in review_text(found.spec, record, (), "", manifest, "")


def test_a_change_says_what_was_reviewed() -> None:
    assert str(Change("a.b", None, 3)) == "a.b: 3 in this run, none in the reviewed spec"


BUDGETS: list[tuple[dict[str, Any], str]] = [
    ({"method": "best", "options": {"seconds": 1.0}}, "options"),
    ({"method": "best", "options": {"seconds": 1.0, "iterations": 5}}, "options"),
    ({"refine": {"seconds": 1.0}}, "refine"),
]


@pytest.mark.parametrize(("how", "key"), BUDGETS)
def test_a_release_with_a_budget_in_seconds_is_refused(
    request_of: Request, how: dict[str, Any], key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = request_of.load(microaggregation=how)
    with pytest.raises(SpecError, match=rf"microaggregation.{key}.seconds: .*: give iterations"):
        spec.check_repeatable()
    assert main(["check", str(request_of.path)]) == 10
    assert "give iterations instead" in capsys.readouterr().err


def test_a_budget_in_seconds_may_be_explored(request_of: Request) -> None:
    spec = request_of.load(microaggregation={"method": "best", "options": {"seconds": 0.1}})
    (choice,) = choices(spec, ["best"], [], [3])
    assert choice.options == {"seconds": 0.1}
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    assert try_choice(table, spec, choice).admissible


def test_a_release_with_a_budget_in_iterations_is_repeatable(request_of: Request) -> None:
    for how in (
        {"method": "best", "options": {"iterations": 5, "seconds": None}},
        {"refine": {}},
        {},
    ):
        request_of.load(
            microaggregation=how, evaluation={"certify_seconds": 1.0}
        ).check_repeatable()


def test_ceilings_of_a_run_do_not_stand_in_for_reviewed_ones(request_of: Request) -> None:
    found = resolved(request_of, {"il": 100.0, "dld": 100.0}, gate=None)
    found.spec.check_releasable()
    with pytest.raises(SpecError, match="none are given"):
        found.file.spec.check_releasable()
    record = Record.of_resolved(resolved(request_of, {}, gate=None))
    assert math.isnan(record.ceiling("il"))
    assert Record.of_resolved(found).ceiling("il") == 100.0


def test_a_limit_on_what_seconds_decide_is_refused(request_of: Request) -> None:
    gate = {"ceilings": {"il": 100.0, "dld": 100.0, "il_over_bound": 3.0}}
    request_of.load(gate=gate, evaluation={"bound_rounds": 4}).check_repeatable()
    spec = request_of.load(gate=gate, evaluation={"certify_seconds": 1.0})
    with pytest.raises(SpecError, match=r"il_over_bound: .*: give evaluation\.bound_rounds"):
        spec.check_repeatable()


def test_seconds_spent_on_a_bound_do_not_reach_public_files(request_of: Request) -> None:
    masked, approval, spec, record = candidate(request_of)
    publish.fn(masked, approval, spec, record)
    masked, approval, spec, record = candidate(request_of, evaluation={"certify_seconds": 1.0})
    assert "rounds" in approval.evaluation.notes["il_bound"]
    assert publish.fn(masked, approval, spec, record).unchanged


def test_every_budget_of_time_is_called_seconds() -> None:
    runs = [METHODS[name].run for name in METHODS]
    runs += [ORDERINGS[name].run for name in ORDERINGS]
    options = {name for run in runs for name in options_of(run).model_fields}
    assert "seconds" in options
    assert not {name for name in options if "time" in name or "second" in name} - {"seconds"}
