"""An installation that has faulty specs of every kind among its specs, as a user starts it."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator

import pytest

from tests.operation.site import Site, site
from tests.yaml_bomb import bomb

pytestmark = [pytest.mark.flow, pytest.mark.operation]

DOCUMENTATION = ("/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.json")


FAULTY = {
    "binary.yaml": bytes(range(256)),
    "bomb.yaml": bomb("[%s]"),
    "broken.yaml": b"release: [",
    "empty.yaml": b"",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    specs = folder / "specs"
    specs.mkdir()
    for name, content in FAULTY.items():
        (specs / name).write_bytes(content)
    (specs / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(specs / "pipe.yaml")
    with site(folder) as started:
        twin = started.write_spec("twin").read_bytes()
        (specs / "second.yaml").write_bytes(twin)
        yield started


def page(place: Site, path: str, *, login: bool) -> tuple[int, str]:
    """Ask the server as a browser does; give status and content."""
    request = urllib.request.Request(f"{place.url}{path}", headers={"Accept": "text/html"})
    if login:
        token = b64encode(place.password.encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("login", [False, True])
@pytest.mark.parametrize("base", ["", "/api"])
def test_the_server_offers_no_page_about_its_api(place: Site, base: str, login: bool) -> None:
    for path in DOCUMENTATION:
        status, content = page(place, base + path, login=login)
        assert status == (404 if login or not base else 401), path
        assert "://" not in content
    for path in ("/docs/", "/redoc/", "/ref", "/scalar", "/elements", "/swagger"):
        _, content = page(place, base + path, login=login)
        assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", content) == [], path


def test_a_faulty_spec_is_named_and_the_others_run(place: Site) -> None:
    sentence = "{} must be a valid spec; it is not: "
    started = (place.folder / "up.log").read_text(encoding="utf-8")
    early = [*FAULTY, "loop.yaml", "pipe.yaml"]
    for name in early:
        assert f"warning: {sentence.format(name)}" in started
    faulty = [*early, "second.yaml", "twin.yaml"]
    shown = subprocess.run(
        [sys.executable, "-m", "flows.cli", "status", "--home", str(place.home)],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(place.folder)},
    )
    assert (shown.returncode, shown.stderr) == (1, "")
    for name in faulty:
        assert f"misspecified: {sentence.format(name)}" in shown.stdout
    assert "release/enterprise-survey" in shown.stdout
    assert "desk      answers at" in shown.stdout

    datasets = place.visitor("bea").get("/datasets").text
    rows = re.findall(r"<tr>.*?</tr>", datasets, flags=re.S)
    for name in faulty:
        assert any(name in row and "misspecified" in row for row in rows), name
    (twin,) = (row for row in rows if 'href="/datasets/twin"' in row)
    assert "misspecified" in twin
    (fine,) = (row for row in rows if 'href="/datasets/enterprise-survey"' in row)
    assert "misspecified" not in fine

    named = {"name": "enterprise-survey", "changes": {"period": "2026-Q2"}}
    released = place.ended(place.start("release/enterprise-survey", spec=named))
    assert released.state is not None
    assert released.state.name == "Published", released.state.message
    refused = place.ended(place.start("release/by-hand", spec={"name": "twin"}))
    assert refused.state is not None
    assert refused.state.name == "Misspecified"
    assert "twin.yaml and second.yaml both release 'twin'" in (refused.state.message or "")
    audited = place.ended(place.start("audit/every-night"))
    assert audited.state is not None
    assert audited.state.name == "Misspecified"
    assert all(sentence.format(name) in (audited.state.message or "") for name in faulty)
    table = json.loads(str(place.artefacts(audited.id)["audit"].data))
    assert [(row["status"], row["verified releases"]) for row in table] == [("passed", 1)]


def test_a_blocked_run_tells_of_itself_and_starts_no_other_run(place: Site) -> None:
    named = {"name": "enterprise-survey", "changes": {"period": "2026-Q3", "il": 1.0}}
    run = place.ended(place.start("release/enterprise-survey", spec=named))
    assert run.state is not None
    assert run.state.name == "Blocked"
    told = place.home / "outbox" / f"{run.id}.json"
    assert json.loads(told.read_text(encoding="utf-8"))["state"] == "Blocked"
    time.sleep(5)
    assert str(run.id) not in place.notified()


def test_server_worker_and_desk_keep_logs_and_nothing_else_grows(place: Site) -> None:
    logs = place.home / "logs"
    # each of them is a rotating one
    assert {path.name for path in logs.iterdir()} == {
        "server.log", "worker.log", "desk.log", "desk-process.log",
    }  # fmt: skip
    elsewhere = [path for path in place.home.rglob("*.log*") if path.parent != logs]
    assert elsewhere == []
    assert "the desk listens" in (logs / "desk-process.log").read_text(encoding="utf-8")
    # the second UI is not there to be served, which the server says at its start
    assert "V2 UI" in (logs / "server.log").read_text(encoding="utf-8")
    assert "started!" in (logs / "worker.log").read_text(encoding="utf-8")
