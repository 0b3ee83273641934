"""The section ``series`` of a spec: what it may say, what it needs, and what a run may change."""

from datetime import UTC, datetime
from typing import Any

import pytest

from algorithms.errors import SpecError
from algorithms.measures import MEASURES
from expectations.request.named import SPECS, Change, NamedSpec, ResolvedSpec, resolve_spec
from expectations.request.series_rules import COMPARING
from tests.conftest import Request

NEW = {"persons": "new each period", "reason": "a new sample is drawn for every quarter"}
NOBODY = {"identifiers": [], "dropped": {"id": "numbers the lines"}}


def limits(**ceilings: float) -> dict[str, Any]:
    return {"ceilings": {"il": 50.0, "dld": 50.0, **ceilings}}


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"series": {"persons": "new each period"}}, "series: persons: new each period and reason"),
    ({"series": {"reason": "x"}}, "must be given together; one is missing"),
    ({"series": {**NEW, "reason": "  "}}, "series.reason: must be given in words; it is blank"),
    (
        {"series": {**NEW, "method": "cohorts", "window": 4}},
        "series: method, window: these are about persons who last; persons: new each period says "
        "that there are none: drop one of them",
    ),
    ({"series": {**NEW, "population": "firms"}}, "series: population: this is about persons who"),
    ({"series": {**NEW, "links": "measured", "stable": ["zone"]}}, "series: links, stable: these"),
    ({"series": {**NEW, "start": {"period": "2026-Q1", "reason": "x"}}}, "series: start: this is"),
    (
        {"series": {"il_over_fresh": 1.5, "leaving": 0.2}},
        "series: il_over_fresh, leaving: about method: cohorts; the method is fresh",
    ),
    (
        {"series": {"method": "cohorts"}, "microaggregation": {"each_column": True}},
        "series.method: cohorts keeps groups of all quasi-identifiers together, and "
        "microaggregation.each_column groups each on its own: drop one of them",
    ),
    (
        {"series": {"stable": ["zone", "staff", "colour"]}},
        "series.stable must name confidential or other columns; these are not: 'staff', 'colour'",
    ),
    (
        {"series": {}, "columns": NOBODY},
        "series: comparisons of releases need identifiers, which tell whether two records are of "
        "one person; columns.identifiers names none: name them, or declare series.persons: new "
        "each period with a reason, without such limits",
    ),
    (
        {"gate": limits(singled_out=0.0, muted=5.0), "columns": NOBODY},
        "gate: limits on singled_out, muted need identifiers",
    ),
    (
        {"gate": limits(lone_changes=0.0), "series": NEW},
        "gate: limits on lone_changes follow persons from release to release; series.persons says "
        "new each period: drop these limits",
    ),
    (
        {"gate": {**limits(), "floors": {"l_across": 2.0}}},
        "gate: a limit on l_across is about columns whose values hardly change; series.stable "
        "names none: name them",
    ),
    (
        {"gate": limits(il_over_fresh=1.3), "series": {}},
        "gate: a limit on il_over_fresh is about series.method: cohorts; the groups of this spec "
        "are fresh: drop the limit",
    ),
    ({"release": {"reason": "a mistake"}}, "release: reason is about a revision; revision is 0"),
    ({"release": {"revision": 1, "reason": " "}}, "release.reason: must be given in words"),
]


@pytest.mark.parametrize(("sections", "words"), FAULTS, ids=[words[:60] for _, words in FAULTS])
def test_a_fault_of_a_series_is_named(
    request_of: Request, sections: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError) as raised:
        request_of.load(**sections)
    assert words in str(raised.value)


def test_all_faults_of_a_series_are_reported_at_once(request_of: Request) -> None:
    with pytest.raises(SpecError) as raised:
        request_of.load(
            series={"method": "cohorts", "stable": ["staff"]},
            columns=NOBODY,
            microaggregation={"each_column": True},
        )
    assert len(str(raised.value).splitlines()) == 3


