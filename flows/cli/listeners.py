"""Shows the progress of a run on the terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.markup import escape

from tasks.listening import Listener

if TYPE_CHECKING:
    from rich.progress import Progress

    from tasks.explore.cell import Cell
    from tasks.replay.choice import Choice, Step

STARTING = "starting Prefect"
PATIENCE = 2.0
"""Seconds after which a stage shows how far it is."""


class StageListener(Listener):
    """Shows each stage while it runs, how far it is, and the seconds that stages took."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar = progress.add_task(STARTING, total=None)
        self._called = self._started = time.monotonic()
        self._stage = ""

    def stage_started(self, name: str) -> None:
        """Show the stage; before the first one, also how long it took to start Prefect."""
        if not self._stage:
            seconds = time.monotonic() - self._called
            self._progress.console.print(f"  {'start':<16}{seconds:8.2f} s")
        self._stage = name
        self._show(name)

    def stage_ended(self, name: str, seconds: float) -> None:
        """Print how long the stage took."""
        self._progress.console.print(f"  {name:<16}{seconds:8.2f} s")

    def waiting(self, words: str) -> None:
        """Show that the run waits, and for what."""
        self._progress.console.print(f"  waiting: {escape(words)}", soft_wrap=True)
        self._show("waiting for the source")

    def progressed(self, share: float) -> None:
        """Show how far the stage is, and an estimate of the time that is left."""
        if time.monotonic() - self._started >= PATIENCE:
            self._progress.update(self._bar, total=1.0, completed=share)

    def _show(self, description: str) -> None:
        """Show something new, of which nobody knows yet how far it is."""
        self._progress.remove_task(self._bar)
        self._bar = self._progress.add_task(description, total=None)
        self._started = time.monotonic()


class CellListener(Listener):
    """Shows how many choices were tried, and each that is done."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar = progress.add_task(STARTING, total=None)

    def stage_started(self, name: str) -> None:
        """Show the stages that come before choices are tried."""
        if name != "try":
            self._progress.update(self._bar, description=name)

    def progressed(self, share: float) -> None:
        """Show how far a search in this process is."""
        self._progress.update(self._bar, description=f"trying choices: {share:.0%} of the search")

    def cell_measured(self, cell: Cell, total: int) -> None:
        """Print the choice and its figures."""
        self._progress.update(self._bar, description="trying choices", total=total, advance=1)
        shown = (
            cell.fault
            if cell.evaluation is None
            else f"IL {cell.measure('il'):8.4f} %   DLD {cell.measure('dld'):8.4f} %   "
            + ("within limits" if cell.verdicts and cell.admissible else "")
        )
        self._progress.console.print(
            f"  {cell.name:<36}{cell.seconds:7.2f} s   {escape(shown)}".rstrip(), soft_wrap=True
        )


class ReplayListener(Listener):
    """Shows how many releases were replayed, and each that is done."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar = progress.add_task("reading periods", total=None)

    def stage_started(self, name: str) -> None:
        """Show what happens before periods are replayed."""
        if name in ("ingest", "validate"):
            self._progress.update(self._bar, description=name)

    def period_replayed(self, choice: Choice, step: Step, total: int) -> None:
        """Print the release and its figures."""
        self._progress.update(self._bar, description="replaying", total=total, advance=1)
        self._progress.console.print(
            f"  {choice.name:<24}{step.period}   IL {step.measure('il'):8.4f} %   muted "
            f"{step.measure('muted'):6.2f} %   below k {step.measure('under_k_across'):6.2f} %",
            soft_wrap=True,
        )
