"""Starts server and worker on one machine, and stops them together."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from algorithms.errors import RefusedError, ReleaseError
from flows.operation.installation import FILE, POOL, ROOT, Installation
from tasks.shelves.disk import try_lock

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
        server = ["server", "start", "--host", "127.0.0.1", "--port", str(installation.port)]
        with _started(installation, "server", server) as server_process:
            _wait_for("server", server_process, installation, lambda: answers(installation.url))
            tell("bringing deployments up to date ...")
            _deploy(installation, file)
            _work(installation, server_process, tell)


def _work(installation: Installation, server: subprocess.Popen[bytes], tell: Teller) -> None:
    """Keep a worker running for as long as the server runs."""
    command = ["worker", "start", "--pool", POOL, "--limit", str(RUNS_AT_A_TIME)]
    log = installation.logs / "worker.log"
    failures = 0
    while failures < MOST_FAILURES:
        said = log.stat().st_size if log.exists() else 0
        with _started(installation, "worker", command) as worker:
            _wait_for("worker", worker, installation, partial(_has_said, log, said))
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
        tell(f"the worker ended by itself, see {log}; starting another")
        failures = 0 if time.monotonic() - begun > LONG_SECONDS else failures + 1
    raise ReleaseError(f"the worker must run; it ended {failures} times: see {log}")


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
    installation: Installation, name: str, arguments: list[str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a part of Prefect beside us, and stop it in the end."""
    with (installation.logs / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", *arguments],
            cwd=ROOT,
            env=installation.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # a Ctrl-C is for us, and we stop our parts in their order
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
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


def _wait_for(
    name: str, process: subprocess.Popen[bytes], installation: Installation, is_there: Check
) -> None:
    """Wait until a part has started."""
    log = installation.logs / f"{name}.log"
    end = time.monotonic() + SECONDS_TO_START
    while not is_there():
        if process.poll() is not None:
            raise ReleaseError(f"the {name} must start; it ended at once: see {log}")
        if time.monotonic() > end:
            limit = f"{SECONDS_TO_START:.0f} seconds"
            raise ReleaseError(f"the {name} must start within {limit}; it did not: see {log}")
        time.sleep(0.5)


def _has_said(log: Path, before: int) -> bool:
    """Tell whether a worker has said that it started, since its log was so long."""
    return b"started!" in log.read_bytes()[before:]


def answers(url: str) -> bool:
    """Tell whether a Prefect server listens there."""
    try:
        with urllib.request.urlopen(f"{url}/api/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _deploy(installation: Installation, file: Path) -> None:
    """Deploy in a process that knows the settings of the installation from its start."""
    command = [sys.executable, "-m", "flows.cli", "deploy", "--file", str(file)]
    done = subprocess.run(
        command, cwd=ROOT, env=installation.environment, capture_output=True, text=True
    )
    if done.returncode:
        raise ReleaseError(done.stderr.strip().removeprefix("failed: "))
