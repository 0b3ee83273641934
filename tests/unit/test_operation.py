"""Periods, named specs, reviews, candidates, the page of the register and the outbox."""

import json
import os
import stat
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.states import Failed

from algorithms.errors import IntegrityError, RefusedError, RejectedError, SpecError
from expectations.published.files import checksums
from expectations.request.named import SPECS, Changes, NamedSpec, resolve_spec
from expectations.review import Decision
from flows import alone as alone_module
from flows.alone import alone
from flows.cli import main
from flows.notify import tell
from flows.operation.installation import (
    FOR_SHELLS,
    OUTBOX,
    Installation,
    add_user_command,
    adopt,
    adopt_running,
    desk_answers,
)
from flows.operation.server import quieten
from flows.operation.up import up
from tasks.publish import Candidate, PublishedFolder, decide, publish, seal, settle
from tasks.store.audit import audit
from tasks.store.disk import try_lock
from tasks.store.history import history
from tasks.store.register import Register
from tests.conftest import Request
from tests.publishing import candidate, events, folder_of

OCTOBER = datetime(2026, 10, 2, 4, 0, tzinfo=UTC)


def test_the_period_follows_from_the_time_a_run_was_due(request_of: Request) -> None:
    every = {"period": None, "every": "quarter", "time_zone": "Europe/Madrid"}
    spec = request_of.load(release=every, source={"path": "table-{period}.csv"})
    settled = spec.at(OCTOBER)
    assert settled.release.folder == Path("small/2026-Q3")
    assert settled.source.path.name == "table-2026-Q3.csv"
    # half past eleven in London is half past twelve in Madrid
    assert spec.at(datetime(2026, 12, 31, 23, 30, tzinfo=UTC)).release.period == "2026-Q4"
    # a settled period stays the same, however late the spec is settled again
    assert settled.at(datetime(2030, 1, 1, tzinfo=UTC)) == settled


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ({"period": None}, "period or every must be given; both are missing"),
        ({"period": None, "every": "week"}, "must be 'month', 'quarter' or 'year'"),
        ({"time_zone": "Mars/Base"}, "must be the name of a time zone"),
    ],
)
def test_a_period_that_cannot_be_known_is_refused(
    request_of: Request, release: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        request_of.load(release=release)


def test_a_spec_is_called_by_name_and_changed_for_one_run(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_of.write(microaggregation={"method": "mdav_generic", "k": 3})
    monkeypatch.setenv(SPECS, str(request_of.folder))
    plain = resolve_spec(NamedSpec(name="spec"), OCTOBER).spec
    assert (plain.microaggregation.k, plain.gate.ceilings.il) == (3, 100.0)
    assert plain.source.path == request_of.source
    changes = Changes(period="2026-Q2", k=4, il=30.0, method="mhm", ordering="npn")
    changed = resolve_spec(NamedSpec(name="spec", changes=changes), OCTOBER).spec
    assert changed.release.period == "2026-Q2"
    assert (changed.microaggregation.method, changed.microaggregation.ordering) == ("mhm", "npn")
    assert (changed.microaggregation.k, changed.gate.ceilings.il) == (4, 30.0)
    assert changed.gate.ceilings.dld == 100.0


def test_an_unknown_spec_name_is_answered_with_the_known_names(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_of.write()
    monkeypatch.setenv(SPECS, str(request_of.folder))
    with pytest.raises(SpecError, match="no spec is called 'other'; there are: spec"):
        resolve_spec(NamedSpec(name="other"), OCTOBER)
    with pytest.raises(SpecError, match="'mdav' reads no path"):
        resolve_spec(NamedSpec(name="spec", changes=Changes(ordering="npn")), OCTOBER)
    with pytest.raises(SpecError, match=r"period: must be letters and digits.*; got '\.\./x'"):
        Changes.of("../x")


def test_a_form_offers_names_and_bounds_and_no_nulls() -> None:
    fields = Changes.model_json_schema()["properties"]
    assert "mdav" in fields["method"]["enum"]
    assert "npn" in fields["ordering"]["enum"]
    assert (fields["k"]["type"], fields["k"]["minimum"]) == ("integer", 2)
    assert (fields["il"]["minimum"], fields["il"]["maximum"]) == (0, 100)
    assert not any("anyOf" in field for field in fields.values())
    assert all(field["description"] for field in fields.values())


@pytest.mark.parametrize("name", ["Ana", " ana ", "ANA"])
def test_the_person_who_started_a_run_cannot_review_it(name: str) -> None:
    with pytest.raises(RefusedError, match="someone other"):
        Decision(True, name, started_by="Ana")
    Decision(True, "Bea", started_by="Ana")


def test_a_reviewer_without_a_name_is_refused() -> None:
    with pytest.raises(RefusedError, match="must give a name"):
        Decision(False, "  ")


def sealed(request_of: Request, started_by: str = "Ana") -> Candidate:
    masked, approval, spec, record = candidate(request_of)
    held = seal.fn(masked, approval, spec, record.adding(started_by=started_by))
    assert isinstance(held, Candidate)
    return held


def test_a_candidate_is_published_to_the_byte(request_of: Request) -> None:
    held = sealed(request_of)
    folder = request_of.register / "candidates" / held.attempt
    assert (
        stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    )
    assert not folder_of(request_of).exists()
    assert audit(request_of.register).waiting == [held.attempt]
    before = checksums(folder)
    decide.fn(request_of.register, held.attempt, Decision(True, "Bea", "good"))
    published = checksums(folder_of(request_of))
    assert published.pop("statement.json")
    assert published == before
    assert not folder.exists()
    assert events(request_of) == ["sealed", "publishing", "published"]
    found = audit(request_of.register)
    assert (found.faults, found.waiting, len(found.verified)) == ([], [], 1)
    first, last = history(request_of.register, found)
    assert (first.decision, last.decision, last.reviewer) == ("sealed", "published", "Bea")
    assert (last.candidate, last.status) == (held.attempt, "verified")
    with pytest.raises(RefusedError, match="has been decided on; candidates that wait: none"):
        decide.fn(request_of.register, held.attempt, Decision(True, "Bea"))
    with pytest.raises(RefusedError, match="is not a candidate"):
        decide.fn(request_of.register, "000009-other", Decision(True, "Bea"))


def test_a_rejected_candidate_is_dropped_and_recorded(request_of: Request) -> None:
    held = sealed(request_of)
    with pytest.raises(RefusedError, match="'Ana' did both"):
        decide.fn(request_of.register, held.attempt, Decision(False, "ana"))
    with pytest.raises(RejectedError, match="rejected by Bea: too coarse"):
        decide.fn(request_of.register, held.attempt, Decision(False, "Bea", "too coarse"))
    assert events(request_of) == ["sealed", "rejected"]
    assert not folder_of(request_of).exists()
    assert not list((request_of.register / "candidates").iterdir())
    assert history(request_of.register)[-1].reason == "rejected by Bea: too coarse"


def test_an_altered_candidate_is_not_published(request_of: Request) -> None:
    held = sealed(request_of)
    file = request_of.register / "candidates" / held.attempt / "README.md"
    file.write_bytes(file.read_bytes() + b" ")
    assert "altered README.md" in audit(request_of.register).faults[0]
    with pytest.raises(IntegrityError, match=r"altered README.md: reject it"):
        decide.fn(request_of.register, held.attempt, Decision(True, "Bea"))
    file.unlink()
    assert "differs from what was sealed" in audit(request_of.register).faults[0]
    with pytest.raises(RejectedError):
        decide.fn(request_of.register, held.attempt, Decision(False, "Bea"))


def test_a_release_that_is_already_published_needs_no_review(published: Request) -> None:
    masked, approval, spec, record = candidate(published)
    found = seal.fn(masked, approval, spec, record)
    assert isinstance(found, PublishedFolder)
    assert found.unchanged
    assert events(published) == ["publishing", "published", "unchanged"]


def test_a_candidate_whose_period_was_published_meanwhile_is_refused(request_of: Request) -> None:
    held = sealed(request_of)
    masked, approval, spec, record = candidate(request_of, microaggregation={"k": 2})
    publish.fn(masked, approval, spec, record)
    with pytest.raises(RefusedError, match="must not change once published"):
        decide.fn(request_of.register, held.attempt, Decision(True, "Bea"))
    assert audit(request_of.register).waiting == [held.attempt]


@pytest.mark.parametrize("approved", [True, False])
def test_a_decision_that_was_carried_out_elsewhere_has_the_same_outcome(
    request_of: Request, approved: bool
) -> None:
    held = sealed(request_of)
    decision = Decision(approved, "Bea", "looked at")
    if approved:
        folder = decide.fn(request_of.register, held.attempt, decision)
        assert settle.fn(request_of.register, held.attempt) == folder
    else:
        for step in (decide.fn, lambda *names: settle.fn(*names[:2])):
            with pytest.raises(RejectedError, match="rejected by Bea: looked at"):
                step(request_of.register, held.attempt, decision)
    outcome = ["publishing", "published"] if approved else ["rejected"]
    assert events(request_of) == ["sealed", *outcome]


def test_a_line_cut_off_at_the_end_is_found_by_a_witness(published: Request) -> None:
    earlier = (published.register / "register.head").read_bytes()
    held = sealed_again(published)
    register = Register(published.register)
    head = register.chain().head
    assert audit(published.register, witnesses=[head]).faults == []
    lines = register.lines.read_bytes().splitlines(keepends=True)
    register.lines.write_bytes(b"".join(lines[:-1]))
    folder = register.attempts / held.attempt
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    # with the head of that time, the register is an older copy of itself
    (published.register / "register.head").write_bytes(earlier)
    assert audit(published.register).faults == []
    (fault,) = audit(published.register, witnesses=[head]).faults
    assert "lines were removed at the end" in fault


def sealed_again(published: Request) -> Candidate:
    masked, approval, spec, record = candidate(
        published, release={"revision": 1}, microaggregation={"k": 2}
    )
    held = seal.fn(masked, approval, spec, record)
    assert isinstance(held, Candidate)
    return held


def test_the_register_is_shown_as_page_table_and_json(
    published: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed_again(published)
    assert main(["register", str(published.register)]) == 0
    shown = capsys.readouterr().out
    assert "verified" in shown
    assert "sealed" in shown
    page = (published.register / "index.html").read_text(encoding="utf-8")
    assert "Datasets: 1; public releases: 1; attempts: 2." in page
    for digest in checksums(folder_of(published)).values():
        assert digest in page
    assert (
        published.register / "attempts" / "000001-small-2026-Q3" / "report.html"
    ).as_uri() in page
    other = published.folder / "page.html"
    assert main(["register", str(published.register), "--json", "--page", str(other)]) == 0
    told = json.loads(capsys.readouterr().out)[str(published.register)]
    assert [past["decision"] for past in told["history"]] == ["published", "sealed"]
    assert other.is_file()

    data = folder_of(published) / "data.csv"
    data.write_bytes(data.read_bytes() + b"x")
    assert main(["register", str(published.register)]) == 13
    assert "Integrity check failed" in (published.register / "index.html").read_text("utf-8")
    Register(published.register).lines.write_bytes(b"{}\n")
    assert main(["register", str(published.register)]) == 13


def test_a_dataset_is_held_by_one_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefect_server: str
) -> None:
    monkeypatch.setattr(alone_module, "PATIENCE", 0.1)
    with alone("small", tmp_path):
        with pytest.raises(RefusedError, match="must not overlap"), alone("small", tmp_path):
            pass
        with alone("other", tmp_path):
            pass
    with alone("small", tmp_path):
        pass


def test_a_failed_run_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = FlowRun(flow_id=uuid4(), name="small-2026-Q3")
    state = Failed(name="Blocked", message="IL is too large")
    monkeypatch.delenv(OUTBOX, raising=False)
    assert not tell(run, state)
    monkeypatch.setenv(OUTBOX, str(tmp_path / "outbox"))
    assert tell(run, state)
    assert not tell(run, state)
    (message,) = (tmp_path / "outbox").iterdir()
    told = json.loads(message.read_text(encoding="utf-8"))
    assert (told["run"], told["state"], told["message"]) == (
        "small-2026-Q3",
        "Blocked",
        "IL is too large",
    )


def test_an_installation_is_private_and_makes_its_password_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRORELEASE_DATABASE", "postgresql+asyncpg://somewhere")
    home = tmp_path / "home"
    installation = Installation(home, 4999)
    installation.prepare()
    password = installation.password_file.read_text(encoding="utf-8")
    assert len(password) > 30
    for path in (installation.password_file, installation.environment_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    installation.prepare()
    assert installation.password_file.read_text(encoding="utf-8") == password
    settings = installation.settings
    assert settings["PREFECT_SERVER_API_HOST"] == "127.0.0.1"
    assert settings["PREFECT_SERVER_API_AUTH_STRING"] == password.strip()
    assert settings["PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED"] == "true"
    assert settings["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert settings["PREFECT_SERVER_DATABASE_CONNECTION_URL"] == "postgresql+asyncpg://somewhere"
    # the server cannot offer the second UI
    assert not (Path(settings["PREFECT_SERVER_UI_STATIC_DIRECTORY"]) / "v2").exists()

    exported = [name for name in FOR_SHELLS if name != "MICRORELEASE_HOME"]
    for name in exported:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("MICRORELEASE_HOME", str(home))
    adopt(home)
    assert os.environ["PREFECT_API_URL"] == "http://127.0.0.1:4999/api"
    assert os.environ["PREFECT_API_AUTH_STRING"] == password.strip()
    assert os.environ["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    for name in exported:
        del os.environ[name]


def test_a_second_start_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    first = Installation(tmp_path, 4999, 4998)
    first.prepare()
    before = first.environment_file.read_bytes()
    with (
        try_lock(tmp_path / "running", 0.0),
        pytest.raises(RefusedError, match="can run only once"),
    ):
        up(Installation(tmp_path, 5999, 5998), print)
    assert first.environment_file.read_bytes() == before


@pytest.mark.parametrize("home", ["/srv/my office", str(Path.home() / ".microrelease")])
def test_the_command_that_adds_users_names_a_home_that_is_not_the_usual_one(home: str) -> None:
    shown = add_user_command(Path(home))
    assert shown.endswith("ROLE --home '/srv/my office'" if "office" in home else "ROLE")


def test_status_without_an_installation_says_what_to_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert main(["status", "--home", str(tmp_path)]) == 1
    assert "start one with `microrelease up`" in capsys.readouterr().err


class _Healthy(BaseHTTPRequestHandler):
    """Answers as a server that is well."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Keep the terminal clean."""


@pytest.mark.parametrize(
    ("locked", "answering", "adopted"),
    [(True, True, True), (False, True, False), (True, False, False)],
    ids=["running", "stopped, another server on its port", "starting"],
)
def test_a_run_is_recorded_by_the_installation_that_is_running(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    locked: bool,
    answering: bool,
    adopted: bool,
) -> None:
    for name in FOR_SHELLS:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    with ExitStack() as started:
        server = HTTPServer(("127.0.0.1", 0), _Healthy)
        started.callback(server.server_close)
        if answering:
            started.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        else:
            server.server_close()
        installation = Installation(tmp_path, server.server_port)
        adopt_running(tmp_path)
        installation.prepare()
        adopt_running(tmp_path)
        assert "PREFECT_API_URL" not in os.environ
        (tmp_path / "running").touch()
        if locked:
            started.enter_context(try_lock(tmp_path / "running", 0.0))
        adopt_running(tmp_path)
        url = os.environ.get("PREFECT_API_URL")
        assert url == (f"{installation.url}/api" if adopted else None)
        assert (os.environ.get("PREFECT_API_AUTH_STRING") is not None) == adopted


def test_a_desk_answers_or_does_not() -> None:
    class Desk(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Keep the terminal clean."""

    server = HTTPServer(("127.0.0.1", 0), Desk)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    assert desk_answers(url)
    assert desk_answers(f"{url}/")
    server.shutdown()
    server.server_close()
    assert not desk_answers(url)
    for nonsense in ("desk", "http://", "http://[", "ftp://127.0.0.1:1"):
        assert not desk_answers(nonsense)


def test_the_pages_of_prefect_get_one_script_however_often_a_server_starts(tmp_path: Path) -> None:
    quieten(tmp_path)
    assert list(tmp_path.iterdir()) == []
    index = tmp_path / "v1" / "index.html"
    index.parent.mkdir()
    index.write_text("<head><title>Prefect</title></head><body></body>", encoding="utf-8")
    quieten(tmp_path)
    first = index.read_text(encoding="utf-8")
    assert first.startswith('<head><title>Prefect</title><script id="quiet">')
    assert first.endswith("</script></head><body></body>")
    # that of an earlier version is replaced
    index.write_text(first.replace("promotional", "other"), encoding="utf-8")
    quieten(tmp_path)
    assert index.read_text(encoding="utf-8") == first
