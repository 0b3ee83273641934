"""How far a stage is, and who is told."""

import io
from typing import Any

import pytest
from rich.console import Console

from flows.cli import display, listeners, main
from flows.cli.listeners import StageListener
from tasks.listening import Listener, listening, reporter
from tasks.publish import publish
from tasks.store.audit import audit
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
    return Console(file=io.StringIO(), force_terminal=True, width=100)


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


def test_verifying_shows_its_progress_on_a_terminal_only(
    published: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    with display.working("verifying") as watch:
        watch(0.5)
    assert main(["verify", str(folder_of(published))]) == 0
    assert main(["audit", str(published.register)]) == 0
    assert capsys.readouterr().err == ""
