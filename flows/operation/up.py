"""Starts a server, a worker and the desk on one machine, and stops them together."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from algorithms.errors import RefusedError, ReleaseError, SpecError
from flows.mail import configured_mail
from flows.operation.defaults import FILE, ROOT
from flows.operation.installation import POOL, Installation, add_user_command, answers
from flows.operation.log import LineCallback, Log
from flows.operation.processes import end_with_parent
from tasks.store.disk import make_folder, try_lock
from tasks.store.home import WHAT

SECONDS_TO_START = 180.0
SECONDS_TO_STOP = 30.0
RUNS_AT_A_TIME = 4
SERVER = ["flows.operation.server"]
WORKER = ["prefect", "worker", "start", "--pool", POOL, "--limit", str(RUNS_AT_A_TIME)]
DESK = ["flows.cli", "desk"]
"""Modules that run the server, the worker and the desk, with their arguments."""
MOST_FAILURES = 3
"""Number of times in a row that a worker may end soon after its start."""
LONG_SECONDS = 60.0
"""A worker that ran for longer did not end soon after its start."""

Say = Callable[[str], None]
Check = Callable[[], bool]


def up(installation: Installation, say: Say, file: Path = FILE) -> None:
    """Run an installation until it is interrupted.

    Raises
    ------
    RefusedError
        If it is already running.
    ReleaseError
        If the server or the worker does not start, or stops and cannot be restarted.
    """
    os.umask(0o077)
    make_folder(installation.home, WHAT)
    with try_lock(installation.home / "running", 0.0) as free, _interruptible():
        if not free:
            raise RefusedError(
                f"an installation can run only once; the one in {str(installation.home)!r} is "
                "already running: see `microrelease status`"
            )
        installation.prepare()
        (installation.home / "running").write_text(f"{os.getpid()}\n", encoding="utf-8")
        try:
            configured_mail()
        except SpecError as error:
            # releases must run even if nobody can be told of them
            say(f"warning: {error}")
        say("starting the server ...")
        log = Log(installation.logs / "server.log")
        with _started(installation, log, SERVER) as server:
            _wait_for("server", server, log, lambda: answers(installation.url))
            say("updating the deployments ...")
            _deploy(installation, file, say)
            with _Desk(installation, say) as desk:
                _work(installation, server, desk, say)


class _Desk:
    """Keeps the desk running; releases go on without it."""

    def __init__(self, installation: Installation, say: Say) -> None:
        self._installation, self._say = installation, say
        self._log = Log(installation.logs / "desk-process.log")
        self._failures = 0
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "_Desk":
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        port = str(self._installation.desk_port)
        self._started = time.monotonic()
        self._process = self._stack.enter_context(
            _started(self._installation, self._log, [*DESK, "--port", port])
        )

    def look(self) -> None:
        """Start another desk if this one stopped; give up when that happens again and again."""
        if self._process is None or self._process.poll() is None:
            return
        lasted = time.monotonic() - self._started > LONG_SECONDS
        self._failures = 0 if lasted else self._failures + 1
        self._stack.close()
        if self._failures < MOST_FAILURES:
            self._say(f"the desk stopped, see {self._log.baseFilename}; starting another")
            self._start()
        else:
            self._process = None
            self._say(
                f"warning: the desk does not run, see {self._log.baseFilename}; releases go on "
                "without it"
            )


def _work(
    installation: Installation, server: subprocess.Popen[bytes], desk: _Desk, say: Say
) -> None:
    """Keep a worker and the desk running for as long as the server runs."""
    log = Log(installation.logs / "worker.log")
    failures = 0
    while failures < MOST_FAILURES:
        has_started = threading.Event()
        with _started(installation, log, WORKER, partial(_notice, has_started)) as worker:
            _wait_for("worker", worker, log, has_started.is_set)
            start_time = time.monotonic()
            _introduce(installation, say)
            while worker.poll() is None:
                if server.poll() is not None:
                    raise ReleaseError(
                        "the server must keep running; it stopped unexpectedly: see "
                        f"{installation.logs / 'server.log'}"
                    )
                desk.look()
                time.sleep(1)
        say(f"the worker stopped unexpectedly, see {log.baseFilename}; starting another")
        failures = 0 if time.monotonic() - start_time > LONG_SECONDS else failures + 1
    raise ReleaseError(
        f"the worker must keep running; it stopped {failures} times: see {log.baseFilename}"
    )


def _introduce(installation: Installation, say: Say) -> None:
    """Print how to use an installation that is running."""
    say(f"running: {installation.desk_url} (the desk), {installation.url} (Prefect)")
    say(f"  desk users     {add_user_command(installation.home)}")
    say(f"  Prefect login  {installation.password_file}")
    say(f"  other shells   . {installation.environment_file}")
    say(f"  logs           {installation.logs}")
    say("Ctrl-C stops everything")


def _notice(has_started: threading.Event, line: str) -> None:
    """Set the event if a line in the worker's log says that it has started."""
    if "started!" in line:
        has_started.set()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, and notice Ctrl-C even if the shell had it ignored."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    previous = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _started(
    installation: Installation,
    log: Log,
    module: list[str],
    on_line: LineCallback = lambda _line: None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module in a process of its own, and stop it at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        cwd=ROOT,
        env=installation.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Ctrl-C must reach this process only, which then stops its children in order
        start_new_session=True,
        preexec_fn=end_with_parent,
    )
    assert process.stdout is not None
    log.follow(process.stdout, on_line)
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, by force if it takes too long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            continue


def _wait_for(name: str, process: subprocess.Popen[bytes], log: Log, is_ready: Check) -> None:
    """Wait until the server or the worker is ready."""
    end = time.monotonic() + SECONDS_TO_START
    while not is_ready():
        if process.poll() is not None:
            raise ReleaseError(f"the {name} must start; it stopped at once: see {log.baseFilename}")
        if time.monotonic() > end:
            raise ReleaseError(
                f"the {name} must start within {SECONDS_TO_START:.0f} seconds; it did not: see "
                f"{log.baseFilename}"
            )
        time.sleep(0.5)


def _deploy(installation: Installation, file: Path, say: Say) -> None:
    """Deploy in a process of its own, which Prefect needs to read the installation's settings."""
    command = [sys.executable, "-m", "flows.cli", "deploy", "--file", str(file)]
    result = subprocess.run(
        command, cwd=ROOT, env=installation.environment, capture_output=True, text=True
    )
    lines = result.stderr.strip().splitlines()
    warnings = [line for line in lines if line.startswith("warning:")]
    for line in warnings:
        say(line)
    if result.returncode:
        others = [line for line in lines if line not in warnings]
        raise ReleaseError("\n".join(others).removeprefix("failed: "))