def test_a_whole_series_is_read(request_of: Request) -> None:
    spec = request_of.load(
        series={"method": "cohorts", "window": 4, "stable": ["zone"], "leaving": 0.05},
        gate={
            **limits(muted=5.0, il_over_fresh=1.3),
            "floors": {"candidates_min": 3, "l_across": 2},
        },
    )
    spec.check_releasable()
    assert spec.warnings == ()
    assert spec.plan.cohorts.leaving == 0.05
    assert request_of.load(series=NEW, columns=NOBODY).series.reason == NEW["reason"]


def test_measures_that_compare_releases_are_known() -> None:
    assert set(COMPARING) <= set(MEASURES)


def test_what_nobody_can_prove_is_warned_of(request_of: Request) -> None:
    (warning,) = request_of.load(series={"links": "measured"}, gate=limits()).warnings
    assert "that is a measurement, not a proof" in warning
    (warning,) = request_of.load(series=NEW, gate=limits()).warnings
    assert "releases are never compared" in warning


def test_someone_must_say_how_many_records_cohorts_may_mute(request_of: Request) -> None:
    spec = request_of.load(series={"method": "cohorts"}, gate=limits())
    with pytest.raises(SpecError) as raised:
        spec.check_releasable()
    assert str(raised.value).startswith(
        "gate.ceilings must give il and dld and muted before anything can be released; muted is "
        "missing"
    )
    (warning,) = spec.warnings
    assert warning.startswith("gate.ceilings gives no muted, so the spec can be checked")
    spec = request_of.load(series={"method": "cohorts"}, gate={"ceilings": {"muted": 5.0}})
    with pytest.raises(SpecError, match="il and dld are missing"):
        spec.check_releasable()


def test_a_revision_must_say_why(request_of: Request) -> None:
    request_of.load().check_reason()
    request_of.load(release={"revision": 1, "reason": "two codes were exchanged"}).check_reason()
    with pytest.raises(SpecError, match="a revision must say why the period is published again"):
        request_of.load(release={"revision": 1}).check_reason()


@pytest.fixture(autouse=True)
def specs(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPECS, str(request_of.folder))


def resolved(request_of: Request, changes: dict[str, Any], **sections: Any) -> ResolvedSpec:
    path = request_of.write(**sections)
    named = NamedSpec.model_validate({"name": path.stem, "changes": changes})
    return resolve_spec(named, datetime(2026, 11, 17, tzinfo=UTC))


COHORTS: dict[str, Any] = {"series": {"method": "cohorts"}, "gate": limits(muted=5.0)}


def test_a_run_gives_the_reason_of_a_revision(request_of: Request) -> None:
    found = resolved(request_of, {"revision": 1, "reason": "a late correction"})
    found.spec.check_reason()
    assert found.spec.release.reason == "a late correction"
    assert Change("release.reason", None, "a late correction") in found.changes


def test_another_method_in_a_run_leaves_the_series_as_reviewed(request_of: Request) -> None:
    found = resolved(request_of, {"method": "best"}, **COHORTS)
    assert found.spec.series == found.file.spec.series
    assert found.spec.plan.cohorts is not None
    assert [change.field for change in found.changes] == ["microaggregation.method"]


def test_a_run_tightens_limits_across_releases_and_never_loosens_them(request_of: Request) -> None:
    found = resolved(request_of, {"ceilings": {"muted": 2.0, "singled_out": 0.0}}, **COHORTS)
    assert found.spec.gate.ceilings.all["muted"] == 2.0
    with pytest.raises(SpecError, match=r"gate.ceilings.muted: may only be lowered in a run"):
        resolved(request_of, {"ceilings": {"muted": 9.0}}, **COHORTS)


def test_a_run_never_changes_how_releases_are_compared() -> None:
    for change in (Change("series.window", None, 2), Change("series", {"window": 3}, None)):
        assert change.fault is not None
        assert change.fault.startswith(f"{change.field}: must be as reviewed; the run asks for ")
