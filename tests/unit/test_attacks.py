"""Somebody who can write beside a release, at the worst moment, publishes nothing."""

import json
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from algorithms.errors import (
    ContractError,
    IntegrityError,
    RefusedError,
    SpecError,
    StorageError,
)
from expectations.published.files import OpenFile, checksums, open_folder
from expectations.published.verifier import verify
from expectations.review import Decision
from tasks import public_files
from tasks import publish as publishing
from tasks.publish import begin, decide, enter_review, publish, record_attempt, seal, settle
from tasks.store import candidates, public_folder
from tasks.store.audit import audit
from tasks.store.disk import Folder
from tasks.store.history import history
from tasks.store.register import Register
from tests.conftest import Request
from tests.publishing import candidate, events, folder_of

Action = Callable[[], object]


def forge(folder: Path) -> None:
    """Put the records of single persons into a folder, and describe them so that they fit."""
    table = pyarrow.parquet.read_table(folder / "data.parquet")
    alone = pa.array([value * 100 + i for i, value in enumerate(table["staff"].to_pylist())])
    table = table.set_column(table.column_names.index("staff"), "staff", alone)
    for name in ("data.csv", "data.parquet"):
        (folder / name).unlink()
    pyarrow.parquet.write_table(table, folder / "data.parquet")
    pyarrow.csv.write_csv(table, folder / "data.csv")
    path = folder / "datapackage.json"
    package = json.loads(path.read_bytes())
    for each in package["resources"]:
        each["bytes"] = (folder / each["path"]).stat().st_size
        each["hash"] = f"sha256:{checksums(folder)[each['path']]}"
    path.write_text(json.dumps(package), encoding="utf-8")


