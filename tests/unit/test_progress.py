"""How far a stage is, and who is told."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from algorithms.types import Found
from flows.cli import display, listeners, main
from flows.cli.listeners import StageListener
from tasks.ingest import ingest
from tasks.listening import Listener, Search, listener, listening, report, reporter
from tasks.pipeline import mask_and_measure, plainly
from tasks.publish import publish
from tasks.store.audit import audit
from tasks.validate import validate
from tests.conftest import Request
from tests.publishing import candidate, folder_of


class Shares(Listener):
    def __init__(self) -> None:
        self.all: list[float] = []

    def progressed(self, share: float) -> None:
        self.all.append(share)


def test_a_part_of_a_stage_reports_its_share_of_the_stage() -> None:
    shares = Shares()
    with listening(shares):
        report = reporter(0.5, 1.0)
        report(0.0)
        report(0.5)
        reporter()(1.0)
    assert shares.all == [0.5, 0.75, 1.0]


def test_publication_and_audit_tell_how_far_they_are(request_of: Request) -> None:
    made = candidate(request_of)
    shares = Shares()
    with listening(shares):
        publish.fn(*made)
    assert shares.all == sorted(shares.all)
    assert shares.all[-1] == 1.0
    assert len(shares.all) > 3
    audited = Shares()
    with listening(audited):
        audit(request_of.register)
    assert audited.all == [0.0]


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, highlight=False)


def shown(progress: Any) -> str:
    console = terminal()
    console.print(progress.get_renderable())
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_long_stage_shows_a_bar_and_a_short_one_only_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with display._shares(terminal()) as progress:
        listener = StageListener(progress)
        listener.stage_started("evaluate")
        listener.progressed(0.25)
        assert progress.tasks[0].total is None
        assert "━" not in shown(progress)
        assert "evaluate" in shown(progress)
        monkeypatch.setattr(listeners, "PATIENCE", 0.0)
        listener.progressed(0.5)
        assert progress.tasks[0].percentage == 50.0
        assert "━" in shown(progress)
        # the next stage knows nothing yet
        listener.stage_ended("evaluate", 1.0)
        listener.stage_started("profile")
        assert [(task.description, task.total) for task in progress.tasks] == [("profile", None)]


def test_a_search_shows_its_loss_its_bound_and_about_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(listeners, "time", SimpleNamespace(monotonic=lambda: now))
    console = terminal()
    progress = display._shares(console)
    shown_by = StageListener(progress)
    shown_by._stage = "microaggregate"
    assert shown_by.shows_searches
    shown_by.searched(Search(0, 1000, 0.0, 17.0))
    now = 30.0  # kernels were compiled
    shown_by.searched(Search(20, 1000, 0.02, 17.0))
    now = 30.9
    shown_by.searched(Search(90, 1000, 0.09, 17.0))
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]
    now = 31.2
    shown_by.searched(Search(120, 1000, 0.12, 16.921, 15.804))
    assert progress.tasks[0].description == ("microaggregate: IL 16.92 %, bound 15.8 %, gap 7.07 %")
    now = 36.0
    shown_by.searched(Search(500, 1000, 0.5, 16.5))
    assert progress.tasks[0].description == "microaggregate: IL 16.5 %"
    assert console.file.getvalue() == "  the search takes about 12 s\n"  # type: ignore[attr-defined]


def test_a_short_search_is_not_timed_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(listeners, "time", SimpleNamespace(monotonic=lambda: now))
    console = terminal()
    shown_by = StageListener(display._shares(console))
    for share in (0.0, 0.1, 0.9, 1.0):
        shown_by.searched(Search(0, 1000, share, 17.0))
        now += 1.0
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("seconds", "words"), [(12.3, "12 s"), (99.4, "99 s"), (100.0, "2 min"), (3599.0, "60 min")]
)
def test_an_estimate_has_few_digits(seconds: float, words: str) -> None:
    assert listeners._rough(seconds) == words


def test_a_search_that_stopped_early_says_what_is_proven() -> None:
    console = Console(file=io.StringIO(), width=100)
    shown_by = StageListener(display._shares(console))
    assert not shown_by.shows_searches
    shown_by.searched(Search(3072, 102_400, 0.03, 10.097, 10.0, stopped=True))
    shown_by.stage_ended("microaggregate", 1.0)
    shown_by.searched(Search(512, None, 0.03, 10.0, 10.0, stopped=True))
    shown_by.stage_ended("microaggregate", 1.0)
    shown_by.stage_ended("evaluate", 1.0)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == (
        "  search stopped after 3,072 of 102,400 iterations: within 0.97 % of the optimum, proven"
    )
    assert lines[2].startswith("  search stopped after 512 iterations: within 0.00 %")
    assert len(lines) == 5


class Searches(Listener):
    shows_searches = True

    def __init__(self) -> None:
        self.all: list[Search] = []

    def searched(self, search: Search) -> None:
        self.all.append(search)


def test_listeners_are_told_figures_of_the_whole_table() -> None:
    searches = Searches()
    with listening(searches), listening(Shares()):
        assert listener().shows_searches
        report(5, 0.5, Found(2.0, spread=50.0, bound=1.6, planned=10))
        report(6, 0.6, Found(2.0, spread=50.0))
        report(7, 0.7, Found(2.0, spread=0.0))
        report(8, 0.8)
    first, second = searches.all
    assert first == Search(5, 10, 0.5, il=4.0, bound=3.2)
    assert first.gap == pytest.approx(25.0)
    assert second.bound is second.gap is None
    assert not listener().shows_searches


def test_a_release_tells_the_loss_that_it_publishes(request_of: Request) -> None:
    spec = request_of.load(
        microaggregation={"method": "best", "k": 2, "options": {"iterations": 4}}
    )
    table, _ = validate.fn(ingest.fn(spec)[0], spec)
    searches = Searches()
    with listening(searches):
        _, evaluation = mask_and_measure(table, spec, plainly)
    last = searches.all[-1]
    assert last.il == pytest.approx(evaluation.measures["il"], rel=1e-5)
    assert last.bound == pytest.approx(evaluation.measures["il_bound"], rel=1e-5)


def test_verifying_shows_its_progress_on_a_terminal_only(
    published: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    with display.working("verifying") as watch:
        watch(0.5)
    assert main(["verify", str(folder_of(published))]) == 0
    assert main(["audit", str(published.register)]) == 0
    assert capsys.readouterr().err == ""
