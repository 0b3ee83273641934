"""Reviews, candidates, audits and notifications through a Prefect server."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from uuid import uuid4

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Failed

from algorithms.errors import SpecError, StorageError
from expectations.request.named import SPECS
from flows import outbox as outbox_module
from flows.audit import audit
from flows.cli import main
from flows.notify import NOTIFICATION_BLOCK, tell
from flows.operation.installation import OUTBOX
from flows.review import check_answerable
from tasks.store.desk_pages import key_of
from tasks.store.home import DESK_URL
from tasks.store.register import Register
from tests.conftest import Request
from tests.mail import Letters, mail_server
from tests.publishing import events, folder_of, run_release

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

REVIEWED = {"ceilings": {"il": 100.0, "dld": 100.0}, "review": {"hours": 0.001}}


def test_no_answer_in_time_is_a_rejection(request_of: Request) -> None:
    state = run_release(request_of.write(gate=REVIEWED), started_by="Ana")
    assert (state.type.value, state.name) == ("FAILED", "Rejected")
    assert state.message == "rejected by nobody: no answer within 0.001 hours"
    assert events(request_of) == ["started", "sealed", "rejected"]
    assert not folder_of(request_of).exists()


@pytest.mark.parametrize("started_by", ["", "  ", "The schedule"])
@pytest.mark.parametrize("candidate", [False, True])
def test_a_run_that_nobody_signed_is_refused_before_any_work(
    request_of: Request, started_by: str, candidate: bool
) -> None:
    spec = request_of.write(gate=REVIEWED)
    state = run_release(spec, started_by=started_by, candidate=candidate)
    assert (state.type.value, state.name) == ("FAILED", "Misspecified")
    assert (state.message or "").endswith("give your name in started_by")
    assert events(request_of) == ["started", "failed"]
    (attempt,) = (request_of.register / "attempts").iterdir()
    assert Register(request_of.register).manifest(attempt.name).input is None


def test_a_spec_that_asks_for_review_needs_a_server_that_stays(request_of: Request) -> None:
    check_answerable(request_of.load(gate=REVIEWED))
    with temporary_settings({PREFECT_API_URL: None}):
        check_answerable(request_of.load())
        with pytest.raises(SpecError, match="start `microrelease up`"):
            check_answerable(request_of.load(gate=REVIEWED))


def test_a_candidate_is_sealed_now_and_published_later(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = str(request_of.write(gate=REVIEWED))
    assert main(["run", spec, "--candidate", "--started-by", "Ana"]) == 0
    shown = capsys.readouterr().out
    assert "sealed as 000001-small-2026-Q3" in shown
    assert "microrelease approve 000001-small-2026-Q3" in shown
    approve = ["approve", "000001-small-2026-Q3", "--register", str(request_of.register)]
    assert main([*approve, "--reviewer", "ana"]) == 12
    assert "'Ana' did both" in capsys.readouterr().err
    assert main([*approve, "--reviewer", "Bea", "--reason", "well done"]) == 0
    assert "published small 2026-Q3" in capsys.readouterr().out
    assert main([*approve, "--reviewer", "Bea"]) == 12
    assert events(request_of) == ["started", "sealed", "publishing", "published"]
    manifest = Register(request_of.register).manifest("000002-small-2026-Q3")
    assert manifest.review is not None
    assert manifest.review.model_dump(exclude={"decisions"}) == {
        "candidate": "000001-small-2026-Q3",
        "approved": True,
        "reviewer": "Bea",
        "reason": "well done",
        "started_by": "Ana",
    }
    [decision] = manifest.review.decisions
    assert (decision.reviewer, decision.channel) == ("Bea", "command line")
    report = (request_of.register / "attempts" / "000002-small-2026-Q3" / "report.html").read_text()
    assert "Bea (a claimed name, command line), approved" in report

    other = str(request_of.write(gate=REVIEWED, release={"period": "2026-Q4"}))
    assert main(["run", other, "--candidate"]) == 0
    approve[1] = "000003-small-2026-Q4"
    assert main([*approve, "--reviewer", "Bea", "--reject", "--reason", "too coarse"]) == 15
    assert "rejected by Bea: too coarse" in capsys.readouterr().err


def test_the_audit_flow_tells_whole_registers_from_altered_ones(published: Request) -> None:
    whole = audit([published.register], return_state=True)
    assert (whole.type.value, whole.name) == ("COMPLETED", "Verified")
    assert whole.message == "1 releases in 1 registers are as published"
    data = folder_of(published) / "README.md"
    data.write_bytes(data.read_bytes() + b" ")
    altered = audit([published.register], return_state=True)
    assert (altered.type.value, altered.name) == ("FAILED", "Corrupt")
    assert "README.md" in (altered.message or "")
    both = audit([published.folder / "nowhere", published.register], return_state=True)
    assert (both.type.value, both.name) == ("FAILED", "Corrupt")
    assert "nowhere' is not a register" in (both.message or "")
    assert "README.md" in (both.message or "")


def test_the_audit_flow_notices_that_a_register_was_removed(
    published: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = published.write().parent
    monkeypatch.setenv(SPECS, str(specs))
    assert audit(return_state=True).message == "1 releases in 1 registers are as published"
    published.register.rename(published.folder / "elsewhere")
    removed = audit(return_state=True)
    assert (removed.type.value, removed.name) == ("FAILED", "Corrupt")
    assert "is not a register" in (removed.message or "")


def test_the_audit_flow_passes_over_specs_that_never_ran(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SPECS, str(request_of.write().parent))
    assert audit(return_state=True).message == "0 releases in 0 registers are as published"


@pytest.fixture
def hook() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Listen where a notification block posts to."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", heard
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_notification_block_is_sent_each_bad_end_once(
    hook: tuple[str, list[dict[str, str]]],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, heard = hook
    CustomWebhookNotificationBlock(
        name="here", url=url, json_data={"subject": "{{subject}}", "body": "{{body}}"}
    ).save("here", overwrite=True)
    outbox = tmp_path_factory.mktemp("outbox")
    monkeypatch.setenv(OUTBOX, str(outbox))
    run = FlowRun(flow_id=uuid4(), name="small-2026-Q3")
    state = Failed(name="Blocked", message="IL is too large")
    monkeypatch.setenv(NOTIFICATION_BLOCK, "custom-webhook/missing")
    monkeypatch.setattr(outbox_module, "PAUSES", (0.0, 0.0))
    with pytest.raises(StorageError, match=r"tried 2 times.*must accept notifications"):
        tell(run, state)
    # what could not be sent is not lost
    (unsent,) = outbox.iterdir()
    assert unsent.name == f"{run.id}.unsent"
    assert json.loads(unsent.read_text(encoding="utf-8"))["message"] == "IL is too large"
    monkeypatch.setenv(NOTIFICATION_BLOCK, "custom-webhook/here")
    assert [tell(run, state), tell(run, state)] == [True, False]
    assert [path.name for path in outbox.iterdir()] == [f"{run.id}.json"]
    assert heard == [{"subject": "small-2026-Q3", "body": "Blocked: IL is too large"}]


def test_a_candidate_that_begins_to_wait_is_told_of_once(
    request_of: Request,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outbox = tmp_path_factory.mktemp("outbox")
    monkeypatch.setenv(OUTBOX, str(outbox))
    letters = Letters()
    with mail_server(letters):
        for name, value in letters.settings(MAIL_TO="bea@example.org").items():
            monkeypatch.setenv(name, value)
        spec = request_of.write(gate=REVIEWED)
        sealed = run_release(spec, started_by="Ana", candidate=True)
        monkeypatch.setenv(DESK_URL, "http://127.0.0.1:4210/")
        rejected = run_release(spec, started_by="Ana")
    assert (sealed.name, rejected.name) == ("Sealed", "Rejected")
    first, second, end = (letter for _, letter in letters.received)
    assert first["Subject"] == second["Subject"] == "Waits for a reviewer: small-2026-Q3"
    assert end["Subject"] == "Rejected: small-2026-Q3"
    lines = first.get_content().splitlines()
    assert {"dataset: small", "period: 2026-Q3", "candidate: 000001-small-2026-Q3"} <= {*lines}
    assert "decide: `microrelease approve 000001-small-2026-Q3`" in lines
    lines = second.get_content().splitlines()
    assert "candidate: 000002-small-2026-Q3" in lines
    address = f"http://127.0.0.1:4210/review/{key_of(request_of.register)}/000002-small-2026-Q3"
    assert f"decide: {address}" in lines
    assert len(list(outbox.iterdir())) == 3


def test_a_candidate_waits_even_if_nobody_can_be_told(
    request_of: Request,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outbox = tmp_path_factory.mktemp("outbox")
    monkeypatch.setenv(OUTBOX, str(outbox))
    monkeypatch.setenv("MICRORELEASE_SMTP_HOST", "127.0.0.1")
    monkeypatch.setattr(outbox_module, "PAUSES", (0.0,))
    state = run_release(request_of.write(gate=REVIEWED), started_by="Ana")
    assert state.message == "rejected by nobody: no answer within 0.001 hours"
    assert [path.suffix for path in outbox.iterdir()] == [".unsent", ".unsent"]
    # the nightly audit tries again
    letters = Letters()
    with mail_server(letters):
        for name, value in letters.settings(MAIL_TO="bea@example.org").items():
            monkeypatch.setenv(name, value)
        audit([request_of.register], return_state=True)
    assert len(letters.received) == 2
    assert [path.suffix for path in outbox.iterdir()] == [".json", ".json"]
