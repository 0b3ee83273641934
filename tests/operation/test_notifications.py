"""Runs that cannot tell of their own end are told of once, by one run."""

import json
import time
from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.operation.site import Site, site
from tests.operation.test_crashes import kill, process_of, worker_of

pytestmark = [pytest.mark.operation, pytest.mark.slow]

KILLS = 4
PATIENCE = 180.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site")) as started:
        started.write_spec(
            "held", gate={"ceilings": {"il": 60.0, "dld": 100.0}, "review": {"hours": 1.0}}
        )
        yield started


def waiting(place: Site) -> UUID:
    """Start a release that waits for a reviewer, and so can be killed at leisure."""
    spec = {"name": "held", "changes": {"period": "2026-Q3"}}
    run = place.start("release/by-hand", spec=spec, started_by="Ana")
    place.in_state(run, "Paused")
    return run


def check_told_once(place: Site, runs: list[UUID]) -> None:
    """Wait until crashed runs were told of, and see that each was, by one message and one run."""
    ids = sorted(str(run) for run in runs)
    for run in runs:
        place.ended(run, PATIENCE)
        message = place.home / "outbox" / f"{run}.json"
        end = time.monotonic() + PATIENCE
        while not message.is_file() or str(run) not in place.notified():
            assert time.monotonic() < end, "nobody was told"
            time.sleep(0.5)
        told = json.loads(message.read_text(encoding="utf-8"))
        assert (told["run"], told["state"]) == ("held-2026-Q3", "Crashed")
    # an automation that fires again does so within seconds
    time.sleep(20)
    assert sorted(run for run in place.notified() if run in ids) == ids
    outbox = [path.stem for path in (place.home / "outbox").iterdir()]
    assert sorted(name for name in outbox if name in ids) == ids


def test_each_killed_run_is_told_of_once_by_one_run(place: Site) -> None:
    runs = []
    for _ in range(KILLS):
        runs.append(waiting(place))
        kill(process_of(place, runs[-1]))
        place.ended(runs[-1])
    check_told_once(place, runs)


def test_a_run_that_died_with_its_host_is_told_of_once_by_one_run(place: Site) -> None:
    run = waiting(place)
    kill([*worker_of(place), *process_of(place, run)])
    check_told_once(place, [run])
