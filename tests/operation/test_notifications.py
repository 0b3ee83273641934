"""Runs that cannot tell of their own end are told of once, by one run."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.operation.site import Site, site
from tests.operation.test_crashes import kill, process_of

pytestmark = [pytest.mark.operation, pytest.mark.slow]

KILLS = 4
PATIENCE = 120.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site")) as started:
        started.write_spec(
            "held", gate={"ceilings": {"il": 60.0, "dld": 100.0}, "review": {"hours": 1.0}}
        )
        yield started


def test_each_killed_run_is_told_of_once_by_at_most_one_run(place: Site) -> None:
    spec = {"name": "held", "changes": {"period": "2026-Q3"}}
    runs = []
    for _ in range(KILLS):
        run = place.start("release/by-hand", spec=spec, started_by="Ana")
        place.in_state(run, "Paused")
        kill(process_of(place, run))
        place.ended(run)
        message = place.home / "outbox" / f"{run}.json"
        end = time.monotonic() + PATIENCE
        while not message.is_file() or str(run) not in place.notified():
            assert time.monotonic() < end, "nobody was told"
            time.sleep(0.5)
        told = json.loads(message.read_text(encoding="utf-8"))
        assert (told["run"], told["state"]) == ("held-2026-Q3", "Crashed")
        runs.append(str(run))
    # an automation that fires again does so within seconds
    time.sleep(20)
    assert sorted(place.notified()) == sorted(runs)
    assert sorted(path.stem for path in (place.home / "outbox").iterdir()) == sorted(runs)
