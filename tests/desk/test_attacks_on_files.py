"""Attacks on the reading pages by addresses, and by links on the disk."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tasks.store.desk_pages import key_of
from tests.desk.attacking import CANDIDATE, LAST, SECRET, ask, refuses_everything
from tests.desk.quarters import Quarters
from tests.desk.reading import Page, address


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.html"
    path.write_text(SECRET, encoding="utf-8")
    return path


# addresses

TRAVERSALS = [
    "../manifest.json",
    "..%2fmanifest.json",
    "%2e%2e/manifest.json",
    "%2e%2e%2fmanifest.json",
    "..%252fmanifest.json",
    "%252e%252e%252fmanifest.json",
    "..%c0%afmanifest.json",
    "..\\manifest.json",
    "..%5cmanifest.json",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "file:///etc/passwd",
    "C:\\windows\\win.ini",
    "data.csv%00",
    "data.csv%00.html",
    "%00",
    "data.csv/",
    "data.csv/.",
    "./data.csv",
    ".//data.csv",
    "data//../data.csv",
    "data/../data.csv",
    "DATA.CSV",
    "data.csv%20",
    "data.csv%0d%0aSet-Cookie:%20x=y",
    "data.csv;x",
    "manifest.json",
    "report.html",
    "",
    ".",
    "*",
    "~root",
    "%ff%fe",
    "x" * 5000,
    "%EF%BC%8E%EF%BC%8E/manifest.json",
]


def test_no_address_leads_out_of_the_files_of_a_release(
    auditor: TestClient, quarters: Quarters
) -> None:
    (quarters.public / "small" / "manifest.json").write_text(SECRET, encoding="utf-8")
    (quarters.public / "small" / "2026-Q1" / "report.html").write_text(SECRET, encoding="utf-8")
    for name in TRAVERSALS:
        status, body = ask(auditor, f"{address(quarters, LAST)}/files/{name}")
        assert status == 404, name
        assert SECRET.encode() not in body
        assert b"root:" not in body
    # a query is no part of a name
    status, _ = ask(auditor, f"{address(quarters, LAST)}/files/data.csv?x=../../manifest.json%00")
    assert status == 200


NO_ATTEMPTS = [
    "..",
    "%2e%2e",
    "..%2fattempts%2f" + LAST,
    f"..%2f{LAST}",
    f"%2e%2e%2f{LAST}",
    f"..%252f{LAST}",
    f"..\\{LAST}",
    f"{LAST}%00",
    f"{LAST}%0a",
    f"{LAST}%2f..%2f{CANDIDATE}",
    f".{LAST}",
    f"{LAST}.partial",
    "000007",
    "000007-",
    "0000007-small-2026-Q1",
    LAST.upper(),
    "000001-small-2026-Q1",
    "%F0%9D%9F%8E00007-small-2026-Q1",
    "x" * 5000,
]


def test_no_address_leads_to_what_is_no_attempt(auditor: TestClient, quarters: Quarters) -> None:
    for name in NO_ATTEMPTS:
        for page in ("", "/report", "/methodology", "/files/data.csv"):
            status, _ = ask(auditor, f"/releases/{key_of(quarters.register)}/{name}{page}")
            assert status == 404, name


def test_no_address_leads_to_another_register(auditor: TestClient, quarters: Quarters) -> None:
    key = key_of(quarters.register)
    for name in ("", "..", "%2e%2e", "0" * 12, "x" * 12, "%00" * 12, f"{key}%0a", f"%20{key}"):
        for page in ("", "/report", "/files/data.csv"):
            assert ask(auditor, f"/releases/{name}/{LAST}{page}")[0] == 404


def test_the_register_of_no_spec_cannot_be_read(
    auditor: TestClient, quarters: Quarters, tmp_path: Path
) -> None:
    shutil.copytree(quarters.register, tmp_path / "register")
    key = key_of(tmp_path / "register")
    assert auditor.get(f"/releases/{key}/{LAST}/report").status_code == 404


# links on the disk


@pytest.mark.parametrize("make", [os.symlink, os.link], ids=["symbolic", "hard"])
@pytest.mark.parametrize("name", ["report.html", "manifest.json"])
def test_a_link_in_an_attempt_is_not_followed(
    auditor: TestClient,
    quarters: Quarters,
    secret: Path,
    make: Callable[[Path, Path], None],
    name: str,
) -> None:
    path = quarters.register / "attempts" / LAST / name
    path.unlink()
    make(secret, path)
    refuses_everything(auditor, quarters)
    assert auditor.get(f"{address(quarters, LAST)}/report").status_code == 409


@pytest.mark.parametrize("make", [os.symlink, os.link], ids=["symbolic", "hard"])
@pytest.mark.parametrize("name", ["data.csv", "methodology.html"])
def test_a_link_in_a_public_folder_is_not_followed(
    auditor: TestClient,
    quarters: Quarters,
    secret: Path,
    make: Callable[[Path, Path], None],
    name: str,
) -> None:
    path = quarters.public / "small" / "2026-Q1" / name
    path.unlink()
    make(secret, path)
    refuses_everything(auditor, quarters)
    answer = auditor.get(f"{address(quarters, LAST)}/files/{name}")
    assert answer.status_code == 409
    # and its size is not told either, if it is not a file of the folder
    rows = Page(auditor, address(quarters, LAST)).table("Public files")
    sizes = {row[0]: row[1] for row in rows}
    assert sizes[name] == ("not there" if make is os.symlink else str(len(SECRET)))


@pytest.mark.parametrize("level", ["file", "edition", "dataset"])
def test_a_symbolic_link_is_refused_even_if_it_leads_to_the_right_bytes(
    auditor: TestClient, quarters: Quarters, tmp_path: Path, level: str
) -> None:
    dataset = quarters.public / "small"
    path = {"file": dataset / "2026-Q1" / "data.csv", "edition": dataset / "2026-Q1",
            "dataset": dataset}[level]  # fmt: skip
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    answer = auditor.get(f"{address(quarters, LAST)}/files/data.csv")
    assert answer.status_code == 409
    assert "data.csv is missing, or cannot be read" in answer.text


@pytest.mark.parametrize("level", ["attempts", f"attempts/{LAST}"])
def test_a_folder_of_the_register_that_is_a_link_is_not_entered(
    auditor: TestClient, quarters: Quarters, tmp_path: Path, level: str
) -> None:
    path = quarters.register / level
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    answer = auditor.get(f"{address(quarters, LAST)}/report")
    assert answer.status_code == 409
    assert "is missing" in answer.text


def test_what_is_no_file_keeps_nobody_waiting(auditor: TestClient, quarters: Quarters) -> None:
    report = quarters.register / "attempts" / LAST / "report.html"
    data = quarters.public / "small" / "2026-Q1" / "data.csv"
    for path in (report, data):
        path.unlink()
        # reading it would wait for a writer for ever
        os.mkfifo(path)
    refuses_everything(auditor, quarters)
    for path in (report, data):
        path.unlink()
        path.mkdir()
    refuses_everything(auditor, quarters)
