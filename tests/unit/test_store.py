"""What is written: whole or not at all, chained, and mended after a crash."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.errors import ContractError, IntegrityError, RefusedError, StorageError
from expectations.manifest import Record
from expectations.published.files import checksums
from expectations.published.verifier import verify
from tasks.publish import publish, record_attempt
from tasks.publishable import sort_order
from tasks.store import disk, provenance
from tasks.store.audit import audit
from tasks.store.public_folder import check_places
from tasks.store.register import Register
from tests.conftest import Request
from tests.kills import Yard, every_step
from tests.publishing import candidate, events, folder_of


def test_a_release_is_published_whole_and_recorded(published: Request) -> None:
    folder = folder_of(published)
    assert {path.name for path in folder.iterdir()} == {
        "data.csv",
        "data.parquet",
        "datapackage.json",
        "README.md",
        "methodology.html",
        "statement.json",
    }
    found = verify(folder)
    assert (found.rows, found.k_claimed, found.k_found) == (7, 3, 3)
    assert events(published) == ["publishing", "published"]
    found_again = audit(published.register)
    assert (found_again.lines, found_again.attempts) == (3, 1)
    assert found_again.verified == [str(folder)]
    assert found_again.faults == found_again.incomplete == found_again.waiting == []
    assert not (published.folder / ".public.staging").exists()


def test_public_files_hold_no_identifier_and_no_order_of_the_source(published: Request) -> None:
    table = pyarrow.parquet.read_table(folder_of(published) / "data.parquet")
    assert table.column_names == ["staff", "sales", "zone", "score"]
    rows = table.to_pylist()
    assert rows == sorted(
        rows, key=lambda row: tuple((value is None, value) for value in row.values())
    )
    for path in folder_of(published).iterdir():
        assert b'"id"' not in path.read_bytes()


def test_rows_come_in_one_order_whatever_the_order_of_the_source() -> None:
    table = pa.table({"a": ["y", None, "x", "x"], "b": [1.0, 2.0, 4.0, 3.0]})
    shuffled = table.take([2, 0, 3, 1])
    assert table.take(sort_order(table)).equals(shuffled.take(sort_order(shuffled)))


def test_the_package_describes_fields_roles_and_method(published: Request) -> None:
    package = json.loads((folder_of(published) / "datapackage.json").read_bytes())
    fields = package["resources"][0]["schema"]["fields"]
    assert [(f["name"], f["type"], f["microrelease:role"]) for f in fields] == [
        ("staff", "integer", "quasi-identifier"),
        ("sales", "number", "quasi-identifier"),
        ("zone", "string", "confidential"),
        ("score", "integer", "confidential"),
    ]
    assert package["licenses"] == [{"name": "CC0-1.0"}]
    assert package["microrelease"]["k"] == 3
    assert package["microrelease"]["method"] == "mdav"


def test_publishing_the_same_bytes_again_changes_nothing(published: Request) -> None:
    before = checksums(folder_of(published))
    again = publish.fn(*candidate(published))
    assert again.unchanged
    assert checksums(folder_of(published)) == before
    assert events(published)[2:] == ["unchanged"]
    assert audit(published.register).faults == []


def test_other_bytes_are_refused_and_leave_nothing(published: Request) -> None:
    before = checksums(folder_of(published))
    with pytest.raises(RefusedError, match=r"set release.revision to 1"):
        publish.fn(*candidate(published, microaggregation={"k": 2}))
    assert checksums(folder_of(published)) == before
    assert events(published) == ["publishing", "published"]
    assert not (published.folder / ".public.staging").exists()


def test_a_revision_gets_its_own_folder_and_keeps_the_old_one(published: Request) -> None:
    changed = {"microaggregation": {"k": 2}, "release": {"revision": 1}}
    revised = publish.fn(*candidate(published, **changed))
    assert revised.folder.name == "2026-Q3-revision-1"
    assert verify(folder_of(published)).k_claimed == 3
    assert verify(revised.folder).k_claimed == 2
    assert len(audit(published.register).verified) == 2


def test_a_revision_must_follow_what_it_revises(published: Request) -> None:
    with pytest.raises(RefusedError, match="revision 2 must follow a published 2026-Q3-revision-1"):
        publish.fn(*candidate(published, release={"revision": 2}))


def test_only_the_table_that_was_approved_is_published(request_of: Request) -> None:
    masked, approval, spec, record = candidate(request_of)
    staff, *others = masked.published.keys
    altered = replace(masked, published=replace(masked.published, keys=(staff + 1, *others)))
    with pytest.raises(ContractError, match="only the table that was approved"):
        publish.fn(altered, approval, spec, record)
    assert not request_of.public.exists()


def test_the_same_input_gives_the_same_bytes_elsewhere(
    request_of: Request, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Request(tmp_path_factory.mktemp("other"))
    publish.fn(*candidate(request_of))
    publish.fn(*candidate(other))
    assert checksums(folder_of(request_of)) == checksums(folder_of(other))


def test_a_foreign_file_in_the_staging_folder_is_left_alone(request_of: Request) -> None:
    staging = request_of.folder / "mine"
    staging.mkdir()
    (staging / "thesis.tex").touch()
    publish.fn(*candidate(request_of, publication={"staging_folder": "mine"}))
    assert [path.name for path in staging.iterdir()] == ["thesis.tex"]


# what a crash leaves behind


@pytest.mark.parametrize("name", ["publish", "approve"])
def test_after_a_kill_what_is_public_is_whole_and_the_next_run_puts_things_right(
    request_of: Request, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    # at every file operation: tests/slow/test_kills.py
    place = tmp_path_factory.mktemp("kills") / "place"
    place.mkdir()
    yard = Yard(Request(place))
    operation = getattr(yard, name)
    for _ in every_step(yard, operation, stride=4):
        yard.check_recovered(operation)
    assert len(yard.states) > 1, "no kill left anything to recover: the test did not test"


def test_a_line_that_was_cut_off_is_written_anew(published: Request) -> None:
    lines = published.register / "register.jsonl"
    content = lines.read_bytes()
    lines.write_bytes(content + content.splitlines()[0][:-20])
    assert "was cut off" in audit(published.register).incomplete[0]
    publish.fn(*candidate(published))
    assert events(published) == ["publishing", "published", "unchanged"]


def test_a_blocked_attempt_without_a_line_gets_its_line(request_of: Request) -> None:
    spec = request_of.load()
    record = Record.of(spec)
    record_attempt(spec, record, "blocked")
    for name in ("register.jsonl", "register.head"):
        (request_of.register / name).unlink()
    assert "no line" in audit(request_of.register).incomplete[0]
    record_attempt(spec, record, "blocked")
    assert events(request_of) == ["blocked", "blocked"]


# what somebody did afterwards


def alter(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def drop_line(request_of: Request, number: int) -> None:
    path = request_of.register / "register.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[number]
    path.write_bytes(b"".join(lines))


def repeat_line(request_of: Request) -> None:
    path = request_of.register / "register.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[0])


def retype_line(request_of: Request) -> None:
    """Write the first line with text for a number, and with the hash that fits."""
    path = request_of.register / "register.jsonl"
    first, *others = path.read_bytes().splitlines(keepends=True)
    content = {**json.loads(first), "revision": "none"}
    del content["hash"]
    own = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    line = json.dumps({**content, "hash": own}).encode() + b"\n"
    path.write_bytes(b"".join([line, *others]))


def manifest_of(request_of: Request) -> Path:
    return next(request_of.register.glob("attempts/*/manifest.json"))


def forge_package(request_of: Request) -> None:
    """Describe the release anew, so that the folder is consistent in itself."""
    alter(folder_of(request_of) / "datapackage.json", b'"title": "A ', b'"title": "The ')


TAMPERINGS: list[tuple[str, Any, str]] = [
    (
        "a cell",
        lambda r: alter(folder_of(r) / "data.csv", b"008", b"009"),
        "data.csv is not the file that datapackage.json describes",
    ),
    (
        "the other file",
        lambda r: alter(folder_of(r) / "data.parquet", b"PAR1", b"PAR2"),
        "data.parquet is not the file that datapackage.json describes",
    ),
    ("the readme", lambda r: alter(folder_of(r) / "README.md", b"A", b"B"), "altered README.md"),
    ("the description", forge_package, "altered datapackage.json"),
    (
        "the methodology",
        lambda r: alter(folder_of(r) / "methodology.html", b"k = 3", b"k = 9"),
        "altered methodology.html",
    ),
    ("a file removed", lambda r: (folder_of(r) / "data.csv").unlink(), "data.csv is missing"),
    ("a file added", lambda r: (folder_of(r) / "x").touch(), "'x' does not belong there"),
    ("the folder removed", lambda r: shutil.rmtree(folder_of(r)), "there is no such folder"),
    (
        "a folder added",
        lambda r: shutil.copytree(folder_of(r), folder_of(r).with_name("2026-Q4")),
        "is in the public folder but not in the register",
    ),
    (
        "a manifest",
        lambda r: alter(manifest_of(r), b"small", b"large"),
        "the manifest of attempt 000001-small-2026-Q3 was altered",
    ),
    (
        "a report",
        lambda r: alter(manifest_of(r).with_name("report.html"), b"small", b"large"),
        "the report of attempt 000001-small-2026-Q3 was altered",
    ),
    (
        "a report removed",
        lambda r: manifest_of(r).with_name("report.html").unlink(),
        "the report of attempt 000001-small-2026-Q3 is missing",
    ),
    ("a manifest removed", lambda r: manifest_of(r).unlink(), "2026-Q3 is missing"),
    (
        "the first line",
        lambda r: alter(r.register / "register.jsonl", b"publishing", b"Publishing"),
        "line 2 of register.jsonl was altered",
    ),
    (
        "the last line",
        lambda r: alter(r.register / "register.jsonl", b'"published"', b'"publashed"'),
        "line 3 of register.jsonl was altered",
    ),
    (
        "a space in a line",
        lambda r: alter(r.register / "register.jsonl", b", ", b",  "),
        "line 1 of register.jsonl was altered",
    ),
    (
        "nonsense for a line",
        lambda r: (r.register / "register.jsonl").write_bytes(b"[]\n"),
        "line 1 of register.jsonl was altered",
    ),
    ("a line removed", lambda r: drop_line(r, 0), "line 1 of register.jsonl must carry the hash"),
    ("a line of other types", retype_line, "line 1 of register.jsonl was altered"),
    ("a line put in", repeat_line, "line 4 of register.jsonl must carry the hash"),
    (
        "all lines removed",
        lambda r: (r.register / "register.jsonl").unlink(),
        "lines were removed at the end",
    ),
]


@pytest.mark.parametrize(
    ("tamper", "words"),
    [tampering[1:] for tampering in TAMPERINGS],
    ids=[tampering[0] for tampering in TAMPERINGS],
)
def test_an_audit_names_what_was_done_to_the_files(
    published: Request, tamper: Any, words: str
) -> None:
    tamper(published)
    found = audit(published.register)
    assert words in "".join(found.faults)
    if "register.jsonl" in words or "manifest" in words or "removed" in words:
        # and nothing more is added to a register that cannot be trusted
        with pytest.raises(IntegrityError):
            publish.fn(*candidate(published))


def test_a_published_folder_that_was_altered_is_not_called_the_same(published: Request) -> None:
    alter(folder_of(published) / "data.csv", b"008", b"009")
    with pytest.raises(IntegrityError, match="is not a whole release"):
        publish.fn(*candidate(published))


def test_a_moved_public_folder_can_be_named(published: Request) -> None:
    moved = published.folder / "archive"
    published.public.rename(moved)
    assert audit(published.register).faults
    assert audit(published.register, moved).verified == [str(moved / "small" / "2026-Q3")]


def test_what_is_no_register_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="is not a register"):
        audit(tmp_path)


def test_a_register_without_a_line_yet_is_whole_unless_it_had_one(tmp_path: Path) -> None:
    Register(tmp_path).locks.mkdir()  # the first run was killed at once, or waits for its reviewer
    found = audit(tmp_path)
    assert (found.lines, found.faults, found.incomplete) == (0, [], [])
    assert audit(tmp_path, witnesses=[found.head]).faults == []
    [emptied] = audit(tmp_path, witnesses=["0f" * 32]).faults
    assert "lines were removed" in emptied


# places


@pytest.mark.parametrize("place", ["public_folder", "register_folder", "staging_folder"])
def test_a_place_that_cannot_be_written_is_found_before_any_work(
    request_of: Request, place: str
) -> None:
    spec = request_of.load(publication={place: "table.csv/below"})
    with pytest.raises(StorageError, match=f"{place} must be a folder that can be written to"):
        check_places(spec.publication)
    assert not request_of.public.exists()


def test_a_folder_that_cannot_be_made_is_refused(request_of: Request) -> None:
    with pytest.raises(StorageError, match="Not a directory"):
        disk.make_folder(request_of.source / "below", "public_folder")


def test_staging_must_be_on_the_file_system_of_the_public_folder(request_of: Request) -> None:
    if Path("/dev/shm").stat().st_dev == request_of.folder.stat().st_dev:
        pytest.skip("/dev/shm is not a file system of its own here")
    spec = request_of.load(publication={"staging_folder": "/dev/shm/microrelease-test"})
    with pytest.raises(StorageError, match="must be on one file system"):
        check_places(spec.publication)


def test_the_code_is_named_without_version_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    named = provenance.code()
    assert named["commit"] is None
    assert len(named["sources_sha256"] or "") == 64
