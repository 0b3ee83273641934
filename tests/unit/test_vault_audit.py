"""An audit finds vault files that do not fit the register, the public files or the figures."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tasks.store import vault, vault_audit
from tasks.store.audit import audit
from tasks.store.disk import Folder
from tasks.store.editions import Edition, published_editions
from tasks.store.register import Register
from tasks.store.vault import Members
from tests.conftest import Request
from tests.vaults import panel, release, seal_period, write_period

Q1, Q2, Q3 = (f"2026-Q{number}" for number in (1, 2, 3))


@pytest.fixture
def two(request_of: Request) -> Request:
    for i, period in enumerate((Q1, Q2, Q3)):
        write_period(request_of, period, panel(i, 30 + i), i + 1)
    release(request_of, Q1)
    release(request_of, Q2)
    return request_of


def vault_file(request_of: Request, period: str) -> Path:
    (file,) = request_of.register.glob(f"vault/*/*-{period}.parquet")
    return file


def test_an_intact_vault_has_no_fault(two: Request) -> None:
    found = audit(two.register)
    assert found.faults == found.incomplete == []
    edition = published_editions(Register(two.register))[-1]
    assert edition.manifest.measures["candidates_min"] < 3


def test_a_missing_an_altered_and_a_left_file_are_found(two: Request) -> None:
    vault_file(two, Q1).unlink()
    vault_file(two, Q2).write_bytes(b"x")
    (two.register / "vault" / "small" / "000009-small-x.parquet").write_bytes(b"x")
    found = audit(two.register)
    assert [fault.split(": ")[0] for fault in found.faults] == [
        "every earlier release must have its vault file as it was written; that of small 2026-Q1 "
        "(vault/small/000001-small-2026-Q1.parquet) is missing",
        "every earlier release must have its vault file as it was written; that of small 2026-Q2 "
        "(vault/small/000002-small-2026-Q2.parquet) was altered or exchanged",
    ]
    assert found.incomplete == [
        "vault file small/000009-small-x.parquet belongs to no release: it was left by a crash"
    ]
    # what is public is as it was
    assert len(found.verified) == 2


def test_the_vault_file_of_a_candidate_is_checked(two: Request) -> None:
    held = seal_period(two, Q3)
    assert audit(two.register).faults == []
    vault_file(two, Q3).unlink()
    (fault,) = audit(two.register).faults
    assert fault.startswith(f"candidate {held.attempt} differs from what was sealed: vault/")


def joined(members: Members) -> Members:
    """Put everyone into one group."""
    return Members(members.tokens, np.zeros_like(members.groups), members.visible)


def exchanged(members: Members) -> Members:
    """Let every person change places with another, so that groups keep their sizes."""
    rows = np.random.default_rng(1).permutation(len(members.groups))
    return Members(members.tokens, members.groups[rows], members.visible)


def muted(members: Members) -> Members:
    """Mute one person."""
    return Members(members.tokens, members.groups, np.arange(len(members.tokens)) > 0)


def fewer(members: Members) -> Members:
    """Leave one person out."""
    return Members(members.tokens[1:], members.groups[1:], members.visible[1:])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (joined, "its groups do not make up the combinations of the public file"),
        (muted, "it mutes 1 records, and only 0 rows of the public file are empty"),
        (muted, "the manifest counts other persons"),
        (fewer, "it holds 29 persons, and the public file 30 rows"),
    ],
)
def test_a_file_with_other_persons_or_groups_is_found_although_hashes_agree(
    two: Request,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Members], Members],
    words: str,
) -> None:
    spoil_first(monkeypatch, change)
    faults = audit(two.register).faults
    assert re.search(f"is not what was published: .*{words}", " ".join(faults))


def spoil_first(monkeypatch: pytest.MonkeyPatch, change: Callable[[Members], Members]) -> None:
    read = vault_audit.read_members

    def spoiled(root: Folder, edition: Edition) -> Members:
        members = read(root, edition)
        return change(members) if Q1 in edition.name else members

    monkeypatch.setattr(vault_audit, "read_members", spoiled)


def test_candidates_are_counted_again(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    for period in (Q1, Q2):
        write_period(request_of, period, panel(0, 30))
        release(request_of, period)
    assert audit(request_of.register).faults == []
    spoil_first(monkeypatch, exchanged)
    (fault,) = audit(request_of.register).faults
    assert fault == (
        "the vault file of small 2026-Q2 is not what was published: candidates_min is 1 by the "
        "vault, and 3 was judged"
    )


def test_a_file_that_names_another_before_it_is_found(
    two: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vault_audit, "last_sha256", lambda *_: "other")
    assert "must name the one that was published before" in audit(two.register).faults[0]


def test_a_public_class_may_be_several_groups(request_of: Request) -> None:
    rows = [f"p{i},z,{1 if i < 6 else 9},{0 if i < 6 else 4}.5,1\n" for i in range(12)]
    path = request_of.folder / f"table-{Q1}.csv"
    path.write_text("id,zone,staff,sales,score\n" + "".join(rows), encoding="utf-8")
    release(request_of, Q1)
    assert audit(request_of.register).faults == []
    header, members = vault.decode(vault_file(request_of, Q1).read_bytes(), "it")
    assert header.k == 3
    assert np.bincount(members.groups).tolist() == [3, 3, 3, 3]
    public = (request_of.public / "small" / Q1 / "data.csv").read_text("utf-8").splitlines()
    assert len({line.split(",")[0] for line in public[1:]}) == 2