def after(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, action: Action) -> None:
    """Act as soon as a function has done its work."""
    original = getattr(target, name)

    def then(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        action()
        return result

    monkeypatch.setattr(target, name, then)


def staged(request_of: Request) -> Path:
    (folder,) = (request_of.folder / ".public.staging").iterdir()
    return folder


def replace_by_link(folder: Path) -> None:
    elsewhere = folder.parents[1] / "elsewhere"
    folder.rename(elsewhere)
    forge(elsewhere)
    folder.symlink_to(elsewhere)


def replace_by_folder(folder: Path) -> None:
    shutil.copytree(folder, folder.parents[1] / "elsewhere")
    forge(folder.parents[1] / "elsewhere")
    shutil.rmtree(folder)
    (folder.parents[1] / "elsewhere").rename(folder)


@pytest.mark.parametrize("swap", [forge, replace_by_folder, replace_by_link])
@pytest.mark.parametrize(
    ("target", "name"),
    [
        (public_folder, "verify_content"),
        (publishing._Recording, "keep"),
        (publishing._Recording, "append"),
    ],
    ids=["verified", "reported", "announced"],
)
def test_files_that_are_swapped_after_they_were_verified_do_not_stay_public(
    request_of: Request,
    monkeypatch: pytest.MonkeyPatch,
    target: Any,
    name: str,
    swap: Callable[[Path], None],
) -> None:
    made = candidate(request_of)
    swapped = []

    def act() -> None:
        if not swapped:
            swapped.append(True)
            swap(staged(request_of))

    after(monkeypatch, target, name, act)
    with pytest.raises((IntegrityError, StorageError)):
        publish.fn(*made)
    assert swapped
    assert not folder_of(request_of).exists()
    monkeypatch.undo()
    found = audit(request_of.register)
    assert found.faults == found.verified == []
    publish.fn(*candidate(request_of))
    assert verify(folder_of(request_of)).k_found >= 3
    assert audit(request_of.register).faults == []


def test_files_that_cannot_be_taken_back_are_named(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = candidate(request_of)
    original = Folder.move

    def move(self: Folder, name: str, target: Folder, new_name: str) -> None:
        if target.path.name == "small":
            forge(staged(request_of))
            original(self, name, target, new_name)
        elif self.path.name == "small":
            raise StorageError("the file system is read-only")
        else:
            original(self, name, target, new_name)

    monkeypatch.setattr(Folder, "move", move)
    with pytest.raises(IntegrityError, match=r"could not be taken back.*remove .*2026-Q3' at once"):
        publish.fn(*made)


def sealed(request_of: Request) -> str:
    masked, approval, spec, record = candidate(request_of)
    return str(seal.fn(masked, approval, spec, record).attempt)


def test_a_candidate_that_is_swapped_while_it_is_checked_is_published_as_it_was_sealed(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = sealed(request_of)
    folder = candidates.folder_of(Register(request_of.register), attempt)
    before = checksums(folder)
    enter_review(request_of.register, attempt, Decision(True, "Bea"))
    after(monkeypatch, candidates, "verify_content", lambda: forge(folder))
    settle.fn(request_of.register, attempt)
    published = checksums(folder_of(request_of))
    assert published.pop("statement.json")
    assert published == before
    assert audit(request_of.register).faults == []


def test_a_candidate_that_was_swapped_before_is_not_published(request_of: Request) -> None:
    attempt = sealed(request_of)
    folder = candidates.folder_of(Register(request_of.register), attempt)
    forge(folder)
    with pytest.raises(IntegrityError, match="differs from what was sealed"):
        decide.fn(request_of.register, attempt, Decision(True, "Bea"))
    assert "differs from what was sealed" in audit(request_of.register).faults[0]
    shutil.rmtree(folder)
    with pytest.raises(IntegrityError, match="is gone"):
        decide.fn(request_of.register, attempt, Decision(True, "Bea"))
    assert not folder_of(request_of).exists()


def test_an_audit_compares_a_release_with_the_candidate_and_the_figures_that_were_approved(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = sealed(request_of)
    other: dict[str, OpenFile] = {}
    after(
        monkeypatch, public_files, "prepare", lambda: other.update(open_folder(staged(request_of)))
    )
    seal.fn(*candidate(request_of, microaggregation={"k": 2}, release={"period": "2026-Q4"}))
    # as a version would publish that believes whatever it finds in the folder of a candidate
    monkeypatch.setattr(candidates, "unsealed", lambda *_: other)
    decide.fn(request_of.register, attempt, Decision(True, "Bea"))
    monkeypatch.undo()
    (fault,) = [each for each in audit(request_of.register).faults if "2026-Q3" in each]
    assert "claims k = 2, but k = 3 was approved" in fault
    assert f"it is not candidate {attempt}, which was approved" in fault


def test_an_audit_notices_other_figures_than_were_judged(request_of: Request) -> None:
    masked, approval, spec, record = candidate(request_of)
    evaluation = asdict(approval.evaluation)
    evaluation["measures"]["il"] = 1.0
    publish.fn(masked, approval, spec, record.adding(evaluation=evaluation))
    assert "its claims differ from what was judged: il" in audit(request_of.register).faults[0]


def test_an_approval_for_another_gate_or_k_publishes_nothing(request_of: Request) -> None:
    masked, approval, _, record = candidate(request_of)
    for changed in (
        {"microaggregation": {"k": 2}},
        {"gate": {"ceilings": {"il": 99.0, "dld": 100.0}}},
    ):
        with pytest.raises(ContractError, match="for the gate, the k, the columns and the series"):
            publish.fn(masked, approval, request_of.load(**changed), record)
    assert not request_of.public.exists()


# links and strange files


def test_a_public_folder_that_became_a_link_to_the_register_is_refused_at_once(
    request_of: Request,
) -> None:
    made = candidate(request_of)
    request_of.register.mkdir()
    request_of.public.symlink_to(request_of.register)
    with pytest.raises(StorageError, match="register_folder must lie outside public_folder"):
        publish.fn(*made)


def test_two_names_of_one_folder_are_found_by_the_folder(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = candidate(request_of)
    request_of.register.mkdir()
    request_of.public.symlink_to(request_of.register)
    # the link comes after names were looked at
    monkeypatch.setattr(public_folder, "_check_apart", lambda _publication: None)
    with pytest.raises(StorageError, match="it leads to register_folder"):
        publish.fn(*made)


@pytest.mark.parametrize("name", ["small", "small/2026-Q3"])
def test_a_link_in_the_public_folder_is_not_followed(request_of: Request, name: str) -> None:
    elsewhere = request_of.folder / "elsewhere"
    elsewhere.mkdir()
    link = request_of.public / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises((StorageError, RefusedError)):
        publish.fn(*candidate(request_of))
    assert not list(elsewhere.iterdir())


def test_a_verifier_does_not_wait_for_a_pipe_or_follow_a_link(published: Request) -> None:
    path = folder_of(published) / "README.md"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(IntegrityError, match=r"'README.md' is not a regular file"):
        verify(folder_of(published))
    path.unlink()
    path.symlink_to(published.source)
    with pytest.raises(IntegrityError, match=r"'README.md' is not a regular file"):
        verify(folder_of(published))
    link = published.folder / "link"
    link.symlink_to(folder_of(published))
    with pytest.raises(IntegrityError, match="there is no such folder"):
        verify(link)


@pytest.mark.parametrize("name", [".DS_Store", "notes.txt", "000099-note", ".000099-note"])
def test_a_stray_file_among_the_attempts_stops_nothing(published: Request, name: str) -> None:
    for folder in ("attempts", "candidates"):
        (published.register / folder).mkdir(exist_ok=True)
        (published.register / folder / name).write_text("x", encoding="utf-8")
    found = audit(published.register)
    assert found.faults == []
    publish.fn(*candidate(published, release={"period": "2026-Q4"}))
    seal.fn(*candidate(published, release={"period": "2027-Q1"}))
    assert audit(published.register).faults == []
    assert len(history(published.register)) == 3


def test_a_stray_file_is_named_by_an_audit(published: Request) -> None:
    (published.register / "attempts" / "notes.txt").touch()
    assert audit(published.register).strangers == ["notes.txt"]


def test_an_attempt_that_cannot_be_read_is_a_fault(published: Request) -> None:
    folder = published.register / "attempts" / "000007-small-2026-Q4"
    folder.mkdir()
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    words = "the manifest of attempt 000007-small-2026-Q4 cannot be read"
    assert audit(published.register).faults == [words]
    with pytest.raises(IntegrityError, match=words):
        publish.fn(*candidate(published))


@pytest.mark.parametrize("inner", ["register", "register/staging", "public/staging", "public"])
def test_a_staging_folder_inside_another_is_refused(request_of: Request, inner: str) -> None:
    with pytest.raises(SpecError, match="staging_folder must lie outside"):
        request_of.load(publication={"staging_folder": inner})


def test_folders_that_are_links_in_a_circle_are_refused(request_of: Request) -> None:
    (request_of.folder / "public").symlink_to(request_of.folder / "public")
    with pytest.raises(StorageError, match="public_folder must be a folder"):
        publish.fn(*candidate(request_of))


# who may read


@contextmanager
def umask(mode: int) -> Iterator[None]:
    before = os.umask(mode)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o000, 0o022, 0o077])
def test_everyone_can_read_what_is_public_and_nobody_else_the_register(
    request_of: Request, mode: int
) -> None:
    public, register = "data/web/public", "data/internal/register"
    places = {"public_folder": public, "register_folder": register}
    with umask(mode):
        publish.fn(*candidate(request_of, publication=places))
        masked, approval, spec, record = candidate(
            request_of, publication=places, release={"period": "2026-Q4"}
        )
        seal.fn(masked, approval, spec, record)
        begin(spec, "Ana").close()

    def modes(folder: Path) -> set[tuple[bool, str]]:
        parts = [folder, *folder.rglob("*")]
        return {(part.is_dir(), oct(part.stat().st_mode & 0o777)) for part in parts}

    assert modes(request_of.folder / public) == {(True, "0o755"), (False, "0o644")}
    assert modes(request_of.folder / register) == {(True, "0o700"), (False, "0o600")}
    assert oct((request_of.folder / "data").stat().st_mode & 0o777) == "0o755"


def test_a_register_that_others_could_read_is_closed(published: Request) -> None:
    published.register.chmod(0o755)
    publish.fn(*candidate(published))
    assert oct(published.register.stat().st_mode & 0o777) == "0o700"


# attempts that start, and registers that are full


def test_an_attempt_is_entered_when_it_starts_and_a_killed_one_leaves_its_line(
    request_of: Request,
) -> None:
    spec = request_of.load()
    running = begin(spec, "Ana")
    assert events(request_of) == ["started"]
    (past,) = history(request_of.register)
    assert (past.decision, past.started_by, past.period) == ("running", "Ana", "2026-Q3")
    assert audit(request_of.register).incomplete == []
    # another one, while the first runs
    record_attempt(spec, candidate(request_of)[3], "blocked")
    assert events(request_of) == ["started", "blocked"]
    assert running.handle is not None
    os.close(running.handle)  # as the system does when a process is killed
    assert "was started and did not end" in audit(request_of.register).incomplete[0]
    publish.fn(*candidate(request_of))
    assert events(request_of) == ["started", "blocked", "abandoned", "publishing", "published"]
    killed = history(request_of.register)[0]
    assert (killed.decision, killed.reason) == ("abandoned", "a crash came first")
    assert audit(request_of.register).incomplete == audit(request_of.register).faults == []
    assert not list((request_of.register / "locks").iterdir())


def test_an_attempt_that_was_entered_ends_under_its_own_name(request_of: Request) -> None:
    masked, approval, spec, record = candidate(request_of)
    running = begin(spec, "Ana")
    publish.fn(masked, approval, spec, record.adding(attempt=running.attempt))
    running.close()
    running.close()
    assert events(request_of) == ["started", "publishing", "published"]
    assert {past.attempt for past in history(request_of.register)} == {"000001-small-2026-Q3"}


@contextmanager
def nothing_longer_than(size: int) -> Iterator[None]:
    """Let the system refuse to write more into a file, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_register_that_is_full_is_reported_when_a_run_starts(published: Request) -> None:
    spec = published.load()
    size = (published.register / "register.jsonl").stat().st_size
    with (
        nothing_longer_than(size + 10),
        pytest.raises(StorageError, match="register_folder must be a folder that can be written"),
    ):
        begin(spec, "Ana")
    assert not list((published.register / "locks").iterdir())
    publish.fn(*candidate(published))
    assert audit(published.register).faults == audit(published.register).incomplete == []


def test_a_message_names_the_folder_that_is_full(request_of: Request) -> None:
    made = candidate(request_of)
    with (
        nothing_longer_than(100),
        pytest.raises(StorageError, match=r"staging_folder must be .*\.public\.staging"),
    ):
        publish.fn(*made)
    assert not folder_of(request_of).exists()


def test_a_release_that_is_public_is_not_called_a_failure_when_the_register_fails_after_it(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = candidate(request_of)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill() -> None:
        size = (request_of.register / "register.jsonl").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    after(monkeypatch, public_folder, "reveal", fill)
    try:
        published = publish.fn(*made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "register_folder must be a folder that can be written to" in published.warning
    assert verify(published.folder).rows == 7
    assert events(request_of) == ["publishing"]
    monkeypatch.undo()
    assert publish.fn(*candidate(request_of)).unchanged
    assert events(request_of) == ["publishing", "published", "unchanged"]
