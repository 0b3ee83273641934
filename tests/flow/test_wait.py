"""Runs whose source is not there yet."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client

from algorithms.errors import SpecError
from flows import wait
from flows.cli import main
from flows.states import WAITING_FOR_SOURCE
from tasks.sources.databases import connections
from tests import databases
from tests.conftest import ROWS, Request
from tests.publishing import events, run_release

pytestmark = pytest.mark.flow

A_SECOND = 1 / 3600


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(wait, "QUIET_SECONDS", 0.1)


@pytest.fixture
def growing(request_of: Request) -> Iterator[Path]:
    """Write to the source all the time."""
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.01):
            with request_of.source.open("a", encoding="utf-8") as file:
                file.write("x\n")

    writer = threading.Thread(target=write)
    writer.start()
    yield request_of.source
    stop.set()
    writer.join()


def test_a_spec_that_does_not_wait_finds_nothing_missing(request_of: Request) -> None:
    request_of.source.unlink()
    assert wait.wait_for_source(request_of.load(), None) == ""  # type: ignore[arg-type]


def test_a_file_is_there_when_its_size_no_longer_changes(request_of: Request) -> None:
    spec = request_of.load(source={"wait": {"hours": 1}})
    assert wait.what_is_missing(spec) == ""
    request_of.source.unlink()
    assert "is not there" in wait.what_is_missing(spec)


def test_a_file_that_grows_is_not_there_yet(request_of: Request, growing: Path) -> None:
    spec = request_of.load(source={"wait": {"hours": 1}})
    assert "is still being written" in wait.what_is_missing(spec)


def test_a_query_is_waited_for_until_it_gives_enough_rows(
    request_of: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(tmp_path / "registry.db", isolation_level=None) as database:
        database.execute(databases.CREATE)
        monkeypatch.setenv("MICRORELEASE_DATABASE_REGISTRY", str(tmp_path / "registry.db"))
        least_one = databases.spec_of(request_of, wait={"hours": 1})
        words = "the query must give at least {} rows; it gives {}"
        assert wait.what_is_missing(least_one) == words.format(1, 0)
        database.execute(databases.insert())
        assert wait.what_is_missing(least_one) == ""
        more = databases.spec_of(request_of, wait={"hours": 1, "rows": 31})
        assert wait.what_is_missing(more) == words.format(31, 30)
        database.execute("DROP TABLE persons")
    # no wait mends this; the run reports it
    assert wait.what_is_missing(more) == ""
    monkeypatch.setenv(
        "MICRORELEASE_DATABASE_REGISTRY", "postgresql://u@127.0.0.1:1/x?connect_timeout=2"
    )
    assert "must answer; no connection" in wait.what_is_missing(more)


@pytest.mark.usefixtures("prefect_server")
def test_a_run_by_hand_says_that_it_waits_and_goes_on_when_the_file_is_there(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    request_of.source.unlink()
    path = request_of.write(source={"wait": {"hours": 1}})
    seen: list[str] = []

    def deliver() -> None:
        with get_client(sync_client=True) as client:
            while WAITING_FOR_SOURCE not in seen:
                seen.extend(run.state_name or "" for run in client.read_flow_runs())
                time.sleep(0.1)
        request_of.source.write_text(ROWS, encoding="utf-8")

    delivery = threading.Thread(target=deliver)
    delivery.start()
    assert main(["run", str(path)]) == 0
    delivery.join()
    shown = capsys.readouterr().out
    assert "waiting: source.path must be a file;" in shown
    assert "the run waits until 2" in shown
    assert "published small 2026-Q3" in shown
    assert events(request_of) == ["started", "publishing", "published"]


@pytest.mark.usefixtures("prefect_server")
def test_a_run_whose_source_never_comes_ends_with_the_time_it_waited(request_of: Request) -> None:
    request_of.source.unlink()
    state = run_release(request_of.write(source={"wait": {"hours": A_SECOND}}))
    assert state.name == "Invalid"
    assert "is not there, although the run waited until 2" in (state.message or "")
    assert "0.000277778 hours after it was due (source.wait)" in (state.message or "")
    assert events(request_of) == ["started", "failed"]


@pytest.mark.usefixtures("prefect_server")
def test_check_does_not_wait(request_of: Request, capsys: pytest.CaptureFixture[str]) -> None:
    request_of.source.unlink()
    assert main(["check", str(request_of.write(source={"wait": {"hours": 1}}))]) == 11
    assert "source.path must be a readable file" in capsys.readouterr().err


def test_a_connection_is_found_in_a_secret_block(prefect_server: str) -> None:
    with pytest.raises(SpecError, match="'kept-secret' is not known"):
        connections.find("kept-secret")
    Secret(value="postgresql://u:p@host/db").save(  # type: ignore[unused-coroutine]
        "microrelease-database-kept-secret", overwrite=True
    )
    engine, address = connections.find("kept-secret")
    assert (engine.name, address.get_secret_value()) == ("PostgreSQL", "postgresql://u:p@host/db")
