"""Datasets: the state of each, and its timeline as pictures and as tables."""

import os
import re
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from fastapi import FastAPI
from starlette.testclient import TestClient

from algorithms.errors import RejectedError
from expectations.request.named import SPECS
from expectations.review import Decision
from flows.operation.status import Due, Status
from tasks.publish import begin, decide
from tests.desk.desk import desk_with_users, logged_in
from tests.desk.quarters import Quarters
from tests.desk.reading import Page, address, let_server_say

ALL = "All datasets"
MEASURES = "Every gated measure"
CHANGES = "Changes of k and of limits"
PERIODS = "Periods with their attempts"
CANDIDATE = "000008-small-2026-Q2"
LATER = datetime(2027, 2, 16, 6, 30, tzinfo=UTC)


@pytest.fixture
def client(desk: FastAPI) -> TestClient:
    return logged_in(desk, "administrator")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Quarters:
    """Write a spec by which nothing was released yet."""
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(SPECS, str(tmp_path))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    quarters = Quarters(tmp_path)
    quarters.write()
    return quarters


def client_of(quarters: Quarters) -> TestClient:
    return logged_in(desk_with_users(quarters.folder / "home"), "engineer")


def states(client: TestClient) -> dict[str, str]:
    """Give the state of each dataset; the page of each must agree."""
    listed = {row[0].split()[0]: row[1] for row in Page(client, "/datasets").table(ALL)}
    for name, state in listed.items():
        shown = Page(client, f"/datasets/{name}").facts["State"]
        assert state.startswith(shown)
    return listed


def write_other(quarters: Quarters, name: str, **release: object) -> Path:
    """Write the spec of another dataset with the same register."""
    path = quarters.folder / f"{name}.yaml"
    content = yaml.safe_load(quarters.path.read_text(encoding="utf-8"))
    content["release"] |= {"name": name, **release}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


# the list


def test_the_list_shows_each_dataset_with_its_last_figures(client: TestClient) -> None:
    (row,) = Page(client, "/datasets").table(ALL)
    assert row[0] == "small Survey of <b>small</b> firms & farms"
    assert row[2] == "2026-Q2 waiting"
    assert re.fullmatch(r"2026-Q1 \d{4}-\d\d-\d\d \d\d:\d\d", row[3])
    assert row[4:] == ["47.67 %", "25.00 %", "by hand, or not known", "small.yaml"]


def test_a_candidate_makes_its_dataset_wait(client: TestClient) -> None:
    assert states(client) == {"small": "waiting"}


def test_a_decision_shows_at_once(client: TestClient, quarters: Quarters) -> None:
    quarters.approve(CANDIDATE)
    assert states(client) == {"small": "published"}


def test_a_rejected_candidate_leaves_its_period_rejected(
    client: TestClient, quarters: Quarters
) -> None:
    with pytest.raises(RejectedError):
        decide.fn(quarters.register, CANDIDATE, Decision(False, "Bea", "too coarse"))
    assert states(client) == {"small": "rejected"}


def test_an_attempt_that_runs_shows_as_long_as_its_process_lives(
    client: TestClient, quarters: Quarters
) -> None:
    spec = quarters.load(release={"period": "2026-Q3"}, source={"path": "x.csv"})
    with closing(begin(spec, "Ana")):
        assert states(client) == {"small": "running"}
    # its process ended without a word
    assert states(client) == {"small": "failed"}


def test_a_blocked_release_shows_as_blocked(empty: Quarters) -> None:
    empty.attempt("2025-Q1", il=0.5)
    assert states(client_of(empty)) == {"small": "blocked"}


def test_a_dataset_that_was_never_released_is_due_or_not(empty: Quarters) -> None:
    desk = desk_with_users(empty.folder / "home")
    client = logged_in(desk, "engineer")
    assert states(client) == {"small": "never released"}
    assert "nothing to draw" in Page(client, "/datasets/small").words
    let_server_say(desk, Status(server=True, due=[Due("release/small", LATER, spec="small")]))
    assert states(client) == {"small": "due"}
    assert Page(client, "/datasets").table(ALL)[0][6] == "2027-02-16 06:30"


def test_a_run_that_should_have_started_makes_its_dataset_late(
    client: TestClient, desk: FastAPI, quarters: Quarters
) -> None:
    quarters.approve(CANDIDATE)
    write_other(quarters, "other")
    due = [
        Due("release/small", LATER, late=True, spec="small"),
        Due("release/other", LATER, spec="other"),
        Due("audit/all", LATER, late=True),
    ]
    let_server_say(desk, Status(server=True, due=due))
    assert states(client) == {"other": "due", "small": "late"}
    assert Page(client, "/datasets/small").facts["Next run (UTC)"] == "2027-02-16 06:30, late"


