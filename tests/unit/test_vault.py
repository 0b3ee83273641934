"""The vault: what it holds, what it tells the next release, and what it refuses."""

import hashlib
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from algorithms.errors import (
    ContractError,
    IntegrityError,
    RefusedError,
    RejectedError,
    SpecError,
)
from expectations.review import Decision
from tasks.publish import decide, publish
from tasks.remember import members_of
from tasks.store.audit import audit
from tasks.store.editions import Edition, population_of, published_editions, read_members
from tasks.store.register import Register
from tasks.store.vault import SCHEMA, Header, Members, decode, encode
from tasks.store.vault_key import Key, read_key
from tasks.tokens import Numbers
from tests import databases
from tests.conftest import Request
from tests.publishing import candidate, events
from tests.vaults import (
    made,
    masked_of,
    panel,
    release,
    remembered,
    seal_period,
    spec_of,
    write_period,
)

Q1, Q2, Q3, Q4 = (f"2026-Q{number}" for number in (1, 2, 3, 4))
SERIES: dict[str, Any] = {"series": {"window": 3}}


@pytest.fixture
def two(request_of: Request) -> Request:
    """Two published quarters and the source of a third; in each a person leaves and one enters."""
    for i, period in enumerate((Q1, Q2, Q3)):
        write_period(request_of, period, panel(i, 30 + i), i + 1)
    release(request_of, Q1)
    release(request_of, Q2)
    return request_of


def vault_file(request_of: Request, period: str) -> Path:
    (file,) = request_of.register.glob(f"vault/*/*-{period}.parquet")
    return file


def key_of(request_of: Request) -> Path:
    return request_of.register / "vault" / "small.key"


# what it holds


def test_a_vault_file_holds_tokens_groups_and_visibility_and_nothing_else(two: Request) -> None:
    content = vault_file(two, Q1).read_bytes()
    table = pyarrow.parquet.read_table(vault_file(two, Q1))
    assert table.schema.remove_metadata() == SCHEMA
    tokens = table["token"].to_pylist()
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 30
    assert all(table["visible"].to_pylist())
    assert b"person-" not in content
    header, _ = decode(content, "it")
    public = (two.public / "small" / Q1 / "data.csv").read_bytes()
    assert header == Header(
        population="small",
        dataset="small",
        period=Q1,
        revision=0,
        k=3,
        key=read_key(key_of(two)).fingerprint,  # type: ignore[union-attr]
        data_sha256=hashlib.sha256(public).hexdigest(),
        previous="",
    )


def test_manifests_name_vault_files_and_what_they_were_compared_with(two: Request) -> None:
    first, second = (edition.facts for edition in published_editions(Register(two.register)))
    assert first is not None
    assert second is not None
    assert second.sha256 == hashlib.sha256(vault_file(two, Q2).read_bytes()).hexdigest()
    assert (first.previous, first.against) == ("", ())
    assert (second.previous, second.against) == (first.sha256, (first.sha256,))
    assert (second.persons, second.muted, second.population) == (30, 0, "small")


def test_only_the_owner_can_read_the_vault(two: Request) -> None:
    vault = two.register / "vault"
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (vault, *vault.rglob("*"))}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.is_file()} == {0o600}
    assert len(key_of(two).read_bytes()) == 32


def test_a_file_is_read_as_it_was_written() -> None:
    key = Key.new()
    tokens = key.tokens(pa.table({"id": ["a", "b", "c"]}), "p")
    members = Members(tokens, np.array([1, 0, 1]), np.array([True, False, True]))
    header = Header(
        population="p",
        dataset="d",
        period="1",
        revision=0,
        k=2,
        key="",
        data_sha256="",
        previous="",
    )
    content = encode(header, members)
    assert content == encode(header, members)
    again, read = decode(content, "it")
    order = np.argsort(tokens)
    assert again == header
    assert read.tokens.tobytes() == tokens[order].tobytes()
    assert read.groups.tolist() == members.groups[order].tolist()
    assert read.visible.tolist() == members.visible[order].tolist()
    with pytest.raises(IntegrityError, match=r"it is in format 2: use a later version"):
        decode(encode(header.model_copy(update={"format": 2}), members), "it")
    for other in (b"", b"PAR1", _plain_parquet()):
        with pytest.raises(IntegrityError, match="it is not a vault file"):
            decode(other, "it")


