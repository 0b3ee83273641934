"""The command that says what runs, what waits and what is due."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectAlreadyExists
from prefect.states import Completed, Paused, Scheduled

from expectations.request.named import SPECS
from flows.cli import main
from flows.operation.installation import POOL
from tasks.store.register import Register
from tests.conftest import Request

pytestmark = pytest.mark.flow


@pytest.fixture
def client(prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SyncPrefectClient]:
    monkeypatch.setenv("PREFECT_API_URL", prefect_server)
    with get_client(sync_client=True) as opened:
        with suppress(ObjectAlreadyExists):
            opened.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        yield opened


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be nine hours ahead of UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    os.environ.pop("TZ")
    time.tzset()


def deployed(client: SyncPrefectClient, *states: State) -> str:
    """Make a deployment with runs in these states, one after the other; give its name."""
    name = f"small-{uuid4()}"
    flow = client.create_flow_from_name("release")
    deployment: UUID = client.create_deployment(flow, name)
    for state in states:
        run = client.create_flow_run_from_deployment(deployment)
        client.set_flow_run_state(run.id, state, force=True)
    return name


def line_of(shown: str, name: str) -> str:
    (line,) = [line for line in shown.splitlines() if name in line]
    return line


@pytest.mark.usefixtures("tokyo")
def test_a_paused_run_is_shown_with_its_state_and_all_times_in_one_zone(
    client: SyncPrefectClient,
    request_of: Request,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv(SPECS, str(request_of.folder))
    due = datetime(2031, 1, 15, 5, 0, tzinfo=UTC)
    paused = deployed(client, Completed(name="Published"), Paused(), Scheduled(scheduled_time=due))
    ended = deployed(client, Completed(name="Published"))
    never = deployed(client)
    before = datetime.now(UTC) - timedelta(minutes=2)
    assert main(["status"]) == 1  # no worker
    shown = capsys.readouterr().out
    assert shown.startswith("times are in UTC\n")
    assert "2031-01-15 05:00" in line_of(shown, paused)
    state, _, since = line_of(shown, paused).rpartition(" since ")
    assert state.endswith("Paused")
    assert datetime.strptime(f"{since.strip()} +0000", "%Y-%m-%d %H:%M %z") > before
    word, *moment = line_of(shown, ended).split()[-3:]
    assert word == "Published"
    assert datetime.strptime(f"{' '.join(moment)} +0000", "%Y-%m-%d %H:%M %z") > before
    assert line_of(shown, never).rstrip().endswith("never ran")
    assert "review" in shown


@pytest.mark.usefixtures("client")
def test_a_faulty_spec_and_a_broken_register_are_listed_and_hide_nothing(
    published: Request, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv(SPECS, str(published.folder))
    published.write(publication={"register_folder": "unreadable"}).rename(
        published.folder / "unreadable.yaml"
    )
    (published.folder / "unreadable" / "register.jsonl").mkdir(parents=True)
    (published.folder / "broken.yaml").write_text("release: [", encoding="utf-8")
    published.write()
    register = Register(published.register)
    register.lines.write_bytes(b"{}\n" + register.lines.read_bytes())
    assert main(["status"]) == 1
    shown = capsys.readouterr()
    assert "server    answers" in shown.out
    assert "misspecified: broken.yaml must be a valid spec" in shown.out
    assert f"corrupt: {published.register}: line 1 of register.jsonl was altered" in shown.out
    assert (
        f"inaccessible: {published.folder / 'unreadable'}: the register must be readable"
        in shown.out
    )
    assert shown.err == ""
