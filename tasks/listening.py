"""Reports how far a run is to whoever listens in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasks.explore.cell import Cell


class Listener:
    """Hears how far a run is; a subclass overrides the reports that it wants.

    Reports of cells come from several threads.
    """

    def stage_started(self, name: str) -> None:
        """Hear that a stage has started."""

    def stage_ended(self, name: str, seconds: float) -> None:
        """Hear that a stage has succeeded, and how long it took."""

    def searched(self, share: float) -> None:
        """Hear which share of its budget a search has spent."""

    def cell_measured(self, cell: "Cell", total: int) -> None:
        """Hear of one choice that was tried, and how many there are."""


class _Both(Listener):
    """Passes every report on to two listeners."""

    def __init__(self, outer: Listener, inner: Listener) -> None:
        self._listeners = outer, inner

    def stage_started(self, name: str) -> None:
        for listener in self._listeners:
            listener.stage_started(name)

    def stage_ended(self, name: str, seconds: float) -> None:
        for listener in self._listeners:
            listener.stage_ended(name, seconds)

    def searched(self, share: float) -> None:
        for listener in self._listeners:
            listener.searched(share)

    def cell_measured(self, cell: "Cell", total: int) -> None:
        for listener in self._listeners:
            listener.cell_measured(cell, total)


_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)


def listener() -> Listener:
    """Give the listener of this context; without one, reports go nowhere."""
    return _listener.get() or Listener()


@contextmanager
def listening(added: Listener) -> Iterator[None]:
    """Let a listener hear of everything in this context, beside those that listen already.

    Tasks that Prefect runs in other threads inherit the context.
    """
    token = _listener.set(_Both(listener(), added))
    try:
        yield
    finally:
        _listener.reset(token)