# faulty specs


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("method: mdav", "method: maddest"),
        lambda text: text.replace("title:", "titel:"),
        lambda text: text + "release: twice\n",
        lambda text: text.replace("columns:", "columns: ["),
        lambda _: "",
        lambda _: "- " * 3000,
        lambda _: "just words",
    ],
    ids=["method", "key", "twice", "syntax", "empty", "deep", "words"],
)
def test_a_faulty_spec_is_named_and_hides_nothing(
    client: TestClient, quarters: Quarters, spoil: Callable[[str], str]
) -> None:
    write_other(quarters, "other")
    before = states(client)
    assert before == {"other": "never released", "small": "waiting"}
    quarters.path.write_text(spoil(quarters.path.read_text(encoding="utf-8")), encoding="utf-8")
    after = states(client)
    assert after["other"] == "never released"
    assert after["small"].startswith("misspecified small.yaml must be a valid spec")
    page = Page(client, "/datasets")
    ((file, state, fault),) = page.table("Nothing is released by these files")
    assert (file, state) == ("small.yaml", "misspecified")
    assert fault.startswith("small.yaml must be a valid spec; it is not:")
    # its releases are still there
    assert len(Page(client, "/datasets/small").table(MEASURES)) == 7


@pytest.mark.parametrize("restarted", [False, True])
def test_a_faulty_spec_with_a_register_of_its_own_does_not_hide_it(
    client: TestClient, quarters: Quarters, restarted: bool
) -> None:
    Page(client, "/datasets")
    text = quarters.path.read_text(encoding="utf-8")
    quarters.path.write_text(text.replace("method: mdav", "method: maddest"), encoding="utf-8")
    if restarted:
        client = logged_in(desk_with_users(quarters.folder.parent / "home"), "administrator")
    assert states(client)["small"].startswith("misspecified")
    assert Page(client, address(quarters, CANDIDATE)).facts["State"] == "waiting"


def test_a_register_is_remembered_when_its_spec_cannot_even_be_parsed(
    client: TestClient, quarters: Quarters
) -> None:
    Page(client, "/datasets")
    quarters.path.write_text("release: [", encoding="utf-8")
    assert states(client)["small"].startswith("misspecified")
    quarters.path.unlink()
    assert Page(client, "/datasets").captions() == []


def test_a_pipe_among_the_specs_keeps_nobody_waiting(
    client: TestClient, quarters: Quarters
) -> None:
    os.mkfifo(quarters.folder / "pipe.yaml")
    (quarters.folder / "folder.yaml").mkdir()
    (quarters.folder / "large.yaml").write_text("- " + "a" * 600_000, encoding="utf-8")
    assert states(client) == {"small": "waiting"}
    rows = Page(client, "/datasets").table("Nothing is released by these files")
    assert [row[0] for row in rows] == ["folder.yaml", "large.yaml", "pipe.yaml"]


def test_a_dataset_without_a_spec_says_so(client: TestClient, quarters: Quarters) -> None:
    write_other(quarters, "other")
    quarters.path.unlink()
    assert states(client)["small"] == (
        "waiting no spec in the folder of specs releases it any more"
    )


