"""Reviewers decide in the desk, under their own names, and every trick is refused."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import FastAPI
from starlette.testclient import TestClient

from algorithms.errors import RefusedError
from expectations.published.verifier import verify
from expectations.request.named import SPECS
from expectations.review import (
    COMMAND_LINE,
    DESK,
    NO_ANSWER,
    PREFECT_UI,
    WAKE,
    Decision,
    decision_text,
)
from expectations.signatures import DECISION, sign
from tasks.publish import decide, enter_review, seal
from tasks.store.audit import audit
from tasks.store.candidates import deciding
from tasks.store.desk_pages import key_of
from tasks.store.register import Register
from tasks.store.reviews import ballot
from tasks.store.signing import public_pem
from tests.conftest import Request
from tests.desk.desk import add_user, desk_with_users, logged_in, token
from tests.publishing import candidate, events, folder_of

NAME = "000001-small-2026-Q3"
TWO = {"ceilings": {"il": 100.0, "dld": 100.0}, "review": {"reviewers": 2, "claimed_names": False}}
ONE = {"ceilings": {"il": 100.0, "dld": 100.0}, "review": {}}


class Review:
    """A sealed candidate, and a desk with reviewers."""

    def __init__(self, request_of: Request, app: FastAPI) -> None:
        self.request, self.app = request_of, app
        self.path = f"/review/{key_of(request_of.register)}/{NAME}"

    def log_in(self, login: str) -> TestClient:
        return logged_in(self.app, login)

    def decide(self, client: TestClient, choice: str, **fields: str) -> Any:
        shown = {
            "csrf": token(client, "/review"),
            "manifest": Register(self.request.register).manifest_sha256(NAME),
        }
        return client.post(self.path, data={**shown, "decision": choice, **fields})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def review(home: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch) -> Review:
    return sealed(home, request_of, monkeypatch, TWO)


def sealed(
    home: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch, gate: dict[str, Any]
) -> Review:
    monkeypatch.setenv(SPECS, str(request_of.write(gate=gate).parent))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    seal.fn(*candidate(request_of, gate=gate))
    app = desk_with_users(home)
    for login in ("bea", "carl", "ana"):
        add_user(home, login, "reviewer")
    return Review(request_of, app)


def test_two_reviewers_take_a_candidate_from_the_queue_to_the_public(review: Review) -> None:
    bea, carl = review.log_in("bea"), review.log_in("carl")
    queue = bea.get("/review").text
    assert review.path in queue
    assert "2 reviewers" in queue
    page = bea.get(review.path)
    assert "Nothing is published before 1 more approved" in page.text
    first = review.decide(bea, "approve", reason="figures are fine")
    assert first.status_code == 200
    assert "Your approval is recorded" in first.text
    assert not folder_of(review.request).exists()
    again = bea.get(review.path).text
    assert "You have approved it" in again
    second = review.decide(carl, "approve")
    assert "Published" in second.text
    found = verify(folder_of(review.request))
    assert found.statement is not None
    assert found.statement.decision.reviewers == 2
    manifest = Register(review.request.register).manifest("000002-small-2026-Q3")
    assert manifest.review is not None
    assert [(each.reviewer, each.channel) for each in manifest.review.decisions] == [
        ("Bea", DESK),
        ("Carl", DESK),
    ]
    assert manifest.review.reviewer == "Bea and Carl"
    assert audit(review.request.register).faults == []
    released = carl.get(f"/releases/{key_of(review.request.register)}/{manifest.attempt}").text
    assert "figures are fine" in released
    assert "No candidate waits" in bea.get("/review").text
    assert bea.get(review.path).status_code == 303


def test_the_person_who_started_the_run_is_refused(review: Review, home: Path) -> None:
    ana = review.log_in("ana")
    assert "you started this run" in ana.get(review.path).text
    answer = review.decide(ana, "approve")
    assert answer.status_code == 409
    assert "&#39;Ana&#39; did both" in answer.text
    # another name for display does not help
    add_user(home, "ana", "reviewer", name="Somebody Else")
    answer = review.decide(review.log_in("ana"), "approve")
    assert answer.status_code == 409
    assert not folder_of(review.request).exists()


def test_one_rejection_with_a_reason_drops_the_candidate(review: Review) -> None:
    bea, carl = review.log_in("bea"), review.log_in("carl")
    review.decide(bea, "approve")
    answer = review.decide(carl, "reject")
    assert answer.status_code == 400
    assert "A rejection needs a reason" in answer.text
    answer = review.decide(carl, "reject", reason="<script>alert(1)</script> too coarse")
    assert "Rejected" in answer.text
    assert events(review.request) == ["sealed", "rejected"]
    assert not folder_of(review.request).exists()
    page = bea.get(f"/releases/{key_of(review.request.register)}/000002-small-2026-Q3").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; too coarse" in page
    assert audit(review.request.register).faults == []


def test_a_reviewer_who_approved_can_still_reject(review: Review) -> None:
    bea = review.log_in("bea")
    page = review.decide(bea, "approve").text
    assert "Until then you can still reject it" in page
    assert 'value="reject"' in page
    assert 'value="approve"' not in page
    assert "Rejected" in review.decide(bea, "reject", reason="seen too late").text
    assert events(review.request) == ["sealed", "rejected"]


@pytest.mark.parametrize("role", ["engineer", "auditor", "administrator"])
def test_no_other_role_decides(review: Review, role: str) -> None:
    client = review.log_in(role)
    page = client.get(review.path)
    assert page.status_code == (200 if role == "auditor" else 403)
    assert 'value="approve"' not in page.text
    answer = client.post(
        review.path, data={"csrf": token(client, "/datasets"), "decision": "approve"}
    )
    assert answer.status_code == 403
    assert Register(review.request.register).chain().reviews == {}


def test_a_decision_without_its_token_is_refused(review: Review) -> None:
    bea = review.log_in("bea")
    for fields in ({}, {"csrf": "x"}, {"csrf": token(review.log_in("carl"), "/review")}):
        answer = bea.post(review.path, data={**fields, "decision": "approve"})
        assert answer.status_code == 403
    assert Register(review.request.register).chain().reviews == {}


def test_a_decision_that_is_sent_again_counts_once(review: Review) -> None:
    bea = review.log_in("bea")
    review.decide(bea, "approve")
    for _ in range(3):
        answer = review.decide(bea, "approve")
        assert answer.status_code == 409
        assert "Each reviewer decides once" in answer.text
    assert len(Register(review.request.register).chain().reviews[NAME]) == 1
    review.decide(review.log_in("carl"), "approve")
    answer = review.decide(bea, "approve")
    assert answer.status_code == 409
    assert "his candidate does not wait" in answer.text


def test_two_reviewers_at_the_same_moment_publish_once(review: Review) -> None:
    clients = [review.log_in("bea"), review.log_in("carl")]
    barrier = threading.Barrier(2)

    def approve(client: TestClient) -> int:
        barrier.wait()
        return int(review.decide(client, "approve").status_code)

    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(approve, clients))
    if not folder_of(review.request).exists():
        # one of them was told that the other was deciding, and tries again
        assert sorted(statuses) == [200, 409]
        refused = clients[statuses.index(409)]
        assert "Published" in review.decide(refused, "approve").text
    assert events(review.request) == ["sealed", "publishing", "published"]
    assert len(Register(review.request.register).chain().reviews[NAME]) == 2
    assert audit(review.request.register).faults == []


def test_a_candidate_whose_files_were_swapped_is_refused(review: Review) -> None:
    file = review.request.register / "candidates" / NAME / "data.csv"
    file.write_bytes(file.read_bytes().replace(b"008", b"009", 1))
    answer = review.decide(review.log_in("bea"), "approve")
    assert answer.status_code == 409
    assert "differs from what was sealed" in answer.text
    assert Register(review.request.register).chain().reviews == {}
    assert not folder_of(review.request).exists()


def test_files_that_are_swapped_after_the_first_approval_are_refused_too(review: Review) -> None:
    review.decide(review.log_in("bea"), "approve")
    file = review.request.register / "candidates" / NAME / "README.md"
    file.write_bytes(file.read_bytes() + b"more")
    answer = review.decide(review.log_in("carl"), "approve")
    assert answer.status_code == 409
    assert "altered README.md" in answer.text
    assert not folder_of(review.request).exists()


def test_a_form_that_showed_another_candidate_is_refused(review: Review) -> None:
    answer = review.decide(review.log_in("bea"), "approve", manifest="0" * 64)
    assert answer.status_code == 409
    assert "must be about the candidate that was shown" in answer.text
    assert review.decide(review.log_in("bea"), "publish").status_code == 400
    long = review.decide(review.log_in("bea"), "approve", reason="x" * 2001)
    assert long.status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/review/../../etc/passwd",
        "/review/000000000000/000001-small-2026-Q3",
        "/review/{key}/..%2f..%2fattempts",
        "/review/{key}/000009-small-2026-Q3",
    ],
)
def test_what_is_no_candidate_is_not_found(review: Review, path: str) -> None:
    bea = review.log_in("bea")
    assert bea.get(path.format(key=key_of(review.request.register))).status_code == 404


def test_claimed_names_do_not_count_where_the_spec_asks_for_checked_ones(review: Review) -> None:
    for channel in (PREFECT_UI, "command line"):
        with pytest.raises(Exception, match="decide in the desk"):
            decide.fn(review.request.register, NAME, Decision(True, "Bea", channel=channel))


def test_where_the_spec_allows_it_a_claimed_name_counts_and_is_called_one(
    home: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = sealed(home, request_of, monkeypatch, ONE | {"review": {"reviewers": 2}})
    enter_review(request_of.register, NAME, Decision(True, "Dora", channel=PREFECT_UI))
    for channel in (PREFECT_UI, COMMAND_LINE):
        with pytest.raises(RefusedError, match="each reviewer decides once; dora has approved"):
            enter_review(request_of.register, NAME, Decision(True, "dora", channel=channel))
    bea = review.log_in("bea")
    assert "Dora (a claimed name, Prefect UI)" in bea.get(review.path).text
    assert "Published" in review.decide(bea, "approve").text
    report = bea.get(f"/releases/{key_of(request_of.register)}/000002-small-2026-Q3/report").text
    assert "Dora (a claimed name, Prefect UI), approved" in report


def test_a_reviewer_at_the_desk_replaces_whoever_claimed_the_name(
    home: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = sealed(home, request_of, monkeypatch, ONE | {"review": {"reviewers": 2}})
    enter_review(request_of.register, NAME, Decision(True, "Bea", channel=PREFECT_UI))
    bea = review.log_in("bea")
    assert "recorded" in review.decide(bea, "approve", reason="it is me").text
    register = Register(request_of.register)
    [counted] = ballot(register.chain(), register.manifest(NAME)).decisions
    assert (counted.channel, counted.reason) == (DESK, "it is me")
    assert not folder_of(request_of).exists()
    # and a claimed name does not count a second time
    with pytest.raises(RefusedError, match="each reviewer decides once"):
        enter_review(request_of.register, NAME, Decision(True, "Bea", channel=PREFECT_UI))
    assert "Published" in review.decide(review.log_in("carl"), "approve").text
    assert audit(request_of.register).faults == []


def test_a_decision_that_a_crash_left_open_can_be_carried_out(review: Review) -> None:
    register = Register(review.request.register)
    for name in ("Bea", "Carl"):
        enter_review(register.folder, NAME, Decision(True, name, channel=DESK))
    assert ballot(register.chain(), register.manifest(NAME)).missing == 0
    carl = review.log_in("carl")
    assert "nothing: it can be carried out" in carl.get("/review").text
    assert "Published" in review.decide(carl, "carry out").text
    assert folder_of(review.request).exists()


@pytest.mark.parametrize("held", [False, True], ids=["sealed", "held by a run"])
def test_nothing_is_carried_out_while_decisions_are_missing(review: Review, held: bool) -> None:
    register = Register(review.request.register)
    bea = review.log_in("bea")
    review.decide(bea, "approve")
    with deciding(register.folder, NAME) if held else nullcontext():
        answer = review.decide(bea, "carry out")
    assert answer.status_code == 409
    assert "this candidate waits for another reviewer" in answer.text
    assert len(register.chain().reviews[NAME]) == 1
    assert register.chain().waiting == [NAME]


@pytest.mark.parametrize("name", [WAKE, " Decided  IN the desk"])
@pytest.mark.parametrize("approved", [True, False])
def test_the_word_that_wakes_a_run_is_nobodys_name(
    home: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch, name: str, approved: bool
) -> None:
    sealed(home, request_of, monkeypatch, ONE)
    for channel in (PREFECT_UI, COMMAND_LINE, DESK):
        with pytest.raises(RefusedError, match="must be made by a person"):
            enter_review(request_of.register, NAME, Decision(approved, name, channel=channel))
    assert Register(request_of.register).chain().reviews == {}


def test_silence_rejects_nothing_that_was_decided_in_the_last_moment(review: Review) -> None:
    folder = review.request.register
    nobody = Decision(False, "nobody", "no answer within 1 hours", channel=NO_ANSWER)
    for name in ("Bea", "Carl"):
        enter_review(folder, NAME, Decision(True, name, channel=DESK))
    assert not enter_review(folder, NAME, nobody).rejected
    assert len(Register(folder).chain().reviews[NAME]) == 2


def test_a_reviewer_with_a_key_signs_each_decision(review: Review, home: Path) -> None:
    key = Ed25519PrivateKey.generate()
    add_user(home, "bea", "reviewer", key=public_pem(key).decode())
    bea = review.log_in("bea")
    assert "microrelease key sign" in bea.get(review.path).text
    refused = review.decide(bea, "approve", reason="fine", signature="AAAA")
    assert refused.status_code == 409
    assert "signed with the reviewer&#39;s own key" in refused.text
    register = Register(review.request.register)
    text = decision_text(NAME, register.manifest_sha256(NAME), Decision(True, "Bea", "fine"))
    signature = sign(key, DECISION, text)
    other = review.decide(bea, "approve", reason="very fine", signature=signature)
    assert other.status_code == 409
    assert "recorded" in review.decide(bea, "approve", reason="fine", signature=signature).text
    review.decide(review.log_in("carl"), "approve")
    assert audit(review.request.register).faults == []
    manifest = register.manifest("000002-small-2026-Q3")
    assert manifest.review is not None
    assert manifest.review.decisions[0].key


def test_an_audit_runs_from_the_desk_and_its_result_stays(review: Review) -> None:
    auditor = review.log_in("auditor")
    assert "has not been audited" in auditor.get("/audit").text
    answer = auditor.post("/audit", data={"csrf": token(auditor, "/audit")})
    assert answer.status_code == 303
    review.app.state.auditor.wait(60)
    page = auditor.get("/audit").text
    assert "Intact" in page
    assert "started by Auditor" in page
    lines = review.request.register / "register.jsonl"
    lines.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:-1]))
    auditor.post("/audit", data={"csrf": token(auditor, "/audit")})
    review.app.state.auditor.wait(60)
    page = auditor.get("/audit").text
    assert "Faults were found" in page
    assert "lines were removed at the end" in page
    engineer = review.log_in("engineer")
    assert "Faults were found" in engineer.get("/audit").text
    refused = engineer.post("/audit", data={"csrf": token(engineer, "/audit")})
    assert refused.status_code == 403
