"""Reports the progress of a run to listeners in this process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from algorithms.types import Found

if TYPE_CHECKING:
    from tasks.explore.cell import Cell
    from tasks.replay.choice import Choice, Step


@dataclass(frozen=True)
class Search:
    """What a search has found so far: figures of the whole table.

    Attributes
    ----------
    iterations : int
        Iterations done.
    planned : int, optional
        Iterations that the budget allows; None if it is counted in seconds only.
    share : float
        Share of the work that is done.
    il : float
        Information loss of the groups found so far, in per cent.
    bound : float, optional
        Proven lower bound of it, in per cent; None if none is known.
    stopped : bool
        Whether the search has ended before its budget, because the gap is small enough.
    """

    iterations: int
    planned: int | None
    share: float
    il: float
    bound: float | None = None
    stopped: bool = False

    @property
    def gap(self) -> float | None:
        """How far the loss may be above the optimum, in per cent of it; None if nobody knows."""
        return 100.0 * (self.il / self.bound - 1.0) if self.bound else None


class Listener:
    """Receives the progress of a run; a subclass overrides the callbacks that it needs.

    Several threads may report cells at the same time.
    """

    @property
    def shows_searches(self) -> bool:
        """Whether figures of a search are shown, so that a bound is worth computing."""
        return False

    def stage_started(self, name: str) -> None:
        """Receive the start of a stage."""

    def stage_ended(self, name: str, seconds: float) -> None:
        """Receive the success of a stage, and its duration."""

    def waiting(self, words: str) -> None:
        """Receive what the run waits for."""

    def progressed(self, share: float) -> None:
        """Receive the share of its work that the running stage has done, if it can tell."""

    def searched(self, search: Search) -> None:
        """Receive what the search of the running stage has found so far."""

    def cell_measured(self, cell: "Cell", total: int) -> None:
        """Receive one choice that was tried, and the number of all choices."""

    def period_replayed(self, choice: "Choice", step: "Step", total: int) -> None:
        """Receive one release of a replay, and the number of all of its releases."""


class _Both(Listener):
    """Passes every report on to two listeners."""

    def __init__(self, outer: Listener, inner: Listener) -> None:
        self._listeners = outer, inner

    @property
    def shows_searches(self) -> bool:
        return any(listener.shows_searches for listener in self._listeners)

    def stage_started(self, name: str) -> None:
        for listener in self._listeners:
            listener.stage_started(name)

    def stage_ended(self, name: str, seconds: float) -> None:
        for listener in self._listeners:
            listener.stage_ended(name, seconds)

    def waiting(self, words: str) -> None:
        for listener in self._listeners:
            listener.waiting(words)

    def progressed(self, share: float) -> None:
        for listener in self._listeners:
            listener.progressed(share)

    def searched(self, search: Search) -> None:
        for listener in self._listeners:
            listener.searched(search)

    def cell_measured(self, cell: "Cell", total: int) -> None:
        for listener in self._listeners:
            listener.cell_measured(cell, total)

    def period_replayed(self, choice: "Choice", step: "Step", total: int) -> None:
        for listener in self._listeners:
            listener.period_replayed(choice, step, total)


_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)


def report(done: int, share: float, found: Found | None = None, /) -> None:
    """Report the share of a stage that is done, and what a search has found."""
    own = listener()
    own.progressed(share)
    if found is not None and found.spread:
        per_cent = 100.0 / found.spread
        bound = None if found.bound is None else per_cent * found.bound
        own.searched(
            Search(done, found.planned, share, per_cent * found.loss, bound, found.stopped)
        )


def listener() -> Listener:
    """Return the listener of this context; by default one that ignores all reports."""
    return _listener.get() or Listener()


def reporter(start: float = 0.0, end: float = 1.0) -> Callable[[float], None]:
    """Give a function that reports the share of a part of the running stage.

    Parameters
    ----------
    start, end : float
        The shares of the stage between which the part lies.
    """
    own = listener()
    return lambda share: own.progressed(start + share * (end - start))


@contextmanager
def listening(added: Listener) -> Iterator[None]:
    """Add a listener to this context; earlier listeners stay.

    Tasks that Prefect runs in other threads inherit the context.
    """
    token = _listener.set(_Both(listener(), added))
    try:
        yield
    finally:
        _listener.reset(token)
