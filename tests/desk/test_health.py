"""Health and metrics: what runs, what is late, what is wrong, in aggregates."""

import os
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from fastapi import FastAPI
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from algorithms.measures import MEASURES
from expectations.request.named import SPECS
from flows.desk.metrics import TOKEN_FILE
from flows.desk.overview import STATES
from flows.desk.server import NO_SERVER
from flows.operation.status import Due, Status
from tasks.publish import begin
from tests.desk.desk import logged_in, visitor
from tests.desk.quarters import Quarters
from tests.desk.reading import Page, let_server_say

WELL = Status(
    server=True,
    workers=["worker-1"],
    running=["release-7: Running since 2026-11-17 06:30"],
    paused=["release-8: Paused since 2026-11-17 06:31"],
    due=[
        Due("release/small", datetime(2027, 2, 16, 6, 30, tzinfo=UTC), "Completed", spec="small"),
        Due("release/by-hand"),
    ],
)


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def client(desk: FastAPI) -> TestClient:
    return logged_in(desk, "engineer")


# health


def test_a_healthy_installation_says_so(client: TestClient, desk: FastAPI) -> None:
    let_server_say(desk, WELL)
    page = Page(client, "/health")
    assert page.notices[0].startswith("All scheduled releases would run")
    assert page.sections == ["Running", "Waiting for a reviewer", "Schedule", "Disks", "Versions"]
    assert "Workers: worker-1" in page.words
    assert "release-7: Running since 2026-11-17 06:30" in page.words
    assert "release-8: Paused since 2026-11-17 06:31" in page.words
    assert page.table("Deployments on the server") == [
        ["release/small", "due", "2027-02-16 06:30", "Completed"],
        ["release/by-hand", "by hand", "", "never ran"],
    ]
    ((candidate, *rest, _),) = page.table("Candidates that wait")
    assert (candidate, rest) == ("000008", ["small", "2026-Q2", "Ana"])


def test_what_runs_now_is_listed_with_the_person_who_started_it(
    client: TestClient, quarters: Quarters
) -> None:
    assert "No attempt runs now." in Page(client, "/health").words
    spec = quarters.load(release={"period": "2026-Q3"}, source={"path": "x.csv"})
    with closing(begin(spec, "Eve")):
        ((number, *rest, _),) = Page(client, "/health").table("Attempts that run now")
        assert (number, rest) == ("000010", ["small", "2026-Q3", "Eve"])


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status(server=True), "No worker is online, so that nothing will run."),
        (
            Status(
                server=True, workers=["w"], due=[Due("release/small", WELL.due[0].next, late=True)]
            ),
            "release/small is late.",
        ),
    ],
    ids=["no worker", "late"],
)
def test_what_keeps_releases_from_running_comes_first(
    client: TestClient, desk: FastAPI, status: Status, words: str
) -> None:
    let_server_say(desk, status)
    (notice,) = Page(client, "/health").notices
    assert notice == f"Something needs attention {words}"


def test_without_a_server_the_page_says_what_it_cannot_know(client: TestClient) -> None:
    page = Page(client, "/health")
    assert NO_SERVER in page.notices[0]


def test_a_server_that_does_not_answer_keeps_nobody_waiting(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.desk.server.PATIENCE", 0.05)
    # nothing listens there
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    page = Page(client, "/health")
    assert page.notices[0].startswith("Something needs attention")
    assert "000008" in page.words


def test_faulty_specs_and_registers_are_named(client: TestClient, quarters: Quarters) -> None:
    (quarters.folder / "faulty.yaml").write_text("release: 1\n", encoding="utf-8")
    lines = quarters.register / "register.jsonl"
    lines.write_bytes(lines.read_bytes()[10:])
    (notice,) = Page(client, "/health").notices
    assert "faulty.yaml must be a valid spec" in notice
    assert f"{quarters.register}: line 1 of register.jsonl was altered" in notice


def test_the_disks_are_those_of_home_public_folders_and_registers(
    client: TestClient, quarters: Quarters
) -> None:
    rows = Page(client, "/health").table("Space on the disks")
    assert [row[:2] for row in rows] == [
        [os.environ["MICRORELEASE_HOME"], "home"],
        [str(quarters.public), "public folder"],
        [str(quarters.register), "register"],
    ]
    assert all(row[2].endswith(" GB free") for row in rows)


def test_a_disk_that_is_nearly_full_is_a_worry(
    client: TestClient, quarters: Quarters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100 * 10**9, 0, 9 * 10**9))
    page = Page(client, "/health")
    assert f"The disk of {quarters.register} is nearly full." in page.notices[0]
    assert page.table("Space")[0][2] == "9.0 GB of 100.0 GB free"

    def fail(_: Path) -> Usage:
        raise PermissionError

    monkeypatch.setattr(shutil, "disk_usage", fail)
    assert Page(client, "/health").table("Space")[0][2] == "cannot be read"


def test_the_versions_are_those_of_the_code_that_runs(client: TestClient) -> None:
    from importlib.metadata import version

    rows = dict(Page(client, "/health").table("The code of this desk"))
    assert rows["prefect"] == version("prefect")
    assert rows["fastapi"] == version("fastapi")
    assert len(rows["microrelease sources_sha256"]) == 64


@pytest.mark.parametrize("role", ["engineer", "auditor", "administrator"])
def test_health_needs_a_role_and_being_alive_does_not(desk: FastAPI, role: str) -> None:
    Page(logged_in(desk, role), "/health")
    assert logged_in(desk, "reviewer").get("/health").status_code == 403
    assert visitor(desk).get("/health").status_code == 303
    answer = visitor(desk).get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok")


