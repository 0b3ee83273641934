"""A release: its gate, what changed, its files, and pages that are those that were written."""

import hashlib
import json
from pathlib import Path

import pytest
from fastapi import FastAPI
from httpx import Response
from lxml import html
from starlette.testclient import TestClient

from flows.desk import releases
from flows.desk.user import ROLES
from tasks.store.register import Register
from tests.desk.desk import logged_in, token
from tests.desk.quarters import REASON, Quarters
from tests.desk.reading import Page, address

FIRST, BLOCKED, CHOSEN = "000001-small-2025-Q1", "000003-small-2025-Q3", "000004-small-2025-Q4"
DECIDED, REVISED = "000005-small-2025-Q4", "000006-small-2025-Q4-revision-1"
LAST, CANDIDATE, KILLED = "000007-small-2026-Q1", "000008-small-2026-Q2", "000009-small-2026-Q2"
PUBLIC = ["data.csv", "data.parquet", "datapackage.json", "README.md", "methodology.html",
          "statement.json"]  # fmt: skip
SANDBOX = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox"
)


def public_file(quarters: Quarters, edition: str, name: str) -> Path:
    return quarters.public / "small" / edition / name


def verify(client: TestClient, path: str) -> Response:
    return client.post(f"{path}/verify", data={"csrf": token(client, path)})


# the page


def test_the_gate_comes_first(auditor: TestClient, quarters: Quarters) -> None:
    page = Page(auditor, address(quarters, DECIDED))
    assert page.sections == [
        "Gate",
        "Differences",
        "Changes to the spec",
        "Review",
        "Files",
        "Other attempts",
        "Report",
        "Methodology",
    ]
    gate = page.table("Each measure with a limit")
    assert gate[0] == ["IL", "39.1025 %", "at most 100 %", "passed"]
    assert ["k", "6", "at least 4", "passed"] in gate
    assert ["fewest candidates across releases", "6", "at least 4", "passed"] in gate


def test_a_measure_that_fails_is_shown_with_its_limit_and_advice(
    auditor: TestClient, quarters: Quarters
) -> None:
    page = Page(auditor, address(quarters, BLOCKED))
    assert page.facts["State"] == "blocked"
    assert page.table("Each measure")[0] == ["IL", "62.3260 %", "at most 0.5 %", "failed"]
    assert "Reason: IL is 62.33 %, above its ceiling of 0.50 %" in page.words
    assert "Files" not in page.sections


def test_a_release_is_compared_with_the_last_period_that_was_published(
    auditor: TestClient, quarters: Quarters
) -> None:
    # the period before was blocked
    page = Page(auditor, address(quarters, DECIDED))
    assert "Compared with 2025-Q2 , the last period that was published before" in page.words
    main = {row[0]: row[1:] for row in page.table("What differs in the run")}
    assert main["k in the spec"] == ["3", "4", "+1"]
    assert main["Method"] == ["mdav", "mdav", "the same"]
    assert main["IL"] == ["57.0730 %", "39.1025 %", "\N{MINUS SIGN}17.9705"]
    others = page.table("Measures without a limit")
    assert "IL" not in {row[0] for row in others}
    assert len(others) > 20
    assert "nothing to compare with" in Page(auditor, address(quarters, FIRST)).words


def test_what_a_run_changed_in_the_reviewed_spec_is_shown_with_the_person(
    auditor: TestClient, quarters: Quarters
) -> None:
    page = Page(auditor, address(quarters, BLOCKED))
    caption = "Values in which this run differs from the reviewed spec small.yaml; started by Dan"
    assert page.table(caption) == [
        ["release.period", "none", "2025-Q3"],
        ["gate.ceilings.il", "100.0", "0.5"],
    ]
    page = Page(auditor, address(quarters, REVISED))
    changes = page.table("Values in which")
    assert ["release.reason", "none", "a <mistake> in the source"] in changes
    assert ["microaggregation.k", "3", "4"] in changes


def test_decisions_are_shown_with_names_and_reasons(
    auditor: TestClient, quarters: Quarters
) -> None:
    ((name, decision, reason, _),) = Page(auditor, address(quarters, DECIDED)).table("Decisions")
    assert (name, decision, reason) == ("Bea (a claimed name, command line)", "approved", REASON)


def test_other_attempts_of_the_period_are_listed(auditor: TestClient, quarters: Quarters) -> None:
    others = Page(auditor, address(quarters, DECIDED)).table("Other attempts")
    assert [row[:3] for row in others] == [["000004", "sealed", "Ana"]]


def test_an_attempt_that_was_killed_has_a_page(auditor: TestClient, quarters: Quarters) -> None:
    page = Page(auditor, address(quarters, KILLED))
    assert (page.facts["State"], page.facts["Started by"]) == ("killed", "Cora")
    assert "it ended before anything was measured" in page.words
    assert page.sections == ["Gate", "Other attempts"]


# files


