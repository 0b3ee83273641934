"""Replays: periods, choices, findings, and the page."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algorithms.bounds.trajectory import Stretch
from algorithms.errors import DataError, RefusedError, SpecError
from algorithms.evaluation import Evaluation
from algorithms.history import History
from expectations.gate import Verdict
from flows.cli import main
from flows.replaying import period_specs, replayed
from tasks.replay import engine
from tasks.replay.choice import Choice, Replayed, Step, choices, measures_of
from tasks.replay.engine import Replay
from tasks.replay.findings import Findings, feasibility, recommendation
from tasks.replay.outputs import write_replay
from tasks.replay.page import series_page
from tasks.replay.periods import Period, counted, read_periods
from tasks.replay.pictures import drawn
from tasks.replay.table import csv_of, rows_of
from tests.conftest import Request

QUARTERS = ("2026-Q1", "2026-Q2", "2026-Q3")


def write_series(request_of: Request, rows: int = 40, **sections: Any) -> Path:
    """Write a spec and three quarters in which one of ten persons leaves and another enters."""
    rng = np.random.default_rng(1)
    people = list(range(rows))
    sizes = {person: rng.lognormal(3.0, 1.0) for person in range(3 * rows)}
    for quarter in QUARTERS:
        lines = [
            f"p{each},z{each % 3},{int(sizes[each]) + 1},{sizes[each] * rng.uniform(0.9, 1.1):.1f},"
            f"{rng.integers(99)}"
            for each in people
        ]
        path = request_of.folder / f"table-{quarter}.csv"
        path.write_text("\n".join(["id,zone,staff,sales,score", *lines, ""]), encoding="utf-8")
        people = [*people[rows // 10 :], *range(max(people) + 1, max(people) + 1 + rows // 10)]
    release = {"period": None, "every": "quarter", "time_zone": "UTC"}
    request_of.content["release"].pop("period")
    request_of.content["release"] |= {k: v for k, v in release.items() if v}
    request_of.content["source"] = {"path": "table-{period}.csv"}
    return request_of.write(**sections)


def step(period: str = "2026-Q1", over_fresh: float = 1.0, **measures: float) -> Step:
    found = Evaluation({"il": 20.0, "dld": 30.0, "k": 3.0, **measures}, 9, 3, {3: 3})
    return Step(period, found, (), over_fresh)


def findings(spec: Any, *replays: Replayed, bounds: Any = None, **more: Any) -> Findings:
    periods = tuple(Period(name, 9, 1, 2, 3) for name in QUARTERS[:2])
    return Findings(spec, periods, replays, bounds or {}, **more)


KEPT = {"candidates_min": 3.0, "under_k_across": 0.0, "singled_out": 0.0, "lone_changes": 0.0}
BROKEN = {"candidates_min": 1.0, "under_k_across": 60.0, "singled_out": 40.0, "lone_changes": 1.0}


def cohorts(muted: float, ceiling: float = 1.25, window: int | None = None) -> Replayed:
    steps = (step(muted=0.0, **KEPT), step(QUARTERS[1], ceiling, muted=muted, **KEPT))
    return Replayed(Choice("cohorts", window, ceiling), steps)


FRESH = Replayed(Choice("mdav"), (step(muted=0.0, **KEPT), step(muted=0.0, **BROKEN)))


def test_periods_are_those_whose_files_are_at_hand_in_their_order(request_of: Request) -> None:
    path = write_series(request_of)
    (request_of.folder / "table-2026-Q5.csv").write_text("no period")
    (request_of.folder / "table-2026-Q3.csv.bak").write_text("no source")
    assert [spec.release.period for spec in period_specs(path, None)] == list(QUARTERS)
    named = period_specs(path, ["2026-Q3", "2026-Q1", "2026-Q3"])
    assert [spec.release.period for spec in named] == ["2026-Q3", "2026-Q1"]


def test_a_spec_without_a_length_of_periods_finds_any(request_of: Request) -> None:
    for name in ("a", "b"):
        (request_of.folder / f"wave {name}.csv").write_text("x")
    path = request_of.write(source={"path": "wave {period}.csv"})
    assert [spec.release.period for spec in period_specs(path, None)] == ["a", "b"]


@pytest.mark.parametrize(
    ("sections", "periods", "message"),
    [
        ({"columns": {"identifiers": [], "dropped": {"id": "unused"}}}, None, "names none"),
        (
            {"series": {"persons": "new each period", "reason": "samples"}},
            None,
            "there is nothing to compare",
        ),
        ({"microaggregation": {"each_column": True}}, None, "cannot last"),
        ({"source": {"path": "table.csv"}}, None, "name the periods with --periods"),
        ({}, ["2026-Q1"], "at least 2 periods; 1 found"),
    ],
)
def test_a_series_that_cannot_be_replayed_is_refused_in_words(
    request_of: Request, sections: dict[str, Any], periods: list[str] | None, message: str
) -> None:
    path = write_series(request_of, **sections)
    with pytest.raises(SpecError, match=message):
        period_specs(path, periods)


def test_a_person_has_the_same_number_in_all_periods_and_is_counted(request_of: Request) -> None:
    specs = period_specs(write_series(request_of), None)
    tables = read_periods(specs)
    persons = [set(np.asarray(table.persons).tolist()) for table in tables]
    assert [len(persons[t] & persons[t + 1]) for t in range(2)] == [36, 36]
    assert counted(QUARTERS, tables) == (
        Period("2026-Q1", 40, 40, 0, 0),
        Period("2026-Q2", 40, 4, 4, 0),
        Period("2026-Q3", 40, 4, 4, 0),
    )
    back = (tables[0], tables[2], tables[0])
    assert counted(QUARTERS, back)[2] == Period("2026-Q3", 40, 0, 8, 8)


def test_identifiers_may_be_numbers_in_one_period_and_text_in_another(request_of: Request) -> None:
    path = write_series(request_of)
    for quarter in QUARTERS[:2]:
        file = request_of.folder / f"table-{quarter}.csv"
        file.write_text(re.sub(r"^p", "", file.read_text(), flags=re.MULTILINE))
    tables = read_periods(period_specs(path, None))
    assert np.intersect1d(tables[0].persons, tables[1].persons).size == 36
    assert np.intersect1d(tables[1].persons, tables[2].persons).size == 0


def test_two_records_of_one_person_are_refused(request_of: Request) -> None:
    path = write_series(request_of)
    file = request_of.folder / "table-2026-Q2.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines, lines[-1], ""]))
    with pytest.raises(DataError, match="must be unique"):
        read_periods(period_specs(path, None))


def test_choices_are_fresh_groups_and_cohorts_for_each_window(request_of: Request) -> None:
    spec = request_of.load(microaggregation={"method": "best"})
    found = choices(spec, [None, 3], [1.5, 1.1, 1.5])
    assert [each.name for each in found] == [
        "fresh mdav", "fresh mdav, window 3", "fresh best", "fresh best, window 3",
        "cohorts 1.1", "cohorts 1.5", "cohorts 1.1, window 3", "cohorts 1.5, window 3",
    ]  # fmt: skip
    assert len(choices(request_of.load(), [None], [1.1])) == 2


def test_a_choice_changes_the_method_of_the_series_and_nothing_else(request_of: Request) -> None:
    how = {"method": "best", "options": {"iterations": 9}}
    spec = request_of.load(microaggregation=how, series={"links": "measured"})
    lasting = Choice("cohorts", 4, 1.3).spec(spec)
    assert lasting.series is not None
    assert lasting.series.model_dump(exclude_defaults=True) == {
        "method": "cohorts", "window": 4, "il_over_fresh": 1.3, "links": "measured",
    }  # fmt: skip
    assert lasting.microaggregation == spec.microaggregation
    assert Choice("best").spec(spec).microaggregation == spec.microaggregation
    yardstick = Choice("mdav").spec(spec).microaggregation
    assert (yardstick.method, yardstick.k, yardstick.options) == ("mdav", 3, {})


def test_costly_measures_are_those_of_the_last_release(request_of: Request) -> None:
    spec = request_of.load(gate={"ceilings": {"il": 1.0, "dld": 1.0, "pmse": 0.1}})
    early, last = (set(measures_of(spec, last=each)) for each in (False, True))
    assert {"il", "pmse", "candidates_min", "muted"} <= early
    assert {"exact_singled_out"} <= last - early


def test_past_periods_are_replayed_and_proofs_are_given(request_of: Request) -> None:
    found = replayed(period_specs(write_series(request_of), None), [None, 2], [1.25])
    assert [each.choice.name for each in found.replays] == [
        "fresh mdav", "fresh mdav, window 2", "cohorts 1.25", "cohorts 1.25, window 2",
    ]  # fmt: skip
    fresh, _, lasting, _ = found.replays
    assert [each.period for each in fresh.steps] == list(QUARTERS)
    assert fresh.values("over_fresh") == [1.0, 1.0, 1.0]
    assert fresh.most("under_k_across") > 0.0
    assert not fresh.keeps_k
    assert lasting.most("under_k_across") == 0.0
    assert fresh.most("muted") == 0.0
    assert list(found.bounds) == [None, 2]
    assert max(stretch.releases for stretch in found.bounds[2]) == 2
    assert found.unproven == ""


def test_cohorts_that_start_from_known_groups_are_those_of_a_release(request_of: Request) -> None:
    specs = period_specs(write_series(request_of), None)
    tables = read_periods(specs)
    replay = Replay(tables, specs)
    choice = Choice("cohorts", None, 1.25)
    released, known = (
        engine.mask(tables[0], choice.spec(specs[0]).plan),
        replay._masked(choice, 0, History()),
    )
    assert np.array_equal(
        released.groupings[0].partition.labels, known.groupings[0].partition.labels
    )


def test_a_window_makes_attackers_weaker(request_of: Request) -> None:
    specs = period_specs(write_series(request_of), None)
    replay = Replay(read_periods(specs), specs)
    everything, recent = (replay.run(Choice("mdav", window), 3) for window in (None, 2))
    assert recent.last("under_k_across") <= everything.last("under_k_across")
    assert recent.values("il") == everything.values("il")


def test_a_choice_that_fails_does_not_stop_the_others(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = period_specs(write_series(request_of), QUARTERS[:2])
    grouped = engine.mask

    def fails(table: Any, plan: Any, history: Any = None, fresh: Any = None) -> Any:
        if plan.cohorts is not None and history.past:
            raise RuntimeError("a cell")
        return grouped(table, plan, history=history, fresh=fresh)

    monkeypatch.setattr(engine, "mask", fails)
    fresh, lasting = replayed(specs, [None], [1.25]).replays
    assert fresh.fault == ""
    assert len(lasting.steps) == 1
    assert lasting.fault.startswith("2026-Q2: replay failed: RuntimeError at ")
    assert not lasting.keeps_k
    assert not lasting.passes


def test_a_period_that_cannot_be_read_or_released_is_named(request_of: Request) -> None:
    path = write_series(request_of, columns={"confidential": ["score"], "strata": ["zone"]})
    file = request_of.folder / "table-2026-Q2.csv"
    text = file.read_text()
    file.write_text(text.replace("z1", "z9", 1))
    with pytest.raises(RefusedError, match="2026-Q2: strata must hold at least k=3 records"):
        replayed(period_specs(path, None), [None], [1.25])
    file.write_text("\n".join([*text.splitlines()[:3], ""]))
    with pytest.raises(DataError, match="2026-Q2: the file must have at least k=3 rows"):
        replayed(period_specs(path, None), [None], [1.25])


def test_nothing_is_proven_for_large_tables_and_this_is_said(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "LARGEST_BOUND", 39)
    specs = period_specs(write_series(request_of), QUARTERS[:2])
    found = replayed(specs, [None], [1.25])
    assert found.bounds == {None: ()}
    assert found.proofs == ()
    assert feasibility(found) == [
        "What no method can avoid is not proven: a period has more than 5,000 records."
    ]


def test_nothing_is_proven_for_weights(request_of: Request) -> None:
    path = write_series(
        request_of,
        columns={"confidential": ["zone"], "weight": "score", "weight_published": "never"},
    )
    for quarter in QUARTERS:
        file = request_of.folder / f"table-{quarter}.csv"
        file.write_text(re.sub(r",0$", ",1", file.read_text(), flags=re.MULTILINE))
    found = replayed(period_specs(path, QUARTERS[:2]), [None], [1.25])
    assert "no lower bound is proven for records with weights" in feasibility(found)[0]


def test_the_choice_that_loses_least_against_the_strongest_attacker_is_recommended(
    request_of: Request,
) -> None:
    spec = request_of.load()
    cheap, dear, weak = cohorts(4.0, 1.1), cohorts(1.0, 1.5), cohorts(0.0, 1.0, window=2)
    found = findings(spec, FRESH, dear, cheap, weak)
    assert found.recommended is cheap
    words = recommendation(found)
    assert "Use cohorts with il_over_fresh: 1.1: k holds in each of 2 releases" in words
    assert "loses 1.05 times as much as fresh groups of mdav on average and mutes 2.0 %" in words
    narrow = findings(spec, FRESH, replace(cheap, steps=cohorts(9.0).steps), weak)
    assert narrow.recommended is narrow.replays[-1]
    assert "over 2 releases only" in recommendation(
        findings(spec, cohorts(9.0), cohorts(0.0, window=2))
    )


def test_the_ceiling_of_the_spec_decides_how_many_may_be_muted(request_of: Request) -> None:
    strict = request_of.load(gate={"ceilings": {"il": 90.0, "dld": 90.0, "muted": 2.0}})
    found = findings(strict, cohorts(3.0))
    assert (found.most_muted, found.recommended) == (2.0, None)
    words = recommendation(found)
    assert "mutes up to 3.0 % of a release, more than 2 %" in words
    assert "Allow a larger loss or more muted records" in words


def test_without_a_choice_that_keeps_k_there_is_no_recommendation(request_of: Request) -> None:
    spec = request_of.load()
    assert recommendation(findings(spec, FRESH)) == (
        "No choice that was tried keeps k over all releases."
    )
    failed = replace(cohorts(0.0), fault="2026-Q2: no")
    assert "Caution: 1 of 2 choices could not be replayed." in recommendation(
        findings(spec, FRESH, failed)
    )


def test_limits_that_a_choice_breaks_are_named(request_of: Request) -> None:
    over = Verdict("il", 50.0, 40.0, False, False)
    steps = tuple(replace(each, verdicts=(over,)) for each in cohorts(0.0).steps)
    words = recommendation(findings(request_of.load(), replace(cohorts(0.0), steps=steps)))
    assert "which breaks limits of the spec (IL)" in words


def test_what_is_not_feasible_is_said(request_of: Request) -> None:
    spec = request_of.load()
    tried = [cohorts(1.0, ceiling) for ceiling in (1.1, 1.5)]
    beyond = Stretch(0, 1, 200, 1.4, 0.8, 0, np.full(20, 0.07))
    alone = Stretch(0, 0, 90, 0.5, 0.8, 4, np.full(20, 0.02))
    found = findings(spec, *tried, bounds={None: (beyond, alone)})
    (words,) = feasibility(found)
    assert "over all releases, no method that mutes nobody can lose less than 1.40 times" in words
    assert "At any loss, at least 4 of 90 persons must be muted at least once (2026-Q1)" in words
    assert (
        "At 1.1 times, at least 5 of 200 persons must be muted at least once (2026-Q1 to "
        "2026-Q2): muting nobody is not feasible at this ceiling." in words
    )
    assert "it loses at least 1.75 times as much (2026-Q1 to 2026-Q2, 200 persons)" in words
    assert "At 1.5 times" not in words
    assert [proof.feasible for proof in found.proofs] == [False, False]
    free = findings(spec, *tried, bounds={3: (Stretch(0, 1, 9, 0.8, 0.8, 0, np.zeros(9)),)})
    assert [proof.feasible for proof in free.proofs] == [True, True]
    assert "over 3 releases" in feasibility(free)[0]


def test_releases_are_listed_as_rows_without_what_does_not_apply() -> None:
    rows = rows_of([FRESH])
    assert (rows[1]["under_k_across"], rows[1]["solved"], rows[1]["window"]) == (60.0, "", "")
    assert csv_of([FRESH]).splitlines()[0].startswith("method,window,il_over_fresh,period")


def test_the_page_shows_choices_proofs_and_attackers(request_of: Request, tmp_path: Path) -> None:
    found = findings(
        request_of.load(),
        FRESH,
        cohorts(1.0),
        replace(cohorts(2.0, 1.5, window=4), fault="2026-Q2: it failed"),
        bounds={None: (Stretch(0, 1, 200, 1.4, 0.8, 0, np.full(20, 0.07)),)},
    )
    page = write_replay(found, tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    assert {path.name for path in page.parent.iterdir()} == {
        "series.html", "releases.csv", "price.png", "muted.png", "under-k.png", "over-fresh.png",
    }  # fmt: skip
    for words in ("Recommended: cohorts 1.25", "not feasible", "2026-Q2: it failed", "k kept"):
        assert words in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("replay", "heading"),
    [
        (FRESH, "No choice keeps k over all releases within the limits"),
        (cohorts(1.0, window=2), "Recommended, if records cannot be followed for longer"),
    ],
)
def test_the_heading_of_the_page_says_how_far_the_promise_reaches(
    request_of: Request, replay: Replayed, heading: str
) -> None:
    found = findings(request_of.load(), replay)
    assert heading in series_page(found, dict.fromkeys(drawn(found), "<svg></svg>"))


def test_pictures_show_choices_that_gave_no_release(request_of: Request) -> None:
    nothing = Replayed(Choice("cohorts", None, 1.1), (), fault="no")
    assert set(drawn(findings(request_of.load(), nothing, FRESH))) == {
        "price", "muted", "under-k", "over-fresh",
    }  # fmt: skip


def test_the_command_prints_a_table_and_writes_the_page(
    request_of: Request, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write_series(request_of)
    options = ["--windows", "all", "2", "--ceilings", "1.25", "--out", str(tmp_path / "out")]
    assert main(["series", str(path), *options]) == 0
    shown = capsys.readouterr().out
    assert "2026-Q1 to 2026-Q3: replaying" in shown
    assert len(re.findall(r"^  cohorts 1.25, window 2 +2026-Q\d   IL", shown, re.MULTILINE)) == 3
    assert re.search(r"^fresh mdav +\d+\.\d\d +1\.00 +0\.0 +0\.0", shown, re.MULTILINE)
    assert "no method that mutes nobody can lose less than" in shown
    assert (tmp_path / "out" / "series.html").exists()
    assert not request_of.register.exists()
    assert not request_of.public.exists()


def test_the_command_writes_one_json_document(
    request_of: Request, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write_series(request_of)
    options = ["--periods", *QUARTERS[:2], "--ceilings", "1.5", "--out", str(tmp_path), "--json"]
    assert main(["series", str(path), *options]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in document["periods"]] == list(QUARTERS[:2])
    assert [each["method"] for each in document["choices"]] == ["mdav", "cohorts"]
    assert document["choices"][0]["releases"][1]["under_k_across"] > 0.0
    assert {"least_muted", "feasible", "least_il_over_fresh"} <= set(document["proofs"][0])


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--windows", "1", "at least 2, or all"),
        ("--windows", "x", "at least 2, or all"),
        ("--ceilings", "0.5", "from 1 to 10"),
        ("--ceilings", "x", "from 1 to 10"),
    ],
)
def test_windows_and_ceilings_are_checked(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["series", "spec.yaml", option, value])
    assert message in capsys.readouterr().err
