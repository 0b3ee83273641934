"""Processes that try choices; a choice that takes too long can be stopped."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from queue import SimpleQueue

from algorithms.errors import ReleaseError
from algorithms.jit import compiling
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.table import Table
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec import ReleaseSpec
from tasks.compute.children import Child
from tasks.explore.cell import Cell, is_unlimited, shorter, timed, try_choice
from tasks.stage import guarded

STARTING_SECONDS = 120.0

Task = tuple[Table, ReleaseSpec]
"""Input of every worker, sent once through a pipe and never written to disk."""


class Workers:
    """A few processes, each of which tries one choice at a time.

    A choice that takes longer than ``seconds``, not counting the compilation of kernels, is
    abandoned: kernels cannot be interrupted, but a process can be stopped. A new process replaces
    it. A search without a budget is then tried again with fewer iterations, so that the map has a
    point for it.
    """

    def __init__(self, task: Task, count: int, seconds: float) -> None:
        self._task = task
        self._seconds = seconds
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._all: set[_Worker] = set()
        self._lock = threading.Lock()
        for _ in range(count):
            self._start()

    def run(self, choice: MicroaggregationSection) -> Cell:
        """Try a choice on the next process that is idle."""
        cell = self._tried(choice)
        _, spec = self._task
        if cell.fault == self._too_slow and is_unlimited(choice, spec):
            again = (self._tried(each) for each in shorter(choice))
            return next((each for each in again if not each.fault), cell)
        return cell

    def close(self) -> None:
        """Stop all processes."""
        for worker in list(self._all):
            self._stop(worker)

    @property
    def _too_slow(self) -> str:
        return f"it took longer than {self._seconds:g} seconds"

    def _tried(self, choice: MicroaggregationSection) -> Cell:
        worker = self._idle.get()
        started = time.monotonic()
        try:
            cell = worker.try_choice(choice, self._seconds)
        except TimeoutError:
            fault = self._too_slow
        except (EOFError, OSError):
            fault = "its process ended early, perhaps because memory ran out"
        else:
            self._idle.put(worker)
            return cell
        self._stop(worker)
        self._start()
        return Cell(choice, seconds=time.monotonic() - started, fault=fault)

    def _start(self) -> None:
        worker = _Worker(self._task)
        with self._lock:
            self._all.add(worker)
        self._idle.put(worker)

    def _stop(self, worker: "_Worker") -> None:
        with self._lock:
            self._all.discard(worker)
        worker.stop()


class _Worker(Child):
    def __init__(self, task: Task) -> None:
        super().__init__(_serve)
        self.connection.send(task)
        self.connection.poll(STARTING_SECONDS)
        self.connection.recv()  # it has imported everything, so imports do not count for a choice

    def try_choice(self, choice: MicroaggregationSection, seconds: float) -> Cell:
        """Wait for the cell of a choice; the time of compilation does not count."""
        self.connection.send(choice)
        spent = 0.0
        compiles = False
        while True:
            started = time.monotonic()
            if not self.connection.poll(None if compiles else max(seconds - spent, 0.0)):
                raise TimeoutError
            message: Cell | bool = self.connection.recv()
            if not compiles:
                spent += time.monotonic() - started
            if isinstance(message, Cell):
                return timed(message, spent)
            compiles = message


@contextmanager
def working(task: Task, count: int, seconds: float) -> Iterator[Workers]:
    """Start processes, and stop them at the end, even after an error."""
    workers = Workers(task, count, seconds)
    try:
        yield workers
    finally:
        workers.close()


def _serve(connection: Connection) -> None:
    """Try choices until the connection closes."""
    table, spec = connection.recv()
    # a registry imports an algorithm on first use
    for algorithms in (METHODS, ORDERINGS):
        list(algorithms.values())
    connection.send("ready")
    with compiling(connection.send):
        while True:
            try:
                choice = connection.recv()
            except EOFError:
                return
            try:
                cell = guarded("explore", try_choice)(table, spec, choice)
            except ReleaseError as error:
                cell = Cell(choice, fault=str(error))
            connection.send(cell)