def _plain_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table({"a": [1]}), sink)
    return bytes(sink.getvalue())


# tokens


def test_a_token_depends_on_key_population_and_identifiers_and_on_nothing_else() -> None:
    key = Key.new()
    text = key.tokens(pa.table({"id": ["7", "8"]}), "p")
    assert (text == key.tokens(pa.table({"other": pa.array([7, 8])}), "p")).all()
    assert (text == key.tokens(pa.table({"id": pa.array([7.0, 8.0])}), "p")).all()
    for other in (
        Key.new().tokens(pa.table({"id": ["7", "8"]}), "p"),
        key.tokens(pa.table({"id": ["7", "8"]}), "q"),
        key.tokens(pa.table({"id": ["07", "08"]}), "p"),
    ):
        assert not np.isin(text, other).any()
    together = key.tokens(pa.table({"a": ["x", "xy"], "b": ["yz", "z"]}), "p")
    assert together[0] != together[1]
    with pytest.raises(ContractError, match="some share theirs"):
        key.tokens(pa.table({"id": ["7", "7"]}), "p")


def test_a_fingerprint_and_a_message_do_not_show_the_key() -> None:
    key = Key.new()
    assert key.secret.hex()[:8] not in key.fingerprint
    assert str(key.secret) not in repr(key)


def test_groups_are_numbered_anew_in_each_release_and_stay_the_same_groups() -> None:
    key = Key(bytes(32))
    tokens = key.tokens(pa.table({"id": list(range(60))}), "p")
    groups = np.arange(60) // 3
    once, again, other = (key.numbered(groups, tokens, name) for name in ("a", "a", "b"))
    assert once.tolist() == again.tolist() != other.tolist()
    assert once.tolist() != groups.tolist()
    for numbers in (once, other):
        assert sorted(set(numbers.tolist())) == list(range(20))
        assert len(set(zip(groups.tolist(), numbers.tolist(), strict=True))) == 20
    backwards = key.numbered(groups[::-1], tokens[::-1], "a")
    assert backwards[::-1].tolist() == once.tolist()


# what it tells the next release


def test_persons_have_one_number_in_all_releases(two: Request) -> None:
    history = remembered(spec_of(two, Q3, **SERIES)).history
    assert history is not None
    assert [past.edition for past in history.past] == [Q1, Q2]
    assert (history.window, history.links, history.revises) == (3, "perfect", None)
    here = set(range(30))
    for past in history.past:
        assert len(past.persons) == 30
        assert past.k == 3
        assert np.bincount(past.groups).min() >= 3
    gone = [set(past.persons.tolist()) - here for past in history.past]
    assert gone[1] < gone[0]
    assert len(gone[0]) == 2
    for past in history.past:
        assert past.original is not None
        assert set(past.original.persons.tolist()) == set(past.persons.tolist())  # type: ignore[union-attr]
        # row i of the new table is person i + 2, whose score was its row in that quarter
        scores = past.original.carried["score"].to_pylist()
        offset = int(past.edition[-1]) - 1
        kept = {
            number: score
            for number, score in zip(past.original.persons.tolist(), scores, strict=True)  # type: ignore[union-attr]
            if number in here
        }
        assert kept == {number: number + 2 - offset for number in kept}


def test_groups_in_the_vault_are_those_of_the_public_file(two: Request) -> None:
    history = remembered(spec_of(two, Q3)).history
    assert history is not None
    masked = made(spec_of(two, Q2))[0]
    past = history.past[1]
    assert past.original is None, "without a series no earlier source is read"
    # rows 1 to 29 of the second quarter are rows 0 to 28 of the third
    places = past.places(np.arange(29))
    ours, theirs = past.groups[places], masked.groups[1:]
    assert len(set(zip(ours.tolist(), theirs.tolist(), strict=True))) == len(set(theirs.tolist()))