def test_the_desk_is_alive_without_specs_registers_and_users(
    desk: FastAPI, quarters: Quarters
) -> None:
    shutil.rmtree(quarters.folder)
    (Path(os.environ["MICRORELEASE_HOME"]) / "users.json").write_text("{", encoding="utf-8")
    assert visitor(desk).get("/healthz").text == "ok"


# metrics


def families(desk: FastAPI) -> dict[str, Metric]:
    """Read all metrics with the parser of Prometheus."""
    answer = visitor(desk).get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def values(desk: FastAPI, name: str) -> dict[tuple[str, ...], float]:
    samples = families(desk)[f"microrelease_{name}"].samples
    return {tuple(sample.labels.values()): sample.value for sample in samples}


def test_metrics_count_periods_by_state(desk: FastAPI, quarters: Quarters) -> None:
    assert values(desk, "releases") == {
        ("small", "blocked"): 1,
        ("small", "published"): 5,
        ("small", "waiting"): 1,
    }
    assert values(desk, "candidates_waiting") == {("small",): 1}
    quarters.approve("000008-small-2026-Q2")
    assert values(desk, "releases")["small", "published"] == 6
    assert values(desk, "candidates_waiting") == {("small",): 0}


def test_metrics_hold_the_measures_of_the_last_published_release(desk: FastAPI) -> None:
    measures = values(desk, "measure")
    assert measures["small", "il"] == 47.674
    assert measures["small", "muted"] == 0
    assert {name for _, name in measures} == {
        "il", "dld", "k", "candidates_min", "muted", "lone_changes", "il_over_fresh",
    }  # fmt: skip


def test_metrics_tell_the_time_since_the_last_success(desk: FastAPI) -> None:
    before = values(desk, "last_success_age_seconds")["small",]
    after = values(desk, "last_success_age_seconds")["small",]
    assert 0 <= before <= after < 24 * 3600


def test_metrics_count_what_cannot_be_read(desk: FastAPI, quarters: Quarters) -> None:
    assert values(desk, "faults") == {(): 0}
    (quarters.folder / "faulty.yaml").write_text("x", encoding="utf-8")
    (quarters.register / "register.jsonl").write_bytes(b"{}\n")
    assert values(desk, "faults") == {(): 2}
    # nothing is known of the register any more, and nothing is invented
    assert values(desk, "measure") == values(desk, "last_success_age_seconds") == {}


def test_metrics_are_aggregates_of_datasets_states_and_measures_only(
    desk: FastAPI, quarters: Quarters
) -> None:
    labels = {
        (name, value)
        for family in families(desk).values()
        for sample in family.samples
        for name, value in sample.labels.items()
    }
    allowed = {"dataset": {"small"}, "state": set(STATES), "measure": set(MEASURES)}
    assert labels
    assert all(value in allowed[name] for name, value in labels)
    text = visitor(desk).get("/metrics").text
    names = {name for kind in quarters.content["columns"].values() for name in kind}
    assert names.isdisjoint(re.findall(r"\w+", text))
    for secret in ("Ana", "Bea", "Cora", "Dan", "person-", str(quarters.folder), "000008", ".yaml",
                   "script", "mistake"):  # fmt: skip
        assert secret not in text


@pytest.mark.parametrize("name", ['quo"te', "back\\slash", "line\nbreak", "{brace}", "ünï"])
def test_a_name_cannot_forge_a_metric(desk: FastAPI, quarters: Quarters, name: str) -> None:
    path = quarters.folder / "forged.yaml"
    content = yaml.safe_load(quarters.path.read_text(encoding="utf-8"))
    content["release"]["name"] = f'{name}"}} 1\nmicrorelease_faults 99\n'
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    # no dataset can have such a name, and its file is a fault
    assert values(desk, "faults") == {(): 1}


@pytest.fixture
def token_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "token"
    path.write_text("a token of the monitoring\n", encoding="utf-8")
    monkeypatch.setenv(TOKEN_FILE, str(path))
    return path


def test_metrics_may_need_a_token(desk: FastAPI, token_file: Path) -> None:
    client = visitor(desk)
    right = "Bearer a token of the monitoring"
    answer = client.get("/metrics", headers={"Authorization": right})
    assert "microrelease_releases" in answer.text
    for wrong in ("", right[:-1], right + "x", right[7:], "Basic x", right.lower(), "Bearer "):
        answer = client.get("/metrics", headers={"Authorization": wrong})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert "microrelease_" not in answer.text
    assert client.get("/metrics", headers={"Authorization": b"Bearer \xff"}).status_code == 401
    # a login is no token
    assert logged_in(desk, "administrator").get("/metrics").status_code == 401


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda path: path.unlink(), 503),
        (lambda path: path.write_bytes(b"\xff\xfe"), 503),
        (lambda path: path.write_text(" \n"), 401),
    ],
    ids=["gone", "no text", "empty"],
)
def test_a_token_that_cannot_be_read_sends_nothing(
    desk: FastAPI, token_file: Path, spoil: Callable[[Path], None], status: int
) -> None:
    spoil(token_file)
    for header in ("", "Bearer ", "Bearer"):
        answer = visitor(desk).get("/metrics", headers={"Authorization": header})
        assert answer.status_code == status
        assert "microrelease_" not in answer.text


def test_metrics_of_an_installation_without_specs_are_valid(
    desk: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SPECS, str(tmp_path))
    assert values(desk, "faults") == {(): 0}
    assert values(desk, "releases") == {}
