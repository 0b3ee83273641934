"""Attacks by forged content, HTML, and registers that are lost or half written."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from fastapi import FastAPI
from starlette.testclient import TestClient

from algorithms.errors import IntegrityError
from expectations.review import Decision
from flows.desk.archive import MOST_BYTES, Archive
from flows.desk.public_files import open_copy
from tasks.publish import begin, decide
from tasks.store.desk_pages import key_of
from tests.desk.attacking import (
    CANDIDATE,
    IMAGE,
    LAST,
    PAGES,
    PAGES_OF_STAFF,
    SECRET,
    ask,
    refuses_everything,
)
from tests.desk.desk import desk_with_users, logged_in
from tests.desk.forging import FORGED, forge, manifest_of
from tests.desk.quarters import Quarters
from tests.desk.reading import Page, address

# swapped and forged content


def test_a_manifest_that_is_swapped_after_a_list_was_shown_is_not_believed(
    auditor: TestClient, quarters: Quarters
) -> None:
    assert "47.67 %" in auditor.get("/register").text
    path = quarters.register / "attempts" / LAST / "manifest.json"
    content = json.loads(path.read_bytes())
    content["evaluation"]["measures"]["il"] = 0.01
    content["public"]["checksums"]["data.csv"] = hashlib.sha256(b"forged").hexdigest()
    path.write_text(json.dumps(content), encoding="utf-8")
    (quarters.public / "small" / "2026-Q1" / "data.csv").write_bytes(b"forged")
    for page in (*PAGES, address(quarters, LAST)):
        text = auditor.get(page).text
        assert "0.0100 %" not in text
        assert "0.01 %" not in text
    answer = auditor.get(f"{address(quarters, LAST)}/files/data.csv")
    assert answer.status_code == 409
    assert "forged" not in answer.text


def test_a_public_file_that_changes_while_it_is_sent_breaks_off(
    auditor: TestClient, quarters: Quarters
) -> None:
    content = os.urandom(3 * 2**20)
    folder = quarters.public / "small" / "2026-Q3"
    folder.mkdir()
    file = folder / "data.csv"
    file.write_bytes(content)
    checksums = {"data.csv": hashlib.sha256(content).hexdigest()}
    public = {"folder": str(folder), "checksums": checksums}
    forge(quarters, manifest_of(quarters) | {"public": public})
    path = f"{address(quarters, FORGED)}/files/data.csv"
    assert auditor.get(path).content == content
    archive = Archive()
    attempt = archive.snapshot().find(key_of(quarters.register), FORGED)
    assert attempt is not None
    manifest = archive.manifest(attempt)
    assert manifest is not None
    blocks = open_copy(attempt, manifest, "data.csv").file.blocks()
    assert next(blocks) == content[: 2**20]
    file.write_bytes(content[: 2**20] + SECRET.encode() * 2**16)
    with pytest.raises(IntegrityError, match=r"data\.csv was changed while it was read"):
        next(blocks)


def test_a_report_with_scripts_is_shown_and_can_run_none(
    auditor: TestClient, quarters: Quarters
) -> None:
    page = b"<script>fetch('/users')</script><form action=/logout method=post><base href=//evil>"
    forge(quarters, manifest_of(quarters), report=page)
    answer = auditor.get(f"{address(quarters, FORGED)}/report")
    assert answer.content == page
    rules = dict(
        rule.strip().partition(" ")[::2]
        for rule in answer.headers["content-security-policy"].split(";")
    )
    assert rules["default-src"] == rules["form-action"] == rules["base-uri"] == "'none'"
    # no allowance: an own origin, no script, no form, no window, no navigation of the desk
    assert rules["sandbox"] == ""
    assert "script-src" not in rules
    assert answer.headers["x-content-type-options"] == "nosniff"
    frame = re.search(r"<iframe[^>]*report[^>]*>", auditor.get(address(quarters, FORGED)).text)
    assert frame is not None
    assert " sandbox " in frame[0]
    assert "allow" not in frame[0]


@pytest.mark.parametrize(
    "names",
    [
        ["../../../secret.html"],
        ["/etc/passwd"],
        ["data/../../../secret.html"],
        ["data/.."],
        ["data"],
        ["."],
        [""],
        ["\0"],
        ["a\r\nSet-Cookie: x=y"],
        [IMAGE],
        [".hidden"],
    ],
    ids=str,
)
def test_a_manifest_that_names_files_elsewhere_opens_none_of_them(
    auditor: TestClient, quarters: Quarters, names: list[str]
) -> None:
    secret = quarters.folder / "secret.html"
    secret.write_text(SECRET, encoding="utf-8")
    checksum = hashlib.sha256(SECRET.encode()).hexdigest()
    public = {
        "folder": str(quarters.public / "small" / "2026-Q1"),
        "checksums": dict.fromkeys(names, checksum),
    }
    forge(quarters, manifest_of(quarters) | {"public": public})
    for name in names:
        status, body = ask(auditor, f"{address(quarters, FORGED)}/files/{quote(name, safe='')}")
        assert status in (404, 409)
        assert SECRET.encode() not in body
        assert IMAGE.encode() not in body
    assert IMAGE not in auditor.get(address(quarters, FORGED)).text


@pytest.mark.parametrize("name", ["a\r\nSet-Cookie: x=y", 'a"; filename="evil.exe', "ünï/../é"])
def test_the_name_of_a_download_cannot_write_headers(
    auditor: TestClient, quarters: Quarters, name: str
) -> None:
    release = {"name": name, "period": "2026-Q3", "revision": 0}
    forge(quarters, manifest_of(quarters) | {"release": release}, dataset=name)
    answer = auditor.get(f"{address(quarters, FORGED)}/files/data.csv")
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    disposition = answer.headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9._-]+"', disposition)
    for page in PAGES:
        assert auditor.get(page).status_code == 200


def test_a_manifest_about_another_release_is_not_believed(
    auditor: TestClient, quarters: Quarters
) -> None:
    forge(quarters, manifest_of(quarters, "2026-Q1"))
    page = Page(auditor, address(quarters, FORGED))
    words = f"the manifest of attempt {FORGED} is about another release than its line"
    assert words in page.notices[0]
    assert auditor.get(f"{address(quarters, FORGED)}/files/data.csv").status_code == 409


def spoiled(quarters: Quarters, **parts: Any) -> dict[str, Any]:
    manifest = manifest_of(quarters)
    for path, value in parts.items():
        *parents, last = path.split("__")
        place = manifest
        for parent in parents:
            place = place[parent]
        place[last] = value
    return manifest


@pytest.mark.parametrize(
    "parts",
    [
        {"spec__gate__ceilings": {"il": "many"}},
        {"spec__gate__ceilings": ["il"]},
        {"spec__gate": "none"},
        {"spec__microaggregation": {"k": "three", "method": "mdav"}},
        {"spec__microaggregation": []},
        {"spec": []},
        {"changes": [{"field": "gate.ceilings.il", "reviewed": "low", "used": [1]}]},
        {"changes": [{"field": "microaggregation.k", "reviewed": {}, "used": "x"}]},
        {"evaluation__measures": {"il": 1e308, "dld": -1e308, "k": 1e308}},
        {"evaluation__measures": {"il": float("inf"), "dld": float("nan")}},
        {"evaluation__measures": {"il": None}},
        {"evaluation__measures": dict.fromkeys((f"measure_{i}" for i in range(3000)), 1.0)},
        {"evaluation__records": -1},
        {"public": {"folder": "/", "checksums": {"data.csv": ""}}},
        {"public": {"folder": "x", "checksums": {"data.csv": ""}}},
        {"public": {"folder": "a\0b/c/d", "checksums": {"data.csv": ""}}},
        {"release": {"name": "other", "period": "\0", "revision": 10**30}},
        {"release": {"name": IMAGE, "period": "../..", "revision": -1}},
        {"started_by": "\ud800", "reason": "\udfff\0\x1b[31m"},
        {"started_by": IMAGE * 1000, "warnings": [IMAGE] * 1000},
        {"gate": [{"measure": IMAGE, "value": 1, "limit": 2, "floor": False, "passed": True}]},
        {"format": 99},
        {"format": "x"},
        {"format": 1},
        {"unknown": 1},
    ],
    ids=lambda parts: json.dumps(parts)[:60],
)
def test_a_manifest_that_no_run_has_written_breaks_no_page(
    desk: FastAPI, quarters: Quarters, parts: dict[str, Any]
) -> None:
    forge(quarters, spoiled(quarters, **parts))
    reviewer, auditor = logged_in(desk, "reviewer"), logged_in(desk, "auditor")
    own = [f"{address(quarters, FORGED)}{part}" for part in ("", "/methodology", "/files/data.csv")]
    for client, pages in ((auditor, (*PAGES_OF_STAFF, *own)), (reviewer, ("/review",))):
        for page in pages:
            if page in ("/health", "/audit") and client is reviewer:
                continue
            answer = client.get(page)
            assert answer.status_code in (200, 404, 409), (page, answer.text[-600:])
            if answer.headers["content-type"].startswith("text/html"):
                assert IMAGE not in answer.text
    # and nothing else is hidden
    assert "000003" in auditor.get("/register").text


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"spec":' * 100_000 + b"1" + b"}" * 100_000,
        b"",
        b"null",
        b"[]",
        b"\xff\xfe\x00",
        b'{"attempt": "x"}',
        b" " * (4 * 2**20) + b"{}",
        b'{"format": ' + b"9" * 5000 + b"}",
    ],
    ids=["deep list", "deep object", "empty", "null", "list", "bytes", "small", "blank", "number"],
)
def test_a_manifest_that_is_none_breaks_no_page(
    auditor: TestClient, quarters: Quarters, content: bytes
) -> None:
    forge(quarters, content)
    for page in (*PAGES, address(quarters, FORGED)):
        assert auditor.get(page).status_code == 200, page
    page = Page(auditor, address(quarters, FORGED))
    assert f"the manifest of attempt {FORGED} cannot be read" in page.notices[0]
    assert auditor.get(f"{address(quarters, FORGED)}/report").status_code == 409


@pytest.mark.parametrize("name", ["manifest.json", "report.html"])
def test_a_file_that_is_too_large_is_not_read(
    auditor: TestClient, quarters: Quarters, name: str
) -> None:
    path = quarters.register / "attempts" / LAST / name
    # it takes no space on the disk, and would take it all in memory
    os.truncate(path, 2**40)
    refuses_everything(auditor, quarters)
    answer = auditor.get(f"{address(quarters, LAST)}/report")
    assert answer.status_code == 409
    assert "was altered" in answer.text
    assert path.stat().st_size > MOST_BYTES


# HTML and other text


def test_html_in_names_titles_and_reasons_is_shown_as_text(
    desk: FastAPI, quarters: Quarters
) -> None:
    content = yaml.safe_load(quarters.path.read_text(encoding="utf-8"))
    content["release"]["title"] = f"{IMAGE} **bold** [link](javascript:alert(1))"
    quarters.path.write_text(yaml.safe_dump(content), encoding="utf-8")
    spec = quarters.load(release={"period": "2026-Q3"}, source={"path": "x.csv"})
    quarters.path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with_html = f'"><script>{IMAGE}</script>'
    running = begin(spec, with_html)
    decide.fn(quarters.register, CANDIDATE, Decision(True, with_html, with_html))
    auditor, reviewer = logged_in(desk, "auditor"), logged_in(desk, "reviewer")
    pages = [*PAGES_OF_STAFF[:3], "/health", "/audit", "/review"]
    own = [address(quarters, name) for name in (running.attempt, "000011-small-2026-Q2", CANDIDATE)]
    shown = ""
    for page in (*pages, *own):
        text = auditor.get(page).text
        shown += text
        assert "<script" not in text
        assert "<img" not in text
        assert 'href="javascript' not in text
    assert "&lt;img src=x onerror=alert(1)&gt; **bold** [link](javascript:alert(1))" in shown
    assert shown.count("&#34;&gt;&lt;script&gt;") >= 6
    assert reviewer.get("/review").status_code == 200
    running.close()


@pytest.mark.parametrize(
    "name",
    [
        f"{IMAGE}.yaml".encode(),
        b'"><script>alert(1)<script>.yaml',
        b"{{ 7 * 7 }}.yaml",
        b"a\nb must be a valid spec; it is not.yaml",
        "\N{RIGHT-TO-LEFT OVERRIDE}lmay.yaml".encode(),
        b"\xff\xfe\x80.yaml",
        b"x" * 250 + b".yaml",
        b".yaml",
    ],
    ids=str,
)
def test_the_name_of_a_faulty_spec_is_shown_as_text(
    desk: FastAPI, quarters: Quarters, name: bytes
) -> None:
    path = os.fsencode(quarters.folder) + b"/" + name
    with open(path, "w") as file:  # noqa: PTH123 - not every name is text
        file.write(f"release: {{name: '{IMAGE}'}}\n'{IMAGE}': 1\n")
    auditor = logged_in(desk, "auditor")
    for page in PAGES_OF_STAFF[:-1]:
        answer = auditor.get(page)
        assert answer.status_code == 200, (page, answer.text[-500:])
        if answer.headers["content-type"].startswith("text/html"):
            assert "<img" not in answer.text
            assert "<script" not in answer.text
        assert "49.yaml" not in answer.text
    if not name.startswith(b"."):
        rows = Page(auditor, "/datasets").table("Nothing is released by these files")
        assert [row[1] for row in rows] == ["misspecified"]
    assert Page(auditor, "/datasets/small").facts["State"] == "waiting"


QUERIES = (
    'q="><script>alert(1)</script>',
    f"q={IMAGE}",
    'dataset="><b onclick=x>',
    "register=<b>",
    "outcome='><svg/onload=alert(1)>",
    "from=<b>&to=<b>",
    "q=%0d%0aSet-Cookie: x",
    "q=%ff%fe",
    "q=%ed%a0%80",
    "q=\N{RIGHT-TO-LEFT OVERRIDE}",
)


def test_html_in_a_search_is_shown_as_text(auditor: TestClient) -> None:
    for query in QUERIES:
        answer = auditor.get(f"/register?{query}")
        assert answer.status_code == 200, query
        for bad in ("<script", "<img", "<svg", "<b>", "<b onclick"):
            assert bad not in answer.text
        assert auditor.get(f"/register.csv?{query}").status_code == 200
    assert 'value="{{7*7}}"' in auditor.get("/register?q={{7*7}}").text


# a register that is moved, lost or half written


def test_a_register_that_vanishes_leaves_its_pages_empty_and_comes_back(
    auditor: TestClient, quarters: Quarters, tmp_path: Path
) -> None:
    assert "000007" in auditor.get("/register").text
    quarters.register.rename(tmp_path / "away")
    for page in PAGES_OF_STAFF[:-1]:
        answer = auditor.get(page)
        assert answer.status_code == 200, page
        assert "000007" not in answer.text
    for part in ("", "/report", "/methodology", "/files/data.csv"):
        assert auditor.get(f"{address(quarters, LAST)}{part}").status_code == 404
    assert Page(auditor, "/datasets/small").facts["State"] == "never released"
    (tmp_path / "away").rename(quarters.register)
    assert "000007" in auditor.get("/register").text
    assert auditor.get(f"{address(quarters, LAST)}/report").status_code == 200


@pytest.mark.parametrize("what", ["file", "loop", "lines are a folder", "lines are a loop"])
def test_a_register_that_is_none_is_reported(
    auditor: TestClient, quarters: Quarters, tmp_path: Path, what: str
) -> None:
    lines = quarters.register / "register.jsonl"
    place = quarters.register if not what.startswith("lines") else lines
    place.rename(tmp_path / "away")
    if what == "file":
        place.write_text("x", encoding="utf-8")
    elif what == "lines are a folder":
        place.mkdir()
    else:
        place.symlink_to(place)
    for page in PAGES_OF_STAFF[:-1]:
        answer = auditor.get(page)
        assert answer.status_code == 200, page
    if what != "file":
        assert "the register must be readable; it is not" in auditor.get("/datasets").text


def test_a_line_that_is_half_written_is_not_shown_yet(
    auditor: TestClient, quarters: Quarters
) -> None:
    lines = quarters.register / "register.jsonl"
    whole = lines.read_bytes()
    end = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in (1, 40, len(whole) - end - 1):
        lines.write_bytes(whole[: end + cut])
        page = Page(auditor, "/register")
        assert page.notices == []
        assert "8 of 8 attempts" in page.words
    lines.write_bytes(whole)
    assert "9 of 9 attempts" in Page(auditor, "/register").words


def test_a_desk_of_another_installation_sees_none_of_this(
    quarters: Quarters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRORELEASE_SPECS", str(tmp_path / "specs"))
    other = logged_in(desk_with_users(tmp_path / "home"), "auditor")
    assert other.get(f"{address(quarters, LAST)}/report").status_code == 404
    assert "/datasets/small" not in other.get("/datasets").text
