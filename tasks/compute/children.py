"""Processes of this machine that work for another one, and talk to it through a pipe."""

import multiprocessing
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

SPAWN = multiprocessing.get_context("spawn")
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**20),
    "PYTHONWARNINGS": "ignore::UserWarning:multiprocessing.resource_tracker",
}
"""One thread each, since several processes run at once; large arrays that are given back to the
system when they are done with; and no word on locks that libraries leave to the end."""

MAIN_NAMES = ("__spec__", "__file__")
"""Names in the main module by which a new process would find it."""
STARTING = threading.Lock()
"""Held while a process starts: several threads may replace one at the same time."""


class Child:
    """A process that runs a function with one end of a pipe; this object has the other end."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        self.connection, theirs = SPAWN.Pipe()
        self._process: SpawnProcess = SPAWN.Process(
            target=_quietly, args=(serve, theirs), daemon=True
        )
        with STARTING, _environment(), _without_main():
            self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def stop(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _quietly(serve: Callable[[Connection], None], connection: Connection) -> None:
    """Serve until the pipe closes, and leave no memory on disk if the process crashes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Ctrl-C reaches all processes of a terminal; the one that started this one ends it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(connection)


@contextmanager
def _environment() -> Iterator[None]:
    """Let a new process start with the variables that it needs."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep a new process from running the user's script again.

    A worker needs nothing of it, and not every script guards its main part.
    """
    main = sys.modules["__main__"]
    before = {name: vars(main).get(name) for name in MAIN_NAMES if name in vars(main)}
    main.__spec__ = None
    vars(main).pop("__file__", None)
    try:
        yield
    finally:
        vars(main).update(before)