def test_a_folder_of_specs_that_is_empty_or_gone_says_what_to_do(
    client: TestClient, quarters: Quarters, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        monkeypatch.setenv(SPECS, str(folder))
        assert "microrelease init" in Page(client, "/datasets").words


def test_a_register_that_was_altered_is_reported_and_hides_no_other(
    client: TestClient, quarters: Quarters
) -> None:
    path = write_other(quarters, "other")
    own = yaml.safe_load(path.read_text(encoding="utf-8"))
    own["publication"]["register_folder"] = "other-register"
    path.write_text(yaml.safe_dump(own), encoding="utf-8")
    lines = quarters.register / "register.jsonl"
    lines.write_bytes(lines.read_bytes().replace(b'"Ana"', b'"Eve"', 1))
    page = Page(client, "/datasets")
    (notice,) = page.notices
    assert "A register cannot be read" in notice
    assert "line 2 of register.jsonl was altered" in notice
    assert [row[0].split()[0] for row in page.table(ALL)] == ["other", "small"]


# one dataset


def test_the_timeline_has_a_row_for_each_period_and_not_for_each_attempt(
    client: TestClient,
) -> None:
    page = Page(client, "/datasets/small")
    rows = page.table(MEASURES)
    assert [row[:3] for row in rows] == [
        ["2026-Q2", "waiting", "3"],
        ["2026-Q1", "published", "3"],
        ["2025-Q4 revision 1", "published", "4"],
        ["2025-Q4", "published", "4"],
        ["2025-Q3", "blocked", "3"],
        ["2025-Q2", "published", "3"],
        ["2025-Q1", "published", "3"],
    ]
    periods = page.table(PERIODS)
    assert [row[0] for row in periods][:4] == [
        "2026-Q2",
        "2026-Q1",
        "2025-Q4, revision 1",
        "2025-Q4",
    ]
    assert [row[3] for row in periods] == ["2", "1", "1", "2", "1", "1", "1"]
    assert periods[0][4] == "000009 killed, 000008 waiting"
    assert periods[3][4] == "000005 published, 000004 sealed"


def test_the_timeline_shows_every_gated_measure_with_its_limit(client: TestClient) -> None:
    page = Page(client, "/datasets/small")
    assert page.head(MEASURES)[3:] == [
        "IL",
        "DLD",
        "k",
        "fewest candidates across releases",
        "muted",
        "lone changes",
        "IL over fresh groups",
    ]
    rows = {row[0]: row[3:] for row in page.table(MEASURES)}
    assert rows["2026-Q2"] == [
        "19.4137 % at most 90 %",
        "31.2500 % at most 100 %",
        "3 at least 3",
        "3 at least 3",
        "0.0000 % at most 100 %",
        "0 at most 0",
        "5.2007 times at most 10 times",
    ]
    assert rows["2025-Q3"][0] == "62.3260 % at most 0.5 %"
    assert rows["2025-Q4"][2] == "6 at least 4"


def test_the_measure_that_broke_its_limit_stands_out(client: TestClient) -> None:
    text = Page(client, "/datasets/small").text
    assert re.findall(r'<td class="number"><span class="bad">.*?</span>&nbsp;([\d.]+)', text) == [
        "62.3260"
    ]


def test_the_pictures_show_each_measure_with_revisions_and_changes(client: TestClient) -> None:
    text = Page(client, "/datasets/small").text
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(pictures) == 7
    il, dld, k = pictures[:3]
    assert "Timeline of small: IL, % (ceiling 90): 2025-Q1 21.2052, 2025-Q2 57.073" in il
    for picture in pictures[:6]:
        assert ">r1<" in picture
    for words in ("100 → 0.5 by the run", "0.5 → 100", "100 → 90", "k 3 → 4", "k 4 → 3"):
        assert f">{words}<" in il
    assert "by the run" not in dld
    assert ">3 → 4 by the run<" in k
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/", "")


def test_changes_of_k_and_limits_stand_where_they_happened_with_the_person(
    client: TestClient,
) -> None:
    assert Page(client, "/datasets/small").table(CHANGES) == [
        ["2026-Q1", "ceiling of IL 100 → 90 tighter", "the previous period", "Ana"],
        ["2026-Q1", "k 4 → 3 looser", "the previous period", "Ana"],
        ["2025-Q4, revision 1", "k 3 → 4 tighter", "the reviewed spec", "Ana"],
        ["2025-Q4", "k 3 → 4 tighter", "the reviewed spec", "Ana"],
        ["2025-Q4", "ceiling of IL 0.5 → 100 looser", "the previous period", "Ana"],
        ["2025-Q4", "k 3 → 4 tighter", "the previous period", "Ana"],
        ["2025-Q3", "ceiling of IL 100 → 0.5 tighter", "the reviewed spec", "Dan"],
        ["2025-Q3", "ceiling of IL 100 → 0.5 tighter", "the previous period", "Dan"],
    ]


def test_earlier_periods_are_on_pages_of_their_own(client: TestClient) -> None:
    page = Page(client, "/datasets/small?skip=5")
    assert [row[0] for row in page.table(MEASURES)] == ["2025-Q2", "2025-Q1"]
    assert [row[0] for row in page.table(PERIODS)] == ["2025-Q2", "2025-Q1"]
    assert "k and all limits are the same in every period shown" in page.words
    assert "?skip=0" in page.links()
    beyond = Page(client, "/datasets/small?skip=1000")
    assert beyond.captions() == []


@pytest.mark.parametrize("skip", ["-1", "x", "", "1e9", "%00"])
def test_what_is_no_number_of_periods_is_refused(client: TestClient, skip: str) -> None:
    assert client.get(f"/datasets/small?skip={skip}").status_code == 400


@pytest.mark.parametrize("name", ["nothing", "SMALL", "..%2fspecs", "small%00", "%3Cb%3E"])
def test_a_dataset_that_nobody_knows_is_not_found(client: TestClient, name: str) -> None:
    assert client.get(f"/datasets/{name}").status_code == 404


def test_a_manifest_that_was_altered_leaves_its_period_out_and_says_why(
    client: TestClient, quarters: Quarters
) -> None:
    path = quarters.register / "attempts" / "000007-small-2026-Q1" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"il": 47', b'"il": 17', 1))
    page = Page(client, "/datasets/small")
    assert [row[0] for row in page.table(MEASURES)][:2] == ["2026-Q2", "2025-Q4 revision 1"]
    assert page.notices == [
        "Not everything can be shown the manifest of attempt 000007-small-2026-Q1 was altered"
    ]
