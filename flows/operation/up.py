"""Starts server and worker on one machine, and stops them together."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from algorithms.errors import RefusedError, ReleaseError
from flows.operation.installation import FILE, POOL, ROOT, Installation
from flows.operation.log import Hearer, Log
from tasks.store.disk import try_lock

SECONDS_TO_START = 180.0
SECONDS_TO_STOP = 30.0
RUNS_AT_A_TIME = 4
MOST_FAILURES = 3
"""So often in a row a worker may die soon after its start."""
LONG_SECONDS = 60.0

Teller = Callable[[str], None]
Check = Callable[[], bool]


def up(installation: Installation, tell: Teller, file: Path = FILE) -> None:
    """Run an installation until it is interrupted.

    Raises
    ------
    RefusedError
        If it is running already.
    ReleaseError
        If server or worker do not start, or end by themselves and cannot be started again.
    """
    os.umask(0o077)
    installation.prepare()
    with try_lock(installation.home / "running", 0.0) as free, _interruptible():
        if not free:
            raise RefusedError(
                f"an installation can run once; that in {str(installation.home)!r} is running: "
                "`microrelease status` tells more"
            )
        (installation.home / "running").write_text(f"{os.getpid()}\n", encoding="utf-8")
        tell("starting the server ...")
        log = Log(installation.logs / "server.log")
        with _started(installation, log, ["flows.operation.server"]) as server:
            _wait_for("server", server, log, lambda: answers(installation.url))
            tell("bringing deployments up to date ...")
            _deploy(installation, file, tell)
            _work(installation, server, tell)


def _work(installation: Installation, server: subprocess.Popen[bytes], tell: Teller) -> None:
    """Keep a worker running for as long as the server runs."""
    command = ["prefect", "worker", "start", "--pool", POOL, "--limit", str(RUNS_AT_A_TIME)]
    log = Log(installation.logs / "worker.log")
    failures = 0
    while failures < MOST_FAILURES:
        begins = threading.Event()
        with _started(installation, log, command, partial(_notice, begins)) as worker:
            _wait_for("worker", worker, log, begins.is_set)
            begun = time.monotonic()
            tell(f"running: {installation.url}")
            tell(f"  log in with    {installation.password_file}")
            tell(f"  other shells   . {installation.environment_file}")
            tell(f"  logs           {installation.logs}")
            tell("Ctrl-C stops everything")
            while worker.poll() is None:
                if server.poll() is not None:
                    raise ReleaseError(
                        "the server must run; it ended by itself: see "
                        f"{installation.logs / 'server.log'}"
                    )
                time.sleep(1)
        tell(f"the worker ended by itself, see {log.baseFilename}; starting another")
        failures = 0 if time.monotonic() - begun > LONG_SECONDS else failures + 1
    raise ReleaseError(f"the worker must run; it ended {failures} times: see {log.baseFilename}")


def _notice(begins: threading.Event, line: str) -> None:
    """Notice that a worker says it has started."""
    if "started!" in line:
        begins.set()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Take the signal of a service manager for a Ctrl-C, and that also where shells ignore it."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _started(
    installation: Installation, log: Log, module: list[str], hear: Hearer = lambda _line: None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module beside us, and stop it in the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        cwd=ROOT,
        env=installation.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # a Ctrl-C is for us, and we stop our parts in their order
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )
    assert process.stdout is not None
    log.follow(process.stdout, hear)
    try:
        yield process
    finally:
        _stop(process)


def _end_with_parent() -> None:
    """Have the system send SIGTERM to a child whose parent died, where it can."""
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGTERM)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            continue


def _wait_for(name: str, process: subprocess.Popen[bytes], log: Log, is_there: Check) -> None:
    """Wait until a part has started."""
    end = time.monotonic() + SECONDS_TO_START
    while not is_there():
        if process.poll() is not None:
            raise ReleaseError(f"the {name} must start; it ended at once: see {log.baseFilename}")
        if time.monotonic() > end:
            raise ReleaseError(
                f"the {name} must start within {SECONDS_TO_START:.0f} seconds; it did not: see "
                f"{log.baseFilename}"
            )
        time.sleep(0.5)


def answers(url: str) -> bool:
    """Tell whether a Prefect server listens there."""
    try:
        with urllib.request.urlopen(f"{url}/api/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _deploy(installation: Installation, file: Path, tell: Teller) -> None:
    """Deploy in a process that knows the settings of the installation from its start."""
    command = [sys.executable, "-m", "flows.cli", "deploy", "--file", str(file)]
    done = subprocess.run(
        command, cwd=ROOT, env=installation.environment, capture_output=True, text=True
    )
    lines = done.stderr.strip().splitlines()
    warnings = [line for line in lines if line.startswith("warning:")]
    for line in warnings:
        tell(line)
    if done.returncode:
        others = [line for line in lines if line not in warnings]
        raise ReleaseError("\n".join(others).removeprefix("failed: "))