def test_numbers_of_persons_agree_with_a_dictionary() -> None:
    chance = np.random.default_rng(1)
    key = Key.new()
    ids = [chance.choice(500, 200, replace=False) for _ in range(5)]
    releases = [key.tokens(pa.table({"id": own}), "p") for own in ids]
    numbers = Numbers(releases[0], np.arange(200))
    known = {int(each): row for row, each in enumerate(ids[0])}
    for own, tokens in zip(ids[1:], releases[1:], strict=True):
        for each, number in zip(own.tolist(), numbers.of(tokens).tolist(), strict=True):
            assert known.setdefault(each, number) == number
    assert len(set(known.values())) == len(known)


def test_the_same_spec_file_and_vault_give_the_same_bytes(two: Request) -> None:
    release(two, Q3, **SERIES)
    before = {path: path.read_bytes() for path in two.register.glob("vault/*/*")}
    # a later release and its own publication are not in its past
    assert release(two, Q2, **SERIES).unchanged
    assert release(two, Q3, **SERIES).unchanged
    assert {path: path.read_bytes() for path in two.register.glob("vault/*/*")} == before
    assert Register(two.register).manifest("000005-small-2026-Q3").vault is None


def test_a_revision_knows_which_release_it_revises(two: Request) -> None:
    recalled = remembered(spec_of(two, Q1, release={"revision": 1}))
    assert recalled.history is not None
    assert recalled.history.revises == 0
    assert recalled.warnings == ()


def test_persons_of_withheld_records_are_not_in_the_vault(request_of: Request) -> None:
    write_period(request_of, Q1, panel(0, 31))
    source = request_of.folder / f"table-{Q1}.csv"
    source.write_text(source.read_text().replace("person-30,000", "person-30,999"))
    columns = {"strata": ["zone"], "confidential": ["score"]}
    sections = {
        "columns": columns,
        "microaggregation": {"small_strata": "withhold"},
        "gate": {"ceilings": {"il": 100.0, "dld": 100.0, "withheld": 50.0}},
    }
    release(request_of, Q1, **sections)
    assert pyarrow.parquet.read_table(vault_file(request_of, Q1)).num_rows == 30
    write_period(request_of, Q2, panel(0, 30))
    recalled = remembered(spec_of(request_of, Q2, **sections, **SERIES))
    assert recalled.history is not None
    (past,) = recalled.history.past
    assert past.original is not None
    assert len(past.original) == 30


def test_muted_persons_are_not_visible_in_the_vault(two: Request) -> None:
    spec = spec_of(two, Q3, series={"method": "cohorts"})
    masked, _, _, recalled = masked_of(spec)
    assert recalled.persons is not None
    muted = masked.published.muted
    assert muted is not None
    members = members_of(masked, spec, recalled.persons)
    assert members.visible.tolist() == (~muted).tolist()
    assert not members.visible.all()


def test_columns_that_are_grouped_apart_count_as_published_combinations(
    request_of: Request,
) -> None:
    write_period(request_of, Q1, panel(0, 12))
    spec = spec_of(request_of, Q1, microaggregation={"each_column": True})
    masked, _, _, recalled = masked_of(spec)
    assert recalled.persons is not None
    members = members_of(masked, spec, recalled.persons)
    assert len(set(members.groups.tolist())) == masked.published.sizes.size


def test_several_datasets_may_be_about_the_same_persons(two: Request) -> None:
    shared = {"series": {"population": "small"}, "release": {"name": "other"}}
    write_period(two, Q3, panel(2, 32), 5)
    recalled = remembered(spec_of(two, Q3, **shared))
    assert recalled.history is not None
    assert [past.edition for past in recalled.history.past] == [f"small {Q1}", f"small {Q2}"]
    assert all(past.original is None for past in recalled.history.past)
    release(two, Q3, **shared)
    own = remembered(spec_of(two, Q3)).history
    assert own is not None
    assert [past.edition for past in own.past] == [Q1, Q2, f"other {Q3}"]


# what it does not tell


