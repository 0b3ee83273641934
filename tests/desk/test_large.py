"""Registers that are large, or grow while they are read: what must hold at any speed."""

import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from expectations.request.named import SPECS
from expectations.signatures import Trust
from flows.desk.archive import Archive
from flows.desk.listing import MOST_READ, PAGE
from flows.desk.snapshot import Attempt
from tasks.publish import begin
from tasks.store import chain as lines_of
from tasks.store.desk_pages import key_of
from tasks.store.history import MOST_PERIODS
from tasks.store.register import Register
from tasks.store.signature_audit import check_signatures
from tasks.store.signing import installation_key
from tests.desk.desk import desk_with_users, logged_in
from tests.desk.large import large_register
from tests.desk.quarters import Quarters
from tests.desk.reading import Page, address

ATTEMPTS, PERIODS, WAITING = 600, 150, 3
LIST = "Attempts, the newest first"


class Counted:
    """Counts the manifests that are read, and the lines."""

    def __init__(self) -> None:
        self.manifests = self.lines = 0

    @contextmanager
    def within(self, manifests: int, lines: int = 0) -> Iterator[None]:
        """Check that no more is read than that."""
        before = self.manifests, self.lines
        yield
        assert self.manifests - before[0] <= manifests
        assert self.lines - before[1] <= lines


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()
    read_manifest, read_lines = Archive._read_manifest, lines_of._entries

    def manifest(self: Archive, attempt: Attempt, sha256: str) -> object:
        counted.manifests += 1
        return read_manifest(self, attempt, sha256)

    def entries(lines: list[bytes], first: int) -> object:
        counted.lines += len(lines)
        return read_lines(lines, first)

    monkeypatch.setattr(Archive, "_read_manifest", manifest)
    monkeypatch.setattr(lines_of, "_entries", entries)
    return counted


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Quarters:
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(SPECS, str(tmp_path / "specs"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    (tmp_path / "specs").mkdir()
    return large_register(tmp_path / "specs", ATTEMPTS, PERIODS, WAITING)


@pytest.fixture
def desk(large: Quarters) -> Iterator[FastAPI]:
    app = desk_with_users(large.folder.parent / "home")
    yield app
    app.state.desk.close()


def begin_attempt(quarters: Quarters, period: str = "2026-Q4") -> str:
    """Enter an attempt that ends without a word."""
    spec = quarters.load(release={"period": period}, source={"path": "x.csv"})
    with closing(begin(spec, "Eve")) as running:
        return running.attempt


def test_the_large_register_of_tests_is_signed_as_a_run_would_sign_it(large: Quarters) -> None:
    register = Register(large.register)
    chain = register.chain()
    assert len(chain.attempts) == ATTEMPTS
    assert len(chain.waiting) == WAITING
    trust = Trust.of_keys(installation_key().history)
    with register.read_only() as root:
        found = check_signatures(root, chain, trust)
    assert found.faults == found.unknown == ()
    # and a run can go on with it
    assert begin_attempt(large).startswith(f"{ATTEMPTS + 1:06d}-")


def test_a_page_reads_no_more_manifests_than_it_shows(
    auditor: TestClient, large: Quarters, counted: Counted
) -> None:
    published = Register(large.register).chain().published[-1].attempt
    lines = len(Register(large.register).chain().entries)
    counted.lines = 0
    for path, manifests in (
        ("/datasets", 1),
        ("/register", PAGE),
        ("/register?page=3", PAGE),
        ("/register?outcome=blocked", PAGE),
        ("/register?q=bea", MOST_READ + PAGE),
        ("/datasets/small", MOST_PERIODS + 2),
        ("/datasets/small?skip=100", MOST_PERIODS + 2),
        (address(large, published), 3),
        (f"{address(large, published)}/report", 1),
        ("/review", WAITING),
        ("/health", 0),
        ("/metrics", 1),
        ("/audit", 0),
    ):
        # the lines are read once, by whoever comes first
        with counted.within(manifests, lines):
            assert auditor.get(path).status_code in (200, 403), path
        lines = 0


def test_what_was_read_is_not_read_again(
    auditor: TestClient, desk: FastAPI, large: Quarters, counted: Counted
) -> None:
    archive = desk.state.library.archive
    archive.warm(archive.snapshot())
    assert archive.unread(archive.snapshot()) == 0
    assert counted.manifests < ATTEMPTS
    paths = ("/datasets", "/datasets/small", "/register?q=bea", "/register.csv", "/metrics")
    with counted.within(0):
        for path in paths:
            assert auditor.get(path).status_code == 200
    assert archive.snapshot() is archive.snapshot()


def test_a_new_line_is_the_only_one_that_is_read(
    auditor: TestClient, desk: FastAPI, large: Quarters, counted: Counted
) -> None:
    archive = desk.state.library.archive
    archive.warm(archive.snapshot())
    attempt = begin_attempt(large)
    counted.lines = 0
    with counted.within(manifests=0, lines=1):
        assert f"{ATTEMPTS + 1} of {ATTEMPTS + 1} attempts" in Page(auditor, "/register").words
    # the next attempt also ends this one
    begin_attempt(large)
    counted.lines = 0
    with counted.within(manifests=0, lines=2):
        rows = Page(auditor, f"/register?q={attempt}").table(LIST)
    assert [row[0] for row in rows] == [f"{ATTEMPTS + 1:06d}"]


def test_pages_reach_every_attempt_once(auditor: TestClient) -> None:
    seen = [
        row[0]
        for page in range(1, ATTEMPTS // PAGE + 1)
        for row in Page(auditor, f"/register?page={page}").table(LIST)
    ]
    assert seen == [f"{number:06d}" for number in range(ATTEMPTS, 0, -1)]
    assert auditor.get("/register.csv").text.count("\r\n") == ATTEMPTS + 1
    assert len(auditor.get("/register.json").json()["attempts"]) == ATTEMPTS


def test_periods_are_reached_page_by_page_and_changes_are_seen_across_pages(
    auditor: TestClient,
) -> None:
    seen: list[str] = []
    skip: int | None = 0
    while skip is not None:
        page = Page(auditor, f"/datasets/small?skip={skip}")
        seen += [row[0] for row in page.table("Periods with their attempts")]
        later = [link for link in page.links() if link == f"?skip={skip + MOST_PERIODS}"]
        skip = skip + MOST_PERIODS if later else None
    assert len(seen) == len(set(seen)) == PERIODS
    assert seen == sorted(seen, reverse=True)


def test_whole_manifests_in_memory_are_few(desk: FastAPI, large: Quarters) -> None:
    from flows.desk.archive import MOST_MANIFESTS

    archive = desk.state.library.archive
    for attempt in archive.snapshot().newest_first:
        archive.manifest(attempt)
    assert len(archive._manifests) == MOST_MANIFESTS


def test_a_thread_reads_everything_before_visitors_come(desk: FastAPI, large: Quarters) -> None:
    archive = desk.state.library.archive
    with TestClient(desk):
        waiting = threading.Event()
        while archive.unread(archive.snapshot()):
            waiting.wait(0.05)
        thread = archive._thread
        assert thread is not None
    assert not thread.is_alive()


def test_pages_are_whole_while_the_register_grows(desk: FastAPI, quarters: Quarters) -> None:
    # the desk is that of a large register, and the specs are those of the six quarters
    faults: list[object] = []
    done = threading.Event()
    names = [f"2027-Q{number}" for number in range(1, 5)]
    complaints = ("was altered", "is missing", "must be readable", "lines were removed")

    def write() -> None:
        try:
            for period in names * 3:
                begin_attempt(quarters, period)
            quarters.approve("000008-small-2026-Q2")
            quarters.write()
            quarters.attempt("2025-Q3")
        except Exception as error:
            faults.append(error)
        finally:
            done.set()

    def read(client: TestClient, path: str) -> None:
        most = 0
        while True:
            last = done.is_set()
            answer = client.get(path)
            if answer.status_code != 200 or any(word in answer.text for word in complaints):
                faults.append((path, answer.status_code))
            if count := re.search(r"(\d+) of (\d+) attempts", answer.text):
                # it never shrinks, and its parts agree
                rows = answer.text.count('scope="row"')
                if count[1] != count[2] or int(count[1]) < most or rows != min(int(count[1]), PAGE):
                    faults.append((path, count[0], most, rows))
                most = int(count[1])
            if last:
                return

    key = key_of(quarters.register)
    paths = ["/register", "/register.csv", "/datasets", "/datasets/small", "/metrics", "/health",
             f"/releases/{key}/000007-small-2026-Q1"]  # fmt: skip
    # logins at the same time would be taken for guesses
    readers = [(logged_in(desk, "auditor"), path) for path in paths]
    threads = [threading.Thread(target=read, args=reader) for reader in readers]
    threads.append(threading.Thread(target=write))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    page = Page(logged_in(desk, "auditor"), "/register")
    assert "23 of 23 attempts" in page.words
    assert Register(quarters.register).chain().waiting == []
