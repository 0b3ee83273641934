"""What a release must keep beside the earlier ones to be published, and what is warned of."""

from dataclasses import replace
from typing import Any

import pytest

from algorithms.errors import ContractError, RefusedError, SpecError
from algorithms.evaluation import Evaluation
from algorithms.history import History
from expectations.data_warnings import series_warnings
from expectations.gate import Approval, Verdicts
from expectations.published.verifier import verify
from expectations.remedies import TOLD_APART, remedy
from expectations.request.sections.gate import GateSection
from expectations.request.sections.series import SeriesSection
from flows.checking import checked as check_all
from tasks.explore.cell import measures_of, try_choice
from tasks.ingest import ingest
from tasks.publish import publish
from tasks.store.predecessors import changes_of_series, check_revision, published
from tasks.store.register import Register
from tasks.validate import validate
from tests.conftest import Request
from tests.publishing import approved, candidate, publish_all
from tests.vaults import made

COHORTS = SeriesSection(method="cohorts")


def gate(floors: dict[str, float] | None = None, **ceilings: float) -> GateSection:
    limits = {"il": 50.0, "dld": 50.0, "muted": 10.0, **ceilings}
    return GateSection.model_validate({"ceilings": limits, "floors": floors or {}})


def measured(**measures: float) -> Evaluation:
    known = {"il": 1.0, "dld": 1.0, "k": 5.0, "muted": 0.0, **measures}
    return Evaluation(known, 9, 3, {3: 3})


def verdicts(limits: GateSection, **measures: float) -> Verdicts:
    return Verdicts(measured(**measures), limits, 5, series=COHORTS)


KEPT = {"candidates_min": 5.0, "lone_changes": 0.0}


def test_groups_that_last_promise_k_across_releases_without_a_limit_in_the_spec() -> None:
    judged = verdicts(gate(), **KEPT)
    assert [(v.measure, v.limit, v.floor) for v in judged][-2:] == [
        ("candidates_min", 5.0, True),
        ("lone_changes", 0.0, False),
    ]
    assert Approval(judged, "d").digest == "d"


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        (
            {**KEPT, "candidates_min": 4.0},
            "fewest candidates across releases is 4.00, below its floor of 5.00: try a larger "
            "series.il_over_fresh than 1.25",
        ),
        ({**KEPT, "lone_changes": 1.0}, "is 1.00, above its ceiling of 0.00: try a larger series"),
        ({"lone_changes": 0.0}, "does not apply to this table: releases could not be compared"),
        ({"candidates_min": 5.0}, "does not apply to this table: releases could not be compared"),
    ],
)
def test_nothing_is_approved_that_breaks_this_promise(
    measures: dict[str, float], words: str
) -> None:
    with pytest.raises(RefusedError) as raised:
        Approval(verdicts(gate(), **measures), "d")
    assert words in str(raised.value)


def test_a_stricter_limit_of_the_spec_takes_the_place_of_the_promise() -> None:
    strict = gate({"candidates_min": 7.0}, lone_changes=0.0)
    judged = [v for v in verdicts(strict, **KEPT) if v.measure in KEPT]
    assert [(v.measure, v.limit, v.passed) for v in judged] == [
        ("lone_changes", 0.0, True),
        ("candidates_min", 7.0, False),
    ]
    loose = gate({"candidates_min": 2.0}, lone_changes=3.0)
    assert [v.limit for v in verdicts(loose, **KEPT) if v.measure in KEPT] == [3.0, 2.0, 5.0, 0.0]


def test_cohorts_need_a_ceiling_of_muted_records() -> None:
    limits = GateSection.model_validate({"ceilings": {"il": 50.0, "dld": 50.0}})
    with pytest.raises(RefusedError, match="muted has no ceiling: give one"):
        Approval(verdicts(limits, **KEPT), "d")
    fresh = Verdicts(measured(), limits, 5, series=SeriesSection())
    assert Approval(fresh, "d").verdicts.missing == ()


def test_why_releases_were_not_compared_is_said() -> None:
    found = replace(measured(lone_changes=0.0), notes={"candidates_min": "Left out: all is muted"})
    with pytest.raises(RefusedError, match="could not be compared, because all is muted"):
        Approval(Verdicts(found, gate(), 5, series=COHORTS), "d")


