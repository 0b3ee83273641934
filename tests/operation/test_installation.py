"""An installation that has a faulty spec among its specs, as a user starts it."""

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

pytestmark = [pytest.mark.flow, pytest.mark.operation]

DOCUMENTATION = ("/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.json")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "specs").mkdir()
    (folder / "specs" / "broken.yaml").write_text("release: [", encoding="utf-8")
    with site(folder) as started:
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
    sentence = "broken.yaml must be a valid spec; it is not: "
    assert f"warning: {sentence}" in (place.folder / "up.log").read_text(encoding="utf-8")
    shown = subprocess.run(
        [sys.executable, "-m", "flows.cli", "status", "--home", str(place.home)],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(place.folder)},
    )
    assert (shown.returncode, shown.stderr) == (1, "")
    assert f"misspecified: {sentence}" in shown.stdout
    assert "release/enterprise-survey" in shown.stdout

    named = {"name": "enterprise-survey", "changes": {"period": "2026-Q2"}}
    released = place.ended(place.start("release/enterprise-survey", spec=named))
    assert released.state is not None
    assert released.state.name == "Published", released.state.message
    audited = place.ended(place.start("audit/every-night"))
    assert audited.state is not None
    assert audited.state.name == "Misspecified"
    assert (audited.state.message or "").startswith(sentence)
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


def test_server_and_worker_keep_logs(place: Site) -> None:
    logs = place.home / "logs"
    # the second UI is not there to be served, which the server says at its start
    assert "V2 UI" in (logs / "server.log").read_text(encoding="utf-8")
    assert "started!" in (logs / "worker.log").read_text(encoding="utf-8")