def test_without_identifiers_or_with_new_persons_there_is_no_vault(two: Request) -> None:
    new = {"series": {"persons": "new each period", "reason": "drawn afresh"}}
    recalled = remembered(spec_of(two, Q3, **new))
    assert (recalled.history, recalled.persons) == (None, None)
    columns = {"identifiers": [], "dropped": {"id": "no use"}}
    assert population_of(spec_of(two, Q3, columns=columns)) is None
    before = sorted(two.register.glob("vault/*/*"))
    release(two, Q3, **new)
    assert sorted(two.register.glob("vault/*/*")) == before


def test_a_dry_look_makes_no_key(request_of: Request) -> None:
    write_period(request_of, Q1, panel(0, 12))
    recalled = remembered(spec_of(request_of, Q1))
    assert recalled.history is not None
    assert recalled.history.past == ()
    assert not request_of.register.exists()


# bad vaults


def test_a_missing_vault_file_is_refused(two: Request) -> None:
    vault_file(two, Q1).unlink()
    with pytest.raises(IntegrityError, match=r"that of small 2026-Q1 \(vault/.*\) is missing"):
        remembered(spec_of(two, Q3))
    shutil.rmtree(two.register / "vault" / "small")
    with pytest.raises(IntegrityError, match="is missing: restore it from a backup"):
        remembered(spec_of(two, Q3))
    shutil.rmtree(two.register / "vault")
    with pytest.raises(IntegrityError, match="is missing: restore it from a backup"):
        remembered(spec_of(two, Q3))


def test_a_missing_key_is_refused(two: Request) -> None:
    key_of(two).unlink()
    with pytest.raises(IntegrityError, match=r"key with which .* written; it is missing"):
        remembered(spec_of(two, Q3))


def test_an_altered_or_exchanged_vault_file_is_refused(two: Request) -> None:
    first, second = vault_file(two, Q1), vault_file(two, Q2)
    content = first.read_bytes()
    for other in (content[:-1], second.read_bytes()):
        first.write_bytes(other)
        with pytest.raises(IntegrityError, match="was altered or exchanged"):
            remembered(spec_of(two, Q3))


def test_a_vault_file_of_another_release_is_refused(two: Request) -> None:
    register = Register(two.register)
    first, second = published_editions(register)
    foreign = Edition(first.attempt, first.manifest.adding(vault=second.facts))
    with (
        register.read_only() as root,
        pytest.raises(IntegrityError, match="is about another release"),
    ):
        read_members(root, foreign)


def test_a_changed_key_is_refused_and_a_damaged_one_named(two: Request) -> None:
    key_of(two).write_bytes(bytes(32))
    with pytest.raises(IntegrityError, match="it is another one: restore it from its backup"):
        remembered(spec_of(two, Q3))
    key_of(two).write_bytes(b"short")
    with pytest.raises(IntegrityError, match=r"must be 32 bytes; .* holds 5"):
        remembered(spec_of(two, Q3))


def test_a_lost_key_can_be_given_up_by_a_decision_with_a_reason(two: Request) -> None:
    key_of(two).unlink()
    start = {"series": {"start": {"period": Q3, "reason": "the key was lost"}}}
    recalled = remembered(spec_of(two, Q3, **start))
    assert recalled.history is not None
    assert recalled.history.past == ()
    release(two, Q3, **start)
    facts = published_editions(Register(two.register))[-1].facts
    assert facts is not None
    # the chain of files goes on, though nothing was compared
    assert facts.previous == hashlib.sha256(vault_file(two, Q2).read_bytes()).hexdigest()
    assert facts.against == ()


def test_a_key_may_lie_elsewhere_and_never_in_the_public_folder(request_of: Request) -> None:
    write_period(request_of, Q1, panel(0, 12))
    release(request_of, Q1, publication={"vault_key": "safe/key"})
    assert (request_of.folder / "safe" / "key").stat().st_mode & 0o777 == 0o600
    assert not key_of(request_of).exists()
    with pytest.raises(SpecError, match="vault_key must lie outside public_folder"):
        request_of.load(publication={"vault_key": "public/key"})


def test_a_key_that_others_can_read_is_a_warning(two: Request) -> None:
    key_of(two).chmod(0o640)
    (warning,) = remembered(spec_of(two, Q3)).warnings
    assert "should be readable by its owner only" in warning