def test_files_are_listed_with_their_checksums_and_sent_as_they_are(
    auditor: TestClient, quarters: Quarters
) -> None:
    page = Page(auditor, address(quarters, LAST))
    rows = {name: (size, sha256) for name, size, sha256 in page.table("Public files")}
    assert list(rows) == PUBLIC
    for name, (size, sha256) in rows.items():
        content = public_file(quarters, "2026-Q1", name).read_bytes()
        assert sha256 == hashlib.sha256(content).hexdigest()
        assert size == f"{len(content):,}"
        link = f"{address(quarters, LAST)}/files/{name}"
        assert link in page.links()
        answer = auditor.get(link)
        assert (answer.status_code, answer.content) == (200, content)
        # never shown by a browser, never as a page of the desk
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"] == (
            f'attachment; filename="small-2026-Q1-{name}"'
        )
        assert answer.headers["content-length"] == str(len(content))
        assert answer.headers["content-security-policy"] == SANDBOX


def test_the_files_of_a_candidate_are_listed_and_not_sent(
    desk: FastAPI, quarters: Quarters
) -> None:
    for role in ROLES:
        client = logged_in(desk, role)
        page = Page(client, address(quarters, CANDIDATE))
        rows = page.table("Public files, as they would appear")
        # the statement is signed when the release is published
        assert [row[0] for row in rows] == PUBLIC[:-1]
        assert not any("/files/" in link for link in page.links())
        for name in PUBLIC:
            answer = client.get(f"{address(quarters, CANDIDATE)}/files/{name}")
            assert answer.status_code == 404


def test_a_file_that_was_altered_is_not_sent(auditor: TestClient, quarters: Quarters) -> None:
    file = public_file(quarters, "2026-Q1", "data.csv")
    file.write_bytes(file.read_bytes() + b"more\n")
    answer = auditor.get(f"{address(quarters, LAST)}/files/data.csv")
    assert answer.status_code == 409
    assert "data.csv was altered: its checksum differs" in answer.text
    assert "more" not in answer.text
    file.unlink()
    answer = auditor.get(f"{address(quarters, LAST)}/files/data.csv")
    assert answer.status_code == 409
    assert "data.csv is missing, or cannot be read" in answer.text
    rows = Page(auditor, address(quarters, LAST)).table("Public files")
    assert rows[0][1] == "not there"


# verify again


@pytest.mark.parametrize("role", ROLES)
def test_anyone_can_have_a_release_verified_again(
    desk: FastAPI, quarters: Quarters, role: str
) -> None:
    answer = verify(logged_in(desk, role), address(quarters, LAST))
    assert answer.status_code == 200
    assert "Verified again" in answer.text
    assert "6 files have the checksums in the register" in answer.text
    assert "32 records with" in answer.text
    assert "the rarest combination occurs 6 times, and k = 3 was promised" in answer.text


@pytest.mark.parametrize("name", PUBLIC)
def test_verifying_again_finds_a_file_that_was_altered(
    auditor: TestClient, quarters: Quarters, name: str
) -> None:
    file = public_file(quarters, "2026-Q1", name)
    file.write_bytes(file.read_bytes() + b"\n")
    answer = verify(auditor, address(quarters, LAST))
    assert answer.status_code == 200
    assert "The verification failed" in answer.text
    assert "Verified again" not in answer.text


def test_verifying_again_finds_a_consistent_release_of_another_period(
    auditor: TestClient, quarters: Quarters
) -> None:
    for name in PUBLIC:
        other = public_file(quarters, "2025-Q1", name).read_bytes()
        public_file(quarters, "2026-Q1", name).write_bytes(other)
    answer = verify(auditor, address(quarters, LAST))
    assert "The verification failed" in answer.text


def test_verifying_again_finds_a_file_that_was_added_and_a_folder_that_is_gone(
    auditor: TestClient, quarters: Quarters
) -> None:
    added = public_file(quarters, "2026-Q1", "originals.csv")
    added.write_bytes(b"id\n1\n")
    assert "The verification failed" in verify(auditor, address(quarters, LAST)).text
    added.unlink()
    added.parent.rename(added.parent.with_name("elsewhere"))
    assert "there is no such folder" in verify(auditor, address(quarters, LAST)).text


def test_only_what_is_public_can_be_verified(auditor: TestClient, quarters: Quarters) -> None:
    csrf = token(auditor, address(quarters, LAST))
    for attempt in (BLOCKED, CHOSEN, CANDIDATE, KILLED):
        page = Page(auditor, address(quarters, attempt))
        assert "Verify again" not in page.words
        answer = auditor.post(f"{address(quarters, attempt)}/verify", data={"csrf": csrf})
        assert answer.status_code == 404


def test_verifying_needs_a_form_of_the_desk(auditor: TestClient, quarters: Quarters) -> None:
    path = f"{address(quarters, LAST)}/verify"
    assert auditor.post(path).status_code == 403
    assert auditor.get(path).status_code == 405


