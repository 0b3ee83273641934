"""Processes that try choices, and can be stopped when one takes too long."""

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue

from algorithms.errors import ReleaseError
from algorithms.jit import compiling
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.table import Table
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, timed, try_choice
from tasks.stage import guarded

SPAWN = multiprocessing.get_context("spawn")
STARTING_SECONDS = 120.0
THREADS = "OPENBLAS_NUM_THREADS"

Task = tuple[Table, ReleaseSpec]
"""What every worker gets once, through a pipe: it never touches a disk."""


class Workers:
    """A few processes, each of which tries one choice at a time.

    A choice that takes longer than ``seconds``, not counting what it takes to compile kernels, is
    given up: kernels cannot be interrupted from outside, but a process can be stopped. Its place is
    taken by a new one.
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
        worker = self._idle.get()
        started = time.monotonic()
        try:
            cell = worker.try_choice(choice, self._seconds)
        except TimeoutError:
            fault = f"it took longer than {self._seconds:g} seconds"
        except (EOFError, OSError):
            fault = "its process ended early, perhaps because memory ran out"
        else:
            self._idle.put(worker)
            return cell
        self._stop(worker)
        self._start()
        return Cell(choice, seconds=time.monotonic() - started, fault=fault)

    def close(self) -> None:
        """Stop all processes."""
        for worker in list(self._all):
            self._stop(worker)

    def _start(self) -> None:
        worker = _Worker(self._task)
        with self._lock:
            self._all.add(worker)
        self._idle.put(worker)

    def _stop(self, worker: "_Worker") -> None:
        with self._lock:
            self._all.discard(worker)
        worker.stop()


class _Worker:
    def __init__(self, task: Task) -> None:
        self.connection, theirs = SPAWN.Pipe()
        self._process: SpawnProcess = SPAWN.Process(target=_serve, args=(theirs,), daemon=True)
        with _one_thread_each():
            self._process.start()
        theirs.close()
        self.connection.send(task)
        self.connection.poll(STARTING_SECONDS)
        self.connection.recv()  # it has imported everything: the clock of a choice is its own

    def try_choice(self, choice: MicroaggregationSection, seconds: float) -> Cell:
        """Wait for what comes of a choice; while the process compiles, its clock stands still."""
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

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let a new process do its linear algebra in one thread: there are others beside it."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


@contextmanager
def working(task: Task, count: int, seconds: float) -> Iterator[Workers]:
    """Start processes, and stop them whatever happens."""
    workers = Workers(task, count, seconds)
    try:
        yield workers
    finally:
        workers.close()


def _serve(connection: Connection) -> None:
    """Try choices until there are no more; the life of a process."""
    table, spec = connection.recv()
    # a registry imports what it lists when that is first asked for
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