@pytest.mark.parametrize("measure", [*TOLD_APART, "lone_changes", "l_across"])
def test_groups_that_last_are_the_first_remedy(measure: str) -> None:
    assert remedy(measure, None, None).startswith(
        "try groups that last (series.method: cohorts), then publish fewer releases"
    )
    wider = SeriesSection(method="cohorts", il_over_fresh=1.5)
    assert remedy(measure, None, None, wider).startswith(
        "try a larger series.il_over_fresh than 1.5, which leaves room for larger groups, then"
    )


def test_muted_records_have_remedies_of_their_own() -> None:
    words = remedy("muted", None, None)
    assert words.startswith("try a larger series.il_over_fresh, then a series.window")
    assert "mutes more records" in remedy("il_over_fresh", None, None)


def test_an_approval_is_for_the_series_of_the_spec(request_of: Request) -> None:
    masked, approval, spec, record = candidate(request_of)
    other = spec.model_copy(update={"series": SeriesSection(window=3)})
    with pytest.raises(ContractError, match="and the series of the spec; got another"):
        publish.fn(masked, approval, other, record)


SEEN = {"candidates_min": 1.0, "singled_out": 81.0, "under_k_across": 90.0, "lone_changes": 2.0}


def test_a_series_is_never_silently_unprotected(request_of: Request) -> None:
    found = replace(measured(**SEEN), compared=("2026-Q1", "2026-Q2"))
    (warning,) = series_warnings(request_of.load(), found)
    assert warning == (
        "nothing in the spec protects its series; compared with 2 earlier releases: fewest "
        "candidates across releases 1, singled out across releases 81.0000 %, below k across "
        "releases 90.0000 %, lone changes 2. Set series.method to cohorts, or limit these measures "
        "in gate"
    )
    (warning,) = series_warnings(request_of.load(series={"window": 3}), found)
    assert warning.startswith("nothing in the spec protects its series")
    (warning,) = series_warnings(request_of.load(), replace(found, compared=("2026-Q1",)))
    assert "compared with 1 earlier release: " in warning


def test_a_protected_series_and_a_first_release_are_not_warned_of(request_of: Request) -> None:
    found = replace(measured(**SEEN), compared=("2026-Q1",))
    limits = {"ceilings": {"il": 50.0, "dld": 50.0, "singled_out": 5.0}}
    for spec in (
        request_of.load(series={"method": "cohorts"}),
        request_of.load(gate=limits),
    ):
        assert series_warnings(spec, found) == ()
    for compared in ((), None):
        assert series_warnings(request_of.load(), replace(found, compared=compared)) == ()


def test_editions_that_were_compared_are_part_of_the_evaluation(request_of: Request) -> None:
    from tasks.pipeline import mask_and_measure, plainly

    spec = request_of.load()
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    assert mask_and_measure(table, spec, plainly)[1].compared is None
    assert mask_and_measure(table, spec, plainly, history=History())[1].compared == ()


@pytest.fixture
def earlier(published: Request) -> Request:
    """Publish the small release with k = 3."""
    return published


def manifests(request_of: Request) -> Any:
    return published(Register(request_of.register), "small")


def revision(**sections: Any) -> dict[str, Any]:
    return {"release": {"revision": 1, "reason": "a mistake"}, **sections}


def test_a_revision_never_has_a_smaller_k_or_other_roles(earlier: Request) -> None:
    past = manifests(earlier)
    check_revision(past, earlier.load(**revision(microaggregation={"k": 4})))
    with pytest.raises(RefusedError, match="k is 2, and that of 2026-Q3 is 3: set microaggreg"):
        check_revision(past, earlier.load(**revision(microaggregation={"k": 2})))
    moved = {"strata": ["zone"], "confidential": ["score"]}
    with pytest.raises(RefusedError) as raised:
        check_revision(past, earlier.load(**revision(columns=moved)))
    assert "listed in columns.strata, columns.confidential: restore these roles" in str(
        raised.value
    )
    weighted = {"weight": "score", "confidential": ["zone"]}
    with pytest.raises(RefusedError, match=r"columns.weight, columns.confidential"):
        check_revision(past, earlier.load(**revision(columns=weighted)))


