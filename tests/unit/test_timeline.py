"""The timeline of a dataset: picture, tables and page."""

from pathlib import Path
from typing import Any

import pytest

from flows.cli import display
from tasks.reporting.artefacts import _history_table
from tasks.reporting.pictures import as_svg
from tasks.reporting.register_page import over_time, register_page
from tasks.store.audit import Audit
from tasks.store.history import Past


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
            **more,
        }
    )


ALONE = [past(1), past(2)]
SERIES = [
    past(1, candidates_min=None, muted=100.0, muted_ceiling=9.0, decision="blocked"),
    past(2, candidates_min=6.0, muted=0.0, muted_ceiling=9.0),
    past(3, candidates_min=5.0, muted=1.25, muted_ceiling=9.0),
]


def test_a_series_has_panels_of_candidates_and_muted_records() -> None:
    plain, series = over_time(ALONE), over_time(SERIES)
    assert [axes.get_ylabel() for axes in plain.axes] == ["per cent"]
    assert [axes.get_ylabel() for axes in series.axes] == ["per cent", "candidates", "muted, %"]
    text = as_svg(series, "timeline")
    for words in ("fewest candidates", "ceiling of muted", "2026-Q3"):
        assert words in text


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
    assert "candidates" not in register_page({Path("/register"): (Audit(), ALONE)})


def test_the_command_prints_the_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    display.timeline("survey", SERIES)
    _, title, heading, first, _, last = capsys.readouterr().out.splitlines()
    assert title.strip() == "Timeline of survey"
    assert heading.split() == ["release", "IL", "DLD", "candidates", "muted", "decision"]
    assert first.split() == ["2026-Q1", "21.00", "%", "30.00", "%", "100.00", "%", "blocked"]
    assert last.split() == ["2026-Q3", "23.00", "%", "30.00", "%", "5", "1.25", "%", "published"]
