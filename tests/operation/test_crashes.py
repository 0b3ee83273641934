"""Whatever dies, a run ends as crashed, its slot is free again, and the next run recovers."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.operation.site import Site, site

pytestmark = [pytest.mark.operation, pytest.mark.slow]

TWO_MINUTES = 120.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site")) as started:
        started.write_spec(
            "held", gate={"ceilings": {"il": 60.0, "dld": 100.0}, "review": {"hours": 1.0}}
        )
        yield started


def processes(*words: str) -> list[int]:
    """Find processes by the words of their command lines and environments."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if all(word.encode() in told for word in words):
            found.append(int(entry.name))
    return found


def worker_of(place: Site) -> list[int]:
    return processes(str(place.home), "prefect\0worker\0start")


def process_of(place: Site, run: UUID) -> list[int]:
    return processes(str(place.home), f"PREFECT__FLOW_RUN_ID={run}")


def kill(pids: list[int]) -> None:
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def held(place: Site) -> UUID:
    """Start a release that waits for a reviewer, and so can be killed at leisure."""
    spec = {"name": "held", "changes": {"period": "2026-Q3"}}
    run = place.start("release/by-hand", spec=spec, started_by="Ana")
    place.in_state(run, "Paused")
    return run


def test_a_killed_run_is_crashed_at_once_and_the_next_recovers(place: Site) -> None:
    run = held(place)
    kill(process_of(place, run))
    ended = place.ended(run, TWO_MINUTES)
    assert ended.state is not None
    assert ended.state.name == "Crashed"
    told = place.home / "outbox" / f"{run}.json"
    end = time.monotonic() + TWO_MINUTES
    while not told.is_file():
        assert time.monotonic() < end, "nobody was told"
        time.sleep(0.5)
    kill(process_of(place, held(place)))


@pytest.mark.parametrize("both", [False, True], ids=["worker", "host"])
def test_a_run_ends_with_its_worker_or_its_host(place: Site, both: bool) -> None:
    run = held(place)
    flow = process_of(place, run)
    started = time.monotonic()
    kill([*worker_of(place), *(flow if both else [])])
    ended = place.ended(run, TWO_MINUTES)
    assert ended.state is not None
    assert ended.state.name == "Crashed"
    assert time.monotonic() - started < TWO_MINUTES
    assert not process_of(place, run)