def test_a_key_that_appears_during_the_run_stops_it(request_of: Request) -> None:
    write_period(request_of, Q1, panel(0, 12))
    ready = made(spec_of(request_of, Q1))
    key_of(request_of).parent.mkdir(parents=True)
    key_of(request_of).write_bytes(bytes(32))
    with pytest.raises(RefusedError, match="has changed: run the release again"):
        publish.fn(*ready)


def test_a_partial_key_of_a_crash_is_replaced(request_of: Request) -> None:
    write_period(request_of, Q1, panel(0, 12))
    key_of(request_of).parent.mkdir(parents=True)
    key_of(request_of).with_name(".small.key.partial").write_bytes(b"half")
    release(request_of, Q1)
    assert sorted(path.name for path in key_of(request_of).parent.iterdir()) == [
        "small",
        "small.key",
    ]


def test_earlier_releases_without_a_vault_file_are_refused_in_a_series(
    request_of: Request,
) -> None:
    for period in (Q1, Q2):
        write_period(request_of, period, panel(0, 12))
    source = {"path": f"table-{Q1}.csv"}
    publish.fn(*candidate(request_of, release={"period": Q1}, source=source))
    recalled = remembered(spec_of(request_of, Q2))
    assert recalled.history is not None
    assert "cannot be compared with small 2026-Q1" in recalled.warnings[0]
    with pytest.raises(IntegrityError, match=r"no vault file about 'small' for small 2026-Q1: set"):
        remembered(spec_of(request_of, Q2, series={}))
    start = {"period": Q2, "reason": "older releases have no vault"}
    assert remembered(spec_of(request_of, Q2, series={"start": start})).warnings == ()


def test_a_series_is_not_published_without_a_comparison(two: Request) -> None:
    with pytest.raises(ContractError, match="must be compared with the earlier releases"):
        publish.fn(*made(spec_of(two, Q3, series={}))[:4])


# warnings


def test_a_late_period_is_compared_with_all_and_warned_of(two: Request) -> None:
    write_period(two, "2025-Q4", panel(0, 30))
    recalled = remembered(spec_of(two, "2025-Q4"))
    assert recalled.history is not None
    assert len(recalled.history.past) == 2
    (warning,) = recalled.warnings
    assert "2025-Q4 comes after small 2026-Q1, small 2026-Q2" in warning


def test_persons_who_are_all_new_are_a_warning_with_their_share(two: Request) -> None:
    write_period(two, Q3, [*panel(0, 3), *panel(100, 127)])
    assert remembered(spec_of(two, Q3)).warnings == ()
    (warning,) = remembered(spec_of(two, Q3, **SERIES)).warnings
    assert "only 10 % of these records are about persons of an earlier release" in warning


def test_earlier_sources_that_are_gone_or_changed_are_named(two: Request) -> None:
    (two.folder / f"table-{Q1}.csv").unlink()
    recalled = remembered(spec_of(two, Q3, **SERIES))
    assert recalled.history is not None
    assert [past.original is None for past in recalled.history.past] == [True, False]
    assert "leave out those of small 2026-Q1, which are gone" in recalled.warnings[0]
    write_period(two, Q1, panel(0, 31))
    assert "small 2026-Q1" in remembered(spec_of(two, Q3, **SERIES)).warnings[0]


