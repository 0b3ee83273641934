"""Logs of server and worker."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from flows.operation import log as log_module
from flows.operation.log import Log
from tests.desk.desk import desk_with_users, visitor

LINE = "line {:05d} of many\n"


def follow(log: Log, script: str, heard: list[str]) -> None:
    """Keep all that a process writes."""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    thread = log.follow(process.stdout, heard.append)
    assert process.wait() == 0
    thread.join()
    process.stdout.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "MOST_BYTES", 1000)
    monkeypatch.setattr(log_module, "KEPT", 3)


@pytest.mark.usefixtures("small")
def test_a_log_begins_anew_when_it_is_full_and_the_oldest_part_goes(tmp_path: Path) -> None:
    heard: list[str] = []
    log = Log(tmp_path / "server.log")
    follow(log, f"for n in range(1000): print({LINE!r}.format(n), end='')", heard)
    parts = [tmp_path / f"server.log{end}" for end in (".3", ".2", ".1", "")]
    assert sorted(tmp_path.iterdir()) == sorted(parts)
    assert all(part.stat().st_size <= 1000 for part in parts)
    kept = "".join(part.read_text(encoding="utf-8") for part in parts)
    assert kept == "".join(LINE.format(n) for n in range(1000))[-len(kept) :]
    assert len(kept) > 3000
    assert len(heard) == 1000


@pytest.mark.usefixtures("small")
def test_a_line_without_end_is_cut_and_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "MOST_LINE", 100)
    heard: list[str] = []
    follow(Log(tmp_path / "server.log"), "print('x' * 100000, end='')", heard)
    assert {len(line) for line in heard} == {100}
    assert sum(part.stat().st_size for part in tmp_path.iterdir()) <= 4000


@pytest.mark.parametrize("path", ["/datasets", "/" + "x" * 5000, "/%0a%1b[31m"])
@pytest.mark.usefixtures("small")
def test_the_log_of_the_desk_is_limited_whatever_visitors_ask_for(
    tmp_path: Path, path: str
) -> None:
    client = visitor(desk_with_users(tmp_path))
    for _ in range(60):
        client.get(path)
    parts = list((tmp_path / "logs").iterdir())
    assert {part.name for part in parts} == {
        "desk.log", "desk.log.1", "desk.log.2", "desk.log.3",
    }  # fmt: skip
    assert sum(part.stat().st_size for part in parts) <= 4 * max(1000, 2 * len(path))


@pytest.mark.usefixtures("small")
def test_a_process_that_is_started_again_adds_to_the_same_log(tmp_path: Path) -> None:
    heard: list[str] = []
    log = Log(tmp_path / "worker.log")
    for words in ("first", "second"):
        follow(log, f"import sys; sys.stderr.write({words!r}); sys.stdout.write('\\xe9')", heard)
    assert (tmp_path / "worker.log").read_text(encoding="utf-8").count("second") == 1
    assert "first" in heard[0]


@pytest.mark.usefixtures("small")
def test_a_log_that_cannot_be_written_holds_nobody_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    log = Log(tmp_path / "server.log")
    # every write fails, as on a full disk
    log.stream.close()
    log.stream = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115
    follow(log, "for n in range(20000): print('much more than a pipe holds', n)", heard)
    assert len(heard) == 20000
    assert capsys.readouterr().err == ""
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("log ")]
