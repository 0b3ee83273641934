"""The timeline of a dataset: picture, tables and page."""

from pathlib import Path
from typing import Any

import pytest

from expectations.gate import Verdict
from expectations.request.named import Change
from flows.cli import display
from tasks.reporting.artefacts import _history_table
from tasks.reporting.pictures import PAPER
from tasks.reporting.register_page import register_page
from tasks.reporting.timeline import over_time, panels, timeline
from tasks.store.audit import Audit
from tasks.store.history import Past
from tasks.store.shifts import shifts


def past(quarter: int, **more: Any) -> Past:
    return Past(
        **{
            "attempt": f"00000{quarter}-survey-2026-Q{quarter}",
            "time": "2026-10-01T10:00:00+00:00",
            "dataset": "survey",
            "period": f"2026-Q{quarter}",
            "decision": "published",
            "reason": "",
            "started_by": "ana",
            "k": 5,
            "method": "best",
            "il": 20.0 + quarter,
            "il_ceiling": 25.0,
            "dld": 30.0,
            "dld_ceiling": 38.0,
            "measures": {"k": 5.0},
            **more,
        }
    )


ALONE = [past(1), past(2)]
SERIES = [
    past(1, candidates_min=None, muted=100.0, muted_ceiling=9.0, decision="blocked"),
    past(2, candidates_min=6.0, muted=0.0, muted_ceiling=9.0),
    past(3, candidates_min=5.0, muted=1.25, muted_ceiling=9.0),
]


TITLES = ["IL, % (ceiling 25)", "DLD, % (ceiling 38)", "k (floor 5)"]


def titles(pasts: list[Past]) -> list[str]:
    return [panel.title for panel in panels(pasts)]


def test_a_series_has_panels_of_candidates_and_muted_records() -> None:
    assert titles(ALONE) == TITLES
    of_series = ["fewest candidates across releases (floor 5)", "muted, % (ceiling 9)"]
    assert titles(SERIES) == [*TITLES, *of_series]
    drawn = over_time(SERIES)
    assert [axes.get_title(loc="left") for axes in drawn.axes] == titles(SERIES)


def test_every_gated_measure_has_a_panel_with_its_limit() -> None:
    judged = past(1, verdicts=(Verdict("l_distinct", 3.0, 2.0, floor=True, passed=True),))
    unknown = past(2, verdicts=(Verdict("of_another_version", 1.5, 2.0, False, True),))
    assert titles([judged, unknown])[3:] == [
        "distinct l-diversity (floor 2)",
        "of_another_version (ceiling 2)",
    ]
    assert titles([past(1, il_ceiling=float("nan"))])[0] == "IL, %"


def test_a_picture_is_described_for_people_who_cannot_see_it() -> None:
    picture, *_ = timeline(SERIES, "survey")
    assert "Timeline of survey: IL, % (ceiling 25): 2026-Q1 21, 2026-Q2 22, 2026-Q3 23" in picture
    *_, candidates, _ = timeline(SERIES, "survey")
    assert "2026-Q1 none, 2026-Q2 6" in candidates


def test_revisions_and_changes_of_limits_are_marked_with_words() -> None:
    larger = Change("microaggregation.k", 5, 8)
    diverse = Change("gate.floors.l_distinct", None, 2)
    revision = {"period": "2026-Q2, revision 1", "revision": 1, "attempt": "9"}
    changed = [
        past(1, ceilings={"il": 25.0, "dld": 38.0}),
        past(2, ceilings={"il": 20.0}, k=8, changes=(larger,)),
        past(2, ceilings={"il": 20.0}, k=8, changes=(larger, diverse), **revision),
    ]
    il, dld, k = timeline(changed, "survey")
    assert all(">k 5 → 8<" in picture for picture in (il, dld))
    assert ">5 → 8 by the run<" in k
    assert ">8 by the run<" in k
    assert ">25 → 20<" in il
    assert ">38 → none<" in dld
    assert all(">r1<" in picture for picture in (il, dld, k))
    found = shifts(changed)
    assert [str(shift) for shift in found] == [
        "k 8, 5 in the period before",
        "ceiling of IL 20 %, 25 % in the period before",
        "ceiling of DLD none, 38 % in the period before",
        "k 8 in this run, 5 in the reviewed spec",
        "k 8 in this run, 5 in the reviewed spec",
        "floor of distinct l-diversity 2 in this run, none in the reviewed spec",
    ]
    assert [shift.tightens for shift in found] == [True, True, False, True, True, True]
    page = register_page({Path("/register"): (Audit(), changed)})
    assert "Changes of k and of limits of survey, and who started the runs" in page


def test_marks_that_do_not_fit_are_left_to_the_table() -> None:
    changing = [
        past(1, attempt=f"{i}", period=f"wave-{i}", ceilings={"il": 20.0 + i}, k=3 + i)
        for i in range(24)
    ]
    assert all(picture.count("→") < 20 for picture in timeline(changing, "survey"))
    assert len(shifts(changing)) == 46


def test_attempts_that_were_not_published_are_hollow() -> None:
    hollow = f"fill: var(--paper, {PAPER})"
    assert hollow in timeline([past(1, decision="blocked")], "survey")[0]
    assert hollow not in timeline([past(1, decision="unchanged")], "survey")[0]


def test_the_table_of_an_artefact_has_columns_of_a_series_only_where_there_is_one() -> None:
    (plain,) = _history_table(ALONE)
    assert plain.splitlines()[0] == "| release | decision | IL | at most | DLD | at most |"
    heading, _, last, middle, first = next(_history_table(SERIES)).splitlines()
    assert heading.endswith("| fewest candidates | muted |")
    assert last.endswith("| 5 | 1.25 % |")
    assert middle.endswith("| 6 | 0.00 % |")
    assert first.endswith("|  | 100.00 % |")
    assert list(_history_table([])) == []


def test_the_page_shows_candidates_and_muted_records() -> None:
    page = register_page({Path("/register"): (Audit(), SERIES)})
    for words in ("5 candidates, 1.2 % muted", "nobody is visible", "Timeline of survey"):
        assert words in page
    assert "fewest candidates" not in register_page({Path("/register"): (Audit(), ALONE)})


def test_the_command_prints_the_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    display.timeline("survey", SERIES)
    _, title, heading, first, _, last = capsys.readouterr().out.splitlines()
    assert title.strip() == "Timeline of survey"
    assert heading.split() == ["release", "IL", "DLD", "candidates", "muted", "decision"]
    assert first.split() == ["2026-Q1", "21.00", "%", "30.00", "%", "100.00", "%", "blocked"]
    assert last.split() == ["2026-Q3", "23.00", "%", "30.00", "%", "5", "1.25", "%", "published"]
