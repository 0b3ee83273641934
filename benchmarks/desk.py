"""Times the pages of the desk on a register of 10,000 attempts, and takes its memory.

A real desk is started, once for each page and once for all of them. ``at the start`` is the time of
the first request that a new desk answers, while its thread still reads the register; ``first`` is
that of the first visit after the thread has read everything, and ``again`` that of later visits.
``CPU`` are the seconds of the processor that the desk takes for such a visit. Memory is that of an
idle desk, before and after a visit to every page. The last lines time the next attempt that is
entered in the same register, and a reader of its lines. Run it with ``python -m benchmarks.desk``;
it takes about three minutes.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

import httpx
import psutil

from tasks.publish import begin
from tasks.store.desk_pages import key_of
from tasks.store.register import Register, Running
from tests.desk.desk import PASSWORD, add_user
from tests.desk.large import large_register
from tests.desk.quarters import Quarters

ATTEMPTS, PERIODS, WAITING = 10_000, 2_500, 5
MEBIBYTE = 2**20
VISITS = 3
IDLE = 0.02
"""Seconds of the processor that an idle desk takes at most between two looks."""
LOGIN = "all"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.desk", description=__doc__)
    parser.add_argument("--attempts", type=int, default=ATTEMPTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options.attempts)
    return 0


def measure(folder: Path, attempts: int) -> None:
    """Write a register, and visit every page of its desk."""
    home, specs = folder / "home", folder / "specs"
    specs.mkdir()
    # the tests name another one when they are imported
    os.environ["MICRORELEASE_HOME"] = str(home)
    quarters = large_register(specs, attempts, min(PERIODS, attempts), WAITING)
    add_user(home, LOGIN, "engineer", "reviewer", "auditor", "administrator")
    paths = _pages(quarters, attempts)
    at_start = {name: _first_answer(home, specs, path) for name, path in paths.items()}
    _say(f"{'page':34}{'at the start':>14}{'first':>8}{'again':>8}{'CPU':>8}{'bytes':>12}")
    with _desk(home, specs) as (process, client):
        _settle(process)
        before = process.memory_info().rss
        for name, path in paths.items():
            first, size = _visit(client, path)
            used = _cpu(process)
            again = median(_visit(client, path)[0] for _ in range(VISITS))
            cpu = (_cpu(process) - used) / VISITS
            _say(
                f"{name:34}{at_start[name]:>14.2f}{first:>8.2f}{again:>8.2f}{cpu:>8.2f}{size:>12,}"
            )
        grown = _grown(quarters, client)
        _settle(process)
        after = process.memory_info().rss
    _say(f"\n{'the first list after a new line':34}{grown:>14.2f}")
    _say(f"{'MiB of the idle desk':34}{before // MEBIBYTE:>14}")
    _say(f"{'MiB after every page':34}{after // MEBIBYTE:>14}")
    for name, act in (("entering an attempt", _enter), ("following the chain", _follow)):
        seconds, cpu = _timed(act, quarters)
        _say(f"{name:34}{seconds:>14.2f}{'':16}{cpu:>8.2f}")


def _pages(quarters: Quarters, attempts: int) -> dict[str, str]:
    """Name the pages and their paths."""
    chain = Register(quarters.register).chain()
    key, published = key_of(quarters.register), chain.published[-1].attempt
    return {
        "datasets": "/datasets",
        "a dataset": "/datasets/small",
        "a dataset, earlier periods": "/datasets/small?skip=1200",
        "register": "/register",
        "register, last page": f"/register?page={attempts}",
        "register, search": f"/register?q={published}",
        "register, search by reviewer": "/register?q=bea",
        "register, outcome": "/register?outcome=blocked",
        "register, days": "/register?from=2020-06-01&to=2020-09-01&outcome=killed",
        "register as CSV": "/register.csv",
        "register as JSON": "/register.json",
        "a release": f"/releases/{key}/{published}",
        "a report": f"/releases/{key}/{published}/report",
        "a public file": f"/releases/{key}/{published}/files/data.csv",
        "review queue": "/review",
        "a candidate": f"/review/{key}/{chain.waiting[0]}",
        "audit": "/audit",
        "health": "/health",
        "metrics": "/metrics",
    }


def _first_answer(home: Path, specs: Path, path: str) -> float:
    with _desk(home, specs) as (_, client):
        return _visit(client, path)[0]


def _visit(client: httpx.Client, path: str) -> tuple[float, int]:
    """Ask for a page; give the seconds until all of it was there, and its size."""
    started = time.perf_counter()
    answer = client.get(path)
    seconds = time.perf_counter() - started
    if answer.status_code != 200:
        raise SystemExit(f"{path} was answered with {answer.status_code}")
    return seconds, len(answer.content)


def _grown(quarters: Quarters, client: httpx.Client) -> float:
    """Enter an attempt, and time the first list that shows it."""
    with closing(_begin(quarters)) as running:
        seconds, _ = _visit(client, f"/register?q={running.attempt}")
    return seconds


def _timed(act: Callable[[Quarters], None], quarters: Quarters) -> tuple[float, float]:
    """Give the seconds and the CPU seconds that something takes."""
    started, used = time.perf_counter(), time.process_time()
    act(quarters)
    return time.perf_counter() - started, time.process_time() - used


def _enter(quarters: Quarters) -> None:
    _begin(quarters).close()


def _begin(quarters: Quarters) -> Running:
    return begin(quarters.load(release={"period": "2026-Q4"}, source={"path": "x.csv"}), "Ana")


def _follow(quarters: Quarters) -> None:
    Register(quarters.register).chain()


@contextmanager
def _desk(home: Path, specs: Path) -> Iterator[tuple[psutil.Process, httpx.Client]]:
    """Start a desk and log in."""
    port = _free_port()
    command = [sys.executable, "-m", "flows.cli", "desk", "--home", str(home), "--specs"]
    environment = os.environ | {"MICRORELEASE_HOME": str(home)}
    environment.pop("PREFECT_API_URL", None)
    with subprocess.Popen(
        [*command, str(specs), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        env=environment,
    ) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                _log_in(client)
                yield psutil.Process(process.pid), client
        finally:
            process.terminate()


def _log_in(client: httpx.Client) -> None:
    """Log in as soon as the desk listens; its cookies are for TLS, so they are sent by hand."""
    while True:
        try:
            answer = client.get("/login")
            break
        except httpx.ConnectError:
            time.sleep(0.05)
    token = re.search(r'name="csrf" value="([^"]*)"', answer.text)
    assert token is not None
    fields = {"login": LOGIN, "password": PASSWORD, "csrf": token[1]}
    headers = {"Cookie": _cookies(answer), "Origin": str(client.base_url).rstrip("/")}
    client.cookies.clear()
    answer = client.post("/login", data=fields, headers=headers)
    assert answer.status_code == 303, answer.text
    client.cookies.clear()
    client.headers["Cookie"] = _cookies(answer)


def _cookies(answer: httpx.Response) -> str:
    pairs = [text.partition(";")[0] for text in answer.headers.get_list("set-cookie")]
    return "; ".join(pair for pair in pairs if not pair.endswith("="))


def _settle(process: psutil.Process) -> None:
    """Wait until the thread of a desk has read everything."""
    used = -1.0
    while (now := _cpu(process)) > used + IDLE:
        used = now
        time.sleep(3.0)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
