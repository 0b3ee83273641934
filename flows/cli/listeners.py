"""Shows the progress of a run on the terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.markup import escape

from tasks.listening import Listener, Search

if TYPE_CHECKING:
    from rich.progress import Progress

    from tasks.explore.cell import Cell
    from tasks.replay.choice import Choice, Step

STARTING = "starting Prefect"
PATIENCE = 2.0
"""Seconds after which a stage shows how far it is."""
TIMED = 1.0
"""Seconds of a search from which the time that it takes is estimated."""
WORTH_TELLING = 3.0
"""Seconds that a search must take at least for its estimate to be printed."""


class StageListener(Listener):
    """Shows each stage while it runs, how far it is, and the seconds that stages took."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar = progress.add_task(STARTING, total=None)
        self._called = self._started = time.monotonic()
        self._stage = ""
        self._search: Search | None = None
        self._reports, self._told = 0, False
        self._first = (0.0, 0.0)

    @property
    def shows_searches(self) -> bool:
        """Whether a terminal shows the figures of a search while it runs."""
        return self._progress.console.is_terminal

    def stage_started(self, name: str) -> None:
        """Show the stage; before the first one, also how long it took to start Prefect."""
        if not self._stage:
            seconds = time.monotonic() - self._called
            self._progress.console.print(f"  {'start':<16}{seconds:8.2f} s")
        self._stage = name
        self._show(name)

    def stage_ended(self, name: str, seconds: float) -> None:
        """Print how long the stage took, and why a search stopped early."""
        if self._search is not None and self._search.stopped:
            self._progress.console.print(f"  {_reason(self._search)}", soft_wrap=True)
        self._search = None
        self._progress.console.print(f"  {name:<16}{seconds:8.2f} s")

    def waiting(self, words: str) -> None:
        """Show that the run waits, and for what."""
        self._progress.console.print(f"  waiting: {escape(words)}", soft_wrap=True)
        self._show("waiting for the source")

    def progressed(self, share: float) -> None:
        """Show how far the stage is, and an estimate of the time that is left."""
        if time.monotonic() - self._started >= PATIENCE:
            self._progress.update(self._bar, total=1.0, completed=share)

    def searched(self, search: Search) -> None:
        """Show what the search has found, once it takes long, and about how long it will take."""
        self._search = search
        if time.monotonic() - self._started >= PATIENCE:
            self._progress.update(self._bar, description=f"{self._stage}: {_figures(search)}")
        self._estimate(search)

    def _estimate(self, search: Search) -> None:
        """Print about how long the search takes, once; compilation comes before the first slice."""
        self._reports += 1
        now = time.monotonic()
        if self._reports == 2:
            self._first = now, search.share
        since, share = self._first
        if self._reports > 2 and not self._told and now >= since + TIMED and search.share > share:
            self._told = True
            seconds = (now - since) * (1.0 - share) / (search.share - share)
            if seconds >= WORTH_TELLING and self.shows_searches:
                words = f"the search takes about {_rough(seconds)}"
                self._progress.console.print(f"  {words}", soft_wrap=True)

    def _show(self, description: str) -> None:
        """Show something new, of which nobody knows yet how far it is."""
        self._progress.remove_task(self._bar)
        self._bar = self._progress.add_task(description, total=None)
        self._started = time.monotonic()


def _figures(search: Search) -> str:
    """Give IL and, if it is known, how far it is above the bound."""
    shown = f"IL {search.il:.4g} %"
    if search.gap is not None:
        shown += f", bound {search.bound:.4g} %, gap {search.gap:.3g} %"
    return shown


def _reason(search: Search) -> str:
    """Say when a search stopped, and what is proven of its groups."""
    of = "" if search.planned is None else f" of {search.planned:,}"
    return (
        f"search stopped after {search.iterations:,}{of} iterations: within {search.gap:.2f} % of "
        "the optimum, proven"
    )


def _rough(seconds: float) -> str:
    """Round a time to what an estimate can tell.

    Examples
    --------
    >>> _rough(12.3), _rough(250.0)
    ('12 s', '4 min')
    """
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"


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