def test_another_period_may_have_another_k(earlier: Request) -> None:
    other = earlier.load(release={"period": "2026-Q4"}, microaggregation={"k": 2})
    check_revision(manifests(earlier), other)
    check_revision([], earlier.load(**revision()))


NEXT = {"period": "2026-Q4"}


def test_a_check_finds_what_a_run_would_refuse_or_warn_of(earlier: Request) -> None:
    with pytest.raises(SpecError, match="a revision must say why"):
        check_all(earlier.load(release={"revision": 1}))
    with pytest.raises(RefusedError, match="must not have a smaller k"):
        check_all(earlier.load(**revision(microaggregation={"k": 2})))
    found = check_all(earlier.load(release=NEXT, microaggregation={"k": 4}))
    assert any(warning.startswith("k is 4, and was 3 in 2026-Q3") for warning in found.warnings)


def warned(request_of: Request, **sections: Any) -> tuple[str, ...]:
    return changes_of_series(manifests(request_of), request_of.load(**sections))


def test_a_series_that_changes_in_the_middle_is_warned_of(earlier: Request) -> None:
    assert warned(earlier) == ()
    assert warned(earlier, release=NEXT) == ()
    (warning,) = warned(earlier, release=NEXT, series={"method": "cohorts"})
    assert warning == (
        "groups last from this release on, and 2026-Q3 was grouped afresh: records that the "
        "earlier releases tell apart already are muted"
    )
    raised, muted = warned(
        earlier, release=NEXT, series={"method": "cohorts"}, microaggregation={"k": 4}
    )[::-1]
    assert raised.endswith("releases leave fewer than 4 candidates are muted")
    assert muted == warning
    (raised,) = warned(earlier, release=NEXT, microaggregation={"k": 4})
    assert raised == (
        "k is 4, and was 3 in 2026-Q3: records to which earlier releases leave fewer than 4 "
        "candidates count as below k across releases"
    )


def test_groups_that_no_longer_last_are_warned_of(earlier: Request) -> None:
    (past,) = manifests(earlier)
    lasting = past.adding(spec={**past.spec, "series": {"method": "cohorts"}})
    (warning,) = changes_of_series([lasting], earlier.load(release=NEXT))
    assert warning.startswith("groups lasted until 2026-Q3, and this release is grouped afresh")


def test_releases_that_cannot_be_compared_are_warned_of(earlier: Request) -> None:
    nobody = {"identifiers": [], "dropped": {"id": "numbers the lines"}}
    (warning,) = warned(earlier, release=NEXT, columns=nobody, microaggregation={"k": 4})
    assert warning.startswith(
        "1 release of this dataset published earlier cannot be compared with this one, because the "
        "spec names no identifiers"
    )
    new = {"persons": "new each period", "reason": "a new sample"}
    assert warned(earlier, release=NEXT, columns=nobody, series=new) == ()
    publish_all(earlier, release={"period": "2026-Q4"})
    (warning,) = warned(earlier, release={"period": "2027-Q1"}, columns=nobody)
    assert warning.startswith("2 releases of this dataset")


def test_a_map_takes_the_table_for_a_first_release(request_of: Request) -> None:
    limits = {"ceilings": {"il": 100.0, "dld": 100.0, "muted": 50.0}}
    spec = request_of.load(series={"method": "cohorts"}, gate=limits)
    assert {"candidates_min", "lone_changes", "muted"} <= set(measures_of(spec))
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    cell = try_choice(table, spec, spec.microaggregation)
    assert cell.admissible
    assert {v.measure for v in cell.verdicts} >= {"candidates_min", "lone_changes", "muted"}
    nobody = {"identifiers": [], "dropped": {"id": "numbers the lines"}}
    plain = request_of.load(columns=nobody)
    assert "candidates_min" not in measures_of(plain)
    assert try_choice(table, plain, plain.microaggregation).admissible


def test_a_table_whose_groups_last_is_published_with_its_promise(request_of: Request) -> None:
    limits = {"ceilings": {"il": 100.0, "dld": 100.0, "muted": 50.0}}
    spec = request_of.load(series={"method": "cohorts"}, gate=limits)
    with pytest.raises(RefusedError, match="releases could not be compared"):
        approved(spec)
    folder = publish.fn(*made(spec)).folder
    assert verify(folder).claims.series.candidates_min == 3