def test_queries_of_earlier_periods_are_read_again(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = request_of.folder / "registry.db"
    monkeypatch.setenv("MICRORELEASE_DATABASE_REGISTRY", str(file))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(databases.CREATE)
        for period in (Q1, Q2):
            connection.execute(databases.insert(quarter=period))
        databases.spec_of(request_of)
        publish.fn(*made(request_of.load(release={"period": Q1})))
        spec = request_of.load(release={"period": Q2}, series={})
        recalled = remembered(spec)
        assert recalled.warnings == ()
        assert recalled.history is not None
        (past,) = recalled.history.past
        assert past.original is not None
        assert len(past.original) == len(databases.ROWS)
        connection.execute("UPDATE persons SET staff = 0 WHERE id = 1")
        assert "small 2026-Q1, which are gone or have changed" in remembered(spec).warnings[0]


# publishing


def test_two_releases_of_the_same_persons_cannot_ignore_each_other(two: Request) -> None:
    write_period(two, Q4, panel(3, 33))
    ready = made(spec_of(two, Q4))
    release(two, Q3)
    with pytest.raises(RefusedError, match=r"small 2026-Q3 has been published since: run the"):
        publish.fn(*ready)
    assert len(list(two.register.glob("vault/small/*"))) == 3


def test_a_candidate_carries_its_vault_file(two: Request) -> None:
    held = seal_period(two, Q3)
    assert vault_file(two, Q3).stem == held.attempt
    # it does not count yet
    assert len(published_editions(Register(two.register))) == 2
    decide.fn(two.register, held.attempt, Decision(True, "Bea"))
    last = published_editions(Register(two.register))[-1]
    assert last.facts is not None
    assert last.facts.file == f"vault/small/{held.attempt}.parquet"
    assert last.attempt == held.attempt != last.manifest.attempt
    assert vault_file(two, Q3).is_file()
    write_period(two, Q4, panel(3, 33))
    history = remembered(spec_of(two, Q4)).history
    assert history is not None
    assert [past.edition for past in history.past] == [Q1, Q2, Q3]


def test_a_rejected_candidate_leaves_no_vault_file(two: Request) -> None:
    held = seal_period(two, Q3)
    with pytest.raises(RejectedError):
        decide.fn(two.register, held.attempt, Decision(False, "Bea"))
    assert len(list(two.register.glob("vault/small/*"))) == 2


def test_a_candidate_that_is_out_of_date_is_refused(two: Request) -> None:
    write_period(two, Q4, panel(3, 33))
    held = seal_period(two, Q4)
    release(two, Q3)
    with pytest.raises(RefusedError, match="small 2026-Q3 has been published since"):
        decide.fn(two.register, held.attempt, Decision(True, "Bea"))
    assert Register(two.register).chain().waiting == [held.attempt]


@pytest.mark.parametrize(("damage", "fault"), [("gone", "is gone"), ("altered", "altered vault")])
def test_a_candidate_whose_vault_file_changed_is_refused(
    two: Request, damage: str, fault: str
) -> None:
    held = seal_period(two, Q3)
    if damage == "gone":
        vault_file(two, Q3).unlink()
    else:
        vault_file(two, Q3).write_bytes(b"x")
    with pytest.raises(IntegrityError, match=fault):
        decide.fn(two.register, held.attempt, Decision(True, "Bea"))


def test_vault_files_of_a_crash_are_removed_and_other_files_are_not(two: Request) -> None:
    folder = two.register / "vault" / "small"
    for name in ("000009-small-x.parquet", ".000009-small-x.parquet", "notes.txt"):
        (folder / name).write_bytes(b"x")
    before = events(two)
    with Register(two.register).opened():
        pass
    assert events(two) == before
    assert {path.name for path in folder.iterdir()} == {
        vault_file(two, Q1).name,
        vault_file(two, Q2).name,
        "notes.txt",
    }


def test_a_release_whose_folder_was_lost_appears_again_with_its_vault_file(two: Request) -> None:
    shutil.rmtree(two.public / "small" / Q1)
    before = sorted(two.register.glob("vault/small/*"))
    assert not release(two, Q1).unchanged
    assert events(two) == ["publishing", "published"] * 3
    assert sorted(two.register.glob("vault/small/*")) == before
    assert audit(two.register).faults == audit(two.register).incomplete == []
    history = remembered(spec_of(two, Q3)).history
    assert history is not None
    assert [past.edition for past in history.past] == [Q1, Q2]
    # also by way of a candidate
    shutil.rmtree(two.public / "small" / Q1)
    held = seal_period(two, Q1)
    decide.fn(two.register, held.attempt, Decision(True, "Bea"))
    assert sorted(two.register.glob("vault/small/*")) == before
    assert audit(two.register).faults == []


def test_a_release_whose_folder_was_lost_cannot_appear_with_other_data(two: Request) -> None:
    shutil.rmtree(two.public / "small" / Q1)
    write_period(two, Q1, panel(0, 30), 9)
    with pytest.raises(RefusedError, match=r"its folder is gone, and this release has other data"):
        release(two, Q1)
