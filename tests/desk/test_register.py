"""The register: search, filters, pages and exports."""

import csv
import io
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from fastapi import FastAPI
from starlette.testclient import TestClient

from algorithms.errors import RejectedError
from expectations.review import Decision
from flows.desk import listing
from flows.desk.export import FACTS, FORMULA, guarded
from tasks.publish import begin, decide
from tasks.store.desk_pages import key_of
from tests.desk.desk import desk_with_users, logged_in
from tests.desk.large import large_register
from tests.desk.quarters import REASON, Quarters
from tests.desk.reading import Page

ATTEMPTS = "Attempts, the newest first"
ALL = [f"{number:06d}" for number in range(9, 0, -1)]


@pytest.fixture
def client(desk: FastAPI) -> TestClient:
    return logged_in(desk, "engineer")


def numbers(client: TestClient, **wanted: str) -> list[str]:
    """Give the numbers of the attempts that a filter keeps; both exports must have the same."""
    query = urlencode({name.removesuffix("_"): text for name, text in wanted.items()})
    page = Page(client, f"/register?{query}")
    shown = [row[0] for row in page.table(ATTEMPTS)] if ATTEMPTS in page.text else []
    exported = [row["attempt"][:6] for row in as_csv(client, query)]
    assert exported == [row["attempt"][:6] for row in as_json(client, query)]
    assert exported[: len(shown)] == shown
    return exported


def as_csv(client: TestClient, query: str = "") -> list[dict[str, str]]:
    answer = client.get(f"/register.csv?{query}")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="register.csv"'
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def as_json(client: TestClient, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/register.json?{query}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == 'attachment; filename="register.json"'
    attempts: list[dict[str, Any]] = answer.json()["attempts"]
    return attempts


def test_every_attempt_has_a_row_and_the_newest_is_first(client: TestClient) -> None:
    page = Page(client, "/register")
    rows = page.table(ATTEMPTS)
    assert [row[0] for row in rows] == ALL
    assert [row[3].split()[0] for row in rows] == [
        "killed", "waiting", "published", "published", "published", "sealed", "blocked",
        "published", "published",
    ]  # fmt: skip
    assert rows[4][1:8] == [
        "small", "2025-Q4", "published", "39.10 % at most 100 %", "25.00 % at most 100 %", "Ana",
        "Bea",
    ]  # fmt: skip
    assert "9 of 9 attempts: 1 to 9." in page.words


def test_an_attempt_that_was_killed_keeps_its_line_and_its_starter(client: TestClient) -> None:
    row = Page(client, "/register").table(ATTEMPTS)[0]
    assert (row[0], row[3], row[6]) == ("000009", "killed A crash came first", "Cora")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", ALL),
        ("000003", ["000003"]),
        ("2025-q4", ["000006", "000005", "000004"]),
        ("revision", ["000006"]),
        ("DAN", ["000003"]),
        ("bea", ["000005"]),
        ("bea 2025-Q4", ["000005"]),
        ("ana 2026", ["000008", "000007"]),
        ("cora small", ["000009"]),
        ("dan bea", []),
        ("  small  ", ALL),
        ("<script>", []),
        ("%", []),
        ("_", []),
        ("'", []),
        ("\0", []),
        (".*", []),
        ("x" * 500, []),
    ],
)
def test_a_search_finds_attempts_datasets_periods_starters_and_reviewers(
    client: TestClient, words: str, found: list[str]
) -> None:
    assert numbers(client, q=words) == found


@pytest.mark.parametrize(
    ("outcome", "found"),
    [
        ("published", ["000007", "000006", "000005", "000002", "000001"]),
        ("waiting", ["000008"]),
        ("sealed", ["000004"]),
        ("blocked", ["000003"]),
        ("killed", ["000009"]),
        ("running", []),
        ("rejected", []),
        ("failed", []),
        ("unchanged", []),
        ("forgotten", []),
    ],
)
def test_attempts_are_filtered_by_their_outcome(
    client: TestClient, outcome: str, found: list[str]
) -> None:
    assert numbers(client, outcome=outcome) == found


