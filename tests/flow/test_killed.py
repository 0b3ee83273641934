"""Whatever the moment at which a release is killed, what is public is whole."""

import multiprocessing
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from expectations.published.verifier import verify
from tasks.store.audit import audit
from tests.conftest import Request
from tests.flow.release_loop import run_for_ever
from tests.publishing import run_release
from tests.tools import PATIENCE

KILLS = 20


def wait_for(happened: Callable[[], bool], patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not happened() and time.monotonic() < end:
        time.sleep(0.0005)


def attempts(request_of: Request) -> int:
    return len(list(request_of.register.glob("attempts/*")))


def releases(public: Path) -> list[Path]:
    return sorted(public.glob("*/*")) + sorted(public.glob(".*")) + sorted(public.glob("*/.*"))


@pytest.mark.slow
@pytest.mark.flow
def test_a_killed_release_leaves_only_whole_folders_and_the_next_run_recovers(
    request_of: Request, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    chance = random.Random(20)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.flow.release_loop"])
    spec = request_of.write()
    staging = request_of.folder / ".public.staging"
    while_writing = between_lines = 0
    for kill in range(KILLS):
        process = context.Process(target=run_for_ever, args=(spec, 1000 * kill))
        process.start()
        recorded = attempts(request_of)
        match kill % 4:
            case 0 | 1:  # at any moment
                time.sleep(chance.uniform(0.2, 4.0))
            case 2:  # while the files are written and verified
                wait_for(staging.exists)
                time.sleep(chance.uniform(0.0, 0.05))
            case 3:  # while the manifest, the lines and the folder appear
                wait_for(lambda: attempts(request_of) > recorded)  # noqa: B023 - called at once
                time.sleep(chance.uniform(0.0, 0.004))
        process.kill()
        process.join()

        while_writing += staging.exists()
        for folder in releases(request_of.public):
            verify(folder)
        if request_of.register.exists():
            found = audit(request_of.register)
            assert found.faults == []
            between_lines += bool(found.incomplete)

    state = run_release(spec)
    assert state.name == "Published"
    found = audit(request_of.register)
    assert found.faults == found.incomplete == []
    assert len(found.verified) == len(releases(request_of.public)) > 0
    assert not staging.exists()
    assert while_writing, "no kill fell into a publication: the test did not test"
    sys.stdout.write(f"{while_writing} kills within a publication, {between_lines} between lines")
