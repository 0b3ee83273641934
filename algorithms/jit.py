"""``kernel``, the only use of numba, and the cache of compiled kernels."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])


def _sources_digest() -> str:
    """Compute a digest of all files with kernels: numba notices changes in a kernel's own only.

    Kernels call kernels, and their constants stand in files with kernels.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(here.rglob("*.py")):
        content = path.read_bytes()
        if b"kernel" in content:
            digest.update(str(path.relative_to(here)).encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def _cache_folder() -> str:
    """Choose a writable folder that no other version of the sources uses."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "microrelease" / f"kernels-{_sources_digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return tempfile.mkdtemp(prefix="microrelease-kernels-")
    return str(folder)


setattr(numba.config, "CACHE_DIR", _cache_folder())  # noqa: B010 - unknown to its types


def kernel(function: Function) -> Function:
    """Compile plain loops over arrays.

    ``fastmath`` is off because it reorders sums: a kernel gives the same bits as its slow twin in
    ``tests/oracles``, on every machine.
    """
    compile_ = numba.njit(cache=True, nogil=True, fastmath=False)
    return cast(Function, compile_(function))


def part(function: Function) -> Function:
    """Compile a part of kernels, into each kernel that calls it.

    For small functions that a kernel calls often with many arrays: passing these would take longer
    than the work.
    """
    compile_ = numba.njit(nogil=True, fastmath=False, forceinline=True)
    return cast(Function, compile_(function))


def in_threads(function: Callable[[Any], Any], pieces: Iterable[Any]) -> None:
    """Call a function for each piece of work, on as many threads as numba would use.

    Kernels let other threads run. Each call writes to a part of its own of arrays that all share,
    so that the number of threads has no effect on the result. The calling thread works, too: a
    thread that only waits is often where another should run.
    """
    threads: int = getattr(numba.config, "NUMBA_NUM_THREADS")  # noqa: B009 - unknown to its types
    pieces = list(pieces)
    left = iter(pieces)

    def work() -> None:
        for piece in left:
            function(piece)

    others = min(threads, len(pieces)) - 1
    if others < 1:
        work()
        return
    with ThreadPoolExecutor(others) as pool:
        helping = [pool.submit(work) for _ in range(others)]
        work()
        for each in helping:
            each.result()


class _Compiling(event.Listener):
    """Reports the start and the end of compilation; compiling a kernel may compile others."""

    def __init__(self, report: Callable[[bool], None]) -> None:
        self._report = report
        self._depth = 0

    def on_start(self, _event: object) -> None:
        self._depth += 1
        if self._depth == 1:
            self._report(True)

    def on_end(self, _event: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._report(False)


@contextmanager
def compiling(report: Callable[[bool], None]) -> Iterator[None]:
    """Call ``report(True)`` when this process starts to compile, ``report(False)`` at the end."""
    with event.install_listener("numba:compile", _Compiling(report)):
        yield