def test_attempts_are_filtered_by_outcomes_of_today(client: TestClient, quarters: Quarters) -> None:
    with pytest.raises(RejectedError):
        decide.fn(quarters.register, "000008-small-2026-Q2", Decision(False, "Bea", "no"))
    assert numbers(client, outcome="rejected") == ["000010"]
    assert numbers(client, outcome="waiting") == []
    spec = quarters.load(release={"period": "2026-Q3"}, source={"path": "x.csv"})
    with closing(begin(spec, "Eve")):
        assert numbers(client, outcome="running") == numbers(client, q="eve") == ["000011"]
    assert numbers(client, outcome="running") == []


def test_attempts_are_filtered_by_days(client: TestClient) -> None:
    today = datetime.now(UTC).date()
    before, after = (str(today + timedelta(days=days)) for days in (-2, 2))
    assert numbers(client, from_=before, to=after) == ALL
    assert numbers(client, from_=after) == []
    assert numbers(client, to=before) == []


def test_attempts_are_filtered_by_dataset_and_register(
    client: TestClient, quarters: Quarters
) -> None:
    other = quarters.folder / "other.yaml"
    content = yaml.safe_load(quarters.path.read_text(encoding="utf-8"))
    content["release"]["name"] = "other"
    content["publication"] = {"public_folder": "others", "register_folder": "other-register"}
    other.write_text(yaml.safe_dump(content), encoding="utf-8")
    spec = quarters.load(
        release={"name": "other", "period": "2025-Q1"},
        source={"path": "x.csv"},
        publication=content["publication"],
    )
    begin(spec, "Ana").close()
    quarters.write()
    assert numbers(client, dataset="other") == ["000001"]
    assert numbers(client, dataset="small") == ALL
    assert numbers(client, register=key_of(quarters.folder / "other-register")) == ["000001"]
    assert numbers(client, register=key_of(quarters.register), outcome="blocked") == ["000003"]
    assert numbers(client, dataset="nothing") == numbers(client, register="x") == []
    page = Page(client, "/register")
    assert "10 of 10 attempts" in page.words
    assert str(quarters.folder / "other-register") in page.words


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"from": "yesterday"}, "from must be a day such as 2026-09-30"),
        ({"to": "2026-02-30"}, "to must be a day such as 2026-09-30"),
        ({"to": "20260101"}, "to must be a day such as 2026-09-30"),
        ({"outcome": "<b>"}, "the outcome must be one of those in the list"),
    ],
    ids=str,
)
def test_a_faulty_filter_says_what_is_wrong_and_keeps_nothing(
    client: TestClient, wanted: dict[str, str], words: str
) -> None:
    page = Page(client, f"/register?{urlencode(wanted)}")
    assert words in page.notices[0]
    assert page.captions() == []
    assert as_csv(client, urlencode(wanted)) == as_json(client, urlencode(wanted)) == []


@pytest.mark.parametrize(
    "query", ["page=0", "page=-1", "page=x", "page=1e3", "q=" + "x" * 501, "from=" + "1" * 21]
)
def test_what_no_form_sends_is_refused(client: TestClient, query: str) -> None:
    assert client.get(f"/register?{query}").status_code == 400