def test_one_release_is_verified_at_a_time(auditor: TestClient, quarters: Quarters) -> None:
    with releases._verifying:
        answer = verify(auditor, address(quarters, LAST))
    assert answer.status_code == 503
    assert "Another release is being verified" in answer.text
    assert verify(auditor, address(quarters, LAST)).status_code == 200


# report and methodology


@pytest.mark.parametrize("role", ROLES)
def test_reviewers_and_auditors_read_the_report_and_nobody_else(
    desk: FastAPI, quarters: Quarters, role: str
) -> None:
    client = logged_in(desk, role)
    may = role in ("reviewer", "auditor")
    for attempt in (LAST, CANDIDATE, BLOCKED):
        path = f"{address(quarters, attempt)}/report"
        page, answer = Page(client, address(quarters, attempt)), client.get(path)
        assert (path in page.links()) == may
        if may:
            written = quarters.register / "attempts" / attempt / "report.html"
            assert (answer.status_code, answer.content) == (200, written.read_bytes())
            assert answer.headers.get_list("content-security-policy") == [SANDBOX]
        else:
            assert answer.status_code == 403
            assert "Reviewers and auditors can read the report" in page.words


@pytest.mark.parametrize("role", ROLES)
def test_a_methodology_is_for_everyone_once_it_is_public(
    desk: FastAPI, quarters: Quarters, role: str
) -> None:
    client = logged_in(desk, role)
    may = role in ("reviewer", "auditor")
    published = client.get(f"{address(quarters, LAST)}/methodology")
    assert published.content == public_file(quarters, "2026-Q1", "methodology.html").read_bytes()
    assert published.headers.get_list("content-security-policy") == [SANDBOX]
    path = f"{address(quarters, CANDIDATE)}/methodology"
    assert (path in Page(client, address(quarters, CANDIDATE)).links()) == may
    waiting = client.get(path)
    assert waiting.status_code == (200 if may else 403)
    if may:
        sealed = quarters.register / "candidates" / CANDIDATE / "methodology.html"
        assert waiting.content == sealed.read_bytes()


def test_frames_of_a_page_are_sandboxed_twice(auditor: TestClient, quarters: Quarters) -> None:
    root = html.fromstring(auditor.get(address(quarters, LAST)).text)
    frames = list(root.iter("iframe"))
    assert [frame.get("sandbox") for frame in frames] == ["", ""]
    for frame in frames:
        answer = auditor.get(frame.get("src"))
        assert answer.headers["content-security-policy"].endswith("; sandbox")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("what", ["altered", "missing", "empty"])
def test_a_report_is_shown_only_as_it_was_written(
    auditor: TestClient, quarters: Quarters, what: str
) -> None:
    path = quarters.register / "attempts" / LAST / "report.html"
    if what == "missing":
        path.unlink()
    else:
        path.write_bytes(b"<h1>forged</h1>" + path.read_bytes() if what == "altered" else b"")
    answer = auditor.get(f"{address(quarters, LAST)}/report")
    assert answer.status_code == 409
    assert (
        f"the report of attempt {LAST} {'is missing' if what == 'missing' else 'was altered'}"
        in (answer.text)
    )
    assert "forged" not in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]
    # the rest of the page needs no report
    assert Page(auditor, address(quarters, LAST)).facts["State"] == "published"


@pytest.mark.parametrize("attempt", [LAST, CANDIDATE])
def test_a_methodology_is_shown_only_as_it_was_written(
    auditor: TestClient, quarters: Quarters, attempt: str
) -> None:
    waiting = quarters.register / "candidates" / CANDIDATE / "methodology.html"
    public = public_file(quarters, "2026-Q1", "methodology.html")
    file = waiting if attempt == CANDIDATE else public
    file.write_bytes(file.read_bytes().replace(b"<body", b"<body onload='forged()'", 1))
    answer = auditor.get(f"{address(quarters, attempt)}/methodology")
    assert answer.status_code == 409
    assert "methodology.html was altered: its checksum differs" in answer.text
    assert "forged" not in answer.text


def test_a_manifest_that_was_altered_is_not_believed(
    auditor: TestClient, quarters: Quarters
) -> None:
    path = quarters.register / "attempts" / LAST / "manifest.json"
    report = path.with_name("report.html")
    report.write_bytes(b"forged")
    content = json.loads(path.read_bytes())
    content["evaluation"]["measures"]["il"] = 1.0
    content["report_sha256"] = hashlib.sha256(b"forged").hexdigest()
    path.write_text(json.dumps(content), encoding="utf-8")
    page = Page(auditor, address(quarters, LAST))
    assert page.notices == [
        f"Not everything can be shown the manifest of attempt {LAST} was altered"
    ]
    assert "1.0000 %" not in page.words
    for part in ("report", "methodology", "files/data.csv"):
        answer = auditor.get(f"{address(quarters, LAST)}/{part}")
        assert answer.status_code == 409, part
        assert "forged" not in answer.text
    assert Register(quarters.register).chain().published