def test_pages_follow_one_another_and_keep_the_filter(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.desk.register_page.PAGE", 2)
    seen: list[str] = []
    path = "/register?outcome=published&q=small"
    while path:
        page = Page(client, path)
        seen += [row[0] for row in page.table(ATTEMPTS)]
        query = "outcome=published"
        assert all(query in link for link in page.links() if link.startswith("/register?page="))
        older = [link for link in page.links() if link == f"/register?page={len(seen) // 2 + 1}"
                 "&q=small&outcome=published"]  # fmt: skip
        path = older[0] if older else ""
    assert seen == ["000007", "000006", "000005", "000002", "000001"]
    # a page beyond the last is the last
    assert [row[0] for row in Page(client, "/register?page=99").table(ATTEMPTS)] == ["000001"]
    assert "9 of 9 attempts: 9 to 9." in Page(client, "/register?page=5").words


def test_exports_hold_all_pages_and_all_measures(client: TestClient) -> None:
    rows, documents = as_csv(client), as_json(client)
    assert [row["attempt"][:6] for row in rows] == ALL
    assert list(rows[0])[: len(FACTS)] == list(FACTS)
    header = client.get("/register.csv").text.partition("\r\n")[0].split(",")
    assert len(header) == len(set(header))
    assert {"il", "dld", "k", "muted", "candidates_min"} < set(header)
    for row, document in zip(rows, documents, strict=True):
        assert set(document) == {*FACTS, "measures"}
        for name in FACTS:
            value = document[name]
            assert row[name] in ("" if value is None else str(value), f"'{value}")
        for name, measure in document["measures"].items():
            assert row[name] == ("" if measure is None else str(measure))
    decided = documents[4]
    assert (decided["reviewer"], decided["review_reason"]) == ("Bea", REASON)
    assert "microaggregation.k" in decided["changes"]
    assert (decided["k_in_spec"], decided["period"], decided["revision"]) == (4, "2025-Q4", 0)
    killed = documents[0]
    assert (killed["outcome"], killed["started_by"], killed["measures"]) == ("killed", "Cora", {})


@pytest.mark.parametrize("role", ["engineer", "reviewer", "auditor"])
def test_exports_never_hold_a_cell_of_a_source(
    desk: FastAPI, quarters: Quarters, role: str
) -> None:
    client = logged_in(desk, role)
    for path in ("/register", "/register.csv", "/register.json"):
        text = client.get(path).text
        assert "person-" not in text
        assert "staff" not in text


@pytest.mark.parametrize("name", ['=HYPERLINK("https://evil.example")', "+1", "-1", "@SUM(A1)"])
def test_a_name_or_a_reason_is_no_formula_in_a_spreadsheet(
    client: TestClient, quarters: Quarters, name: str
) -> None:
    spec = quarters.load(release={"period": "2026-Q3"}, source={"path": "x.csv"})
    begin(spec, name).close()
    decision = Decision(True, f" {name}", f"\t{name}")
    decide.fn(quarters.register, "000008-small-2026-Q2", decision)
    rows = as_csv(client)
    started = next(row for row in rows if row["attempt"] == "000010-small-2026-Q3")
    assert started["started_by"] == f"'{name}"
    decided = next(row for row in rows if row["attempt"] == "000011-small-2026-Q2")
    assert decided["reviewer"].startswith("'")
    assert decided["review_reason"].startswith("'")
    # JSON is not read by spreadsheets, and keeps what was written
    assert as_json(client, "q=000010")[0]["started_by"] == name


@pytest.mark.parametrize("start", FORMULA)
def test_no_character_that_starts_a_formula_is_forgotten(start: str) -> None:
    for before in ("", " ", "\ufeff"):
        cell = f"{before}{start}1+1"
        assert guarded(cell) == f"'{cell}"


def test_a_manifest_that_was_altered_shows_its_fault_in_its_own_row(
    client: TestClient, quarters: Quarters
) -> None:
    path = quarters.register / "attempts" / "000007-small-2026-Q1" / "manifest.json"
    path.write_bytes(path.read_bytes() + b" ")
    fault = "the manifest of attempt 000007-small-2026-Q1 was altered"
    rows = Page(client, "/register").table(ATTEMPTS)
    assert rows[2][3] == f"published {fault}"
    assert rows[2][4:6] == ["", ""]
    assert rows[3][4] == "39.10 % at most 100 %"
    assert [row["fault"] for row in as_csv(client)] == ["", "", fault, *[""] * 6]
    assert as_json(client)[2]["fault"] == fault


def test_a_search_right_after_the_start_says_what_it_has_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MICRORELEASE_SPECS", str(tmp_path / "specs"))
    (tmp_path / "specs").mkdir()
    large_register(tmp_path / "specs", 30, 10)
    monkeypatch.setattr(listing, "MOST_READ", 5)
    desk = desk_with_users(tmp_path / "home")
    client = logged_in(desk, "engineer")
    page = Page(client, "/register?q=bea")
    assert "2 decisions were not searched for the names of their reviewers" in page.words
    # the thread of a running desk reads the rest
    archive = desk.state.library.archive
    archive.warm(archive.snapshot())
    page = Page(client, "/register?q=bea")
    assert "were not searched" not in page.words
    assert "7 of 30 attempts" in page.words
