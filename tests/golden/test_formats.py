"""Everything that was ever published stays valid, whatever later versions write and know."""

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from algorithms import evaluation
from algorithms.errors import IntegrityError, RefusedError
from algorithms.measures import MEASURES
from expectations import manifest as manifests
from expectations.manifest import Manifest, Record, ReleaseFacts
from expectations.published import claims as packages
from expectations.published.files import checksums
from expectations.published.recomputed import recompute
from expectations.published.statement import check_trusted
from expectations.published.verifier import verify
from expectations.review import Decision
from expectations.signatures import Trust
from tasks.publish import decide, publish, seal
from tasks.store import register as registers
from tasks.store.audit import audit
from tasks.store.history import history, latest
from tasks.store.home import HOME
from tasks.store.register import Register
from tasks.store.signing import installation_key
from tests.conftest import Request
from tests.publishing import candidate, events, folder_of, rewrite

ARCHIVES = sorted(Path(__file__).parent.glob("format-*.tar.gz"))
SIGNED = [archive for archive in ARCHIVES if "signed" in archive.name]
DECISIONS = [
    "published", "unchanged", "blocked", "failed", "sealed", "published", "sealed", "rejected",
    "published", "sealed",
]  # fmt: skip


def number_of(archive: Path) -> int:
    return int(archive.name.split(".")[0].split("-")[1])


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda archive: archive.name)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / f"format-{number_of(request.param)}"
    with tarfile.open(request.param) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(autouse=True)
def _home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on with the key that signed a register, if it is signed."""
    if "kept" in request.fixturenames:
        home = request.getfixturevalue("kept") / "home"
        if home.exists():
            monkeypatch.setenv(HOME, str(home))


def test_there_is_a_register_of_every_format_that_was_written() -> None:
    latest = max(manifests.FORMAT, packages.FORMAT)
    assert sorted({*map(number_of, ARCHIVES)}) == list(range(1, latest + 1))


def test_every_release_of_a_format_is_still_verified_by_an_audit(kept: Path) -> None:
    found = audit(kept / "register", kept / "public")
    assert found.faults == found.incomplete == found.strangers == []
    assert len(found.verified) == 3
    assert len(found.waiting) == 1


@pytest.mark.parametrize("kept", SIGNED, indirect=True)
def test_whatever_was_signed_is_still_known_by_its_key(kept: Path) -> None:
    trust = Trust.of_keys(installation_key().history)
    found = audit(kept / "register", kept / "public", trust=trust)
    assert (found.faults, found.unknown) == ([], [])
    for folder in (kept / "public" / "small").iterdir():
        check_trusted(verify(folder).statement, trust, str(folder))


def test_figures_of_a_format_are_still_recomputed(kept: Path) -> None:
    for folder in (kept / "public" / "small").iterdir():
        verified = verify(folder)
        assert f"format-{verified.claims.format}" == kept.name
        assert recompute(verified)["k"] >= verified.k_claimed


def test_the_history_of_a_format_is_still_told(kept: Path) -> None:
    pasts = history(kept / "register")
    assert [past.decision for past in pasts] == DECISIONS
    assert [past.reviewer for past in pasts if past.reviewer] == ["Bea", "Bea"]
    # a later attempt that was blocked takes nothing back
    assert [(past.period, past.decision) for past in latest(pasts, "small")] == [
        ("2026-Q3", "published"),
        ("2026-Q3, revision 1", "published"),
        ("2026-Q4", "published"),
        ("2027-Q1", "rejected"),
        ("2027-Q3", "sealed"),
    ]
    assert all(past.k == 3 for past in pasts if past.period == "2026-Q3")


@pytest.fixture
def copied(kept: Path, tmp_path: Path) -> Request:
    """A copy of what was kept, and the spec that it was made of."""
    request_of = Request(tmp_path)
    for folder in (request_of.public, request_of.register):
        shutil.copytree(kept / folder.name, folder)
    columns = {"decimals": {"sales": 1}}
    if int(kept.name.removeprefix("format-")) < packages.KNOWN_SINCE:
        columns |= {"other": ["zone"], "confidential": ["score"]}
    request_of.content["columns"] |= columns
    return request_of


def test_an_unchanged_spec_is_not_published_with_other_bytes(copied: Request) -> None:
    before = checksums(folder_of(copied))
    if "other" in copied.content["columns"]:
        # columns that an attacker may know were not counted into k
        with pytest.raises(RefusedError, match=r"columns\.other \('zone'\) is published unchanged"):
            candidate(copied)
    else:
        assert publish.fn(*candidate(copied)).unchanged
    assert checksums(folder_of(copied)) == before


def test_a_candidate_of_a_format_is_still_approved(
    copied: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    (waiting,) = audit(copied.register, copied.public).waiting
    publication = copied.load().publication
    sealed = Register(copied.register).manifest(waiting).sealed_spec
    # its manifest names the folder in which it was sealed
    here = property(lambda _: replace(sealed, publication=publication))
    monkeypatch.setattr(Manifest, "sealed_spec", here)
    published = decide.fn(copied.register, waiting, Decision(True, "Bea"))
    assert verify(published.folder).k_found >= 3
    assert audit(copied.register, copied.public).faults == []


def test_a_release_of_format_2_without_other_columns_is_unchanged(published: Request) -> None:
    def describe_as_before(package: dict[str, Any]) -> None:
        for resource in package["resources"]:
            for column in resource["schema"]["fields"]:
                column.pop("microrelease:kind", None)
        told = package["microrelease"]
        for later in ("small_strata", "k_counts", "figures"):
            del told[later]
        told |= {"format": 2, "integers": ["staff"], "decimals": {"sales": 1}}

    rewrite(folder_of(published), describe_as_before)
    assert verify(folder_of(published)).claims.format == 2
    assert publish.fn(*candidate(published)).unchanged


def test_a_measure_that_is_added_later_is_not_demanded_of_earlier_releases(
    published: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = replace(MEASURES["below_k"], name="added", title="A measure added later")
    monkeypatch.setattr("algorithms.evaluation.MEASURES", {**MEASURES, "added": added})
    monkeypatch.setattr(
        "algorithms.evaluation.PUBLIC_MEASURES", evaluation.PUBLIC_MEASURES | {"added"}
    )
    assert audit(published.register).faults == []
    # and its figure in what is made today makes no other release of it
    monkeypatch.setattr("tasks.public_files.MEASURES", {**MEASURES, "added": added})
    monkeypatch.setattr("expectations.gate.MEASURES", {**MEASURES, "added": added})
    assert publish.fn(*candidate(published)).unchanged


def test_a_page_that_is_worded_otherwise_makes_no_other_release(
    published: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder_of(published) / "methodology.html").read_bytes()
    monkeypatch.setattr("tasks.public_files.methodology", lambda *_: "other words")
    assert publish.fn(*candidate(published)).unchanged
    assert (folder_of(published) / "methodology.html").read_bytes() == before
    assert audit(published.register).faults == []


def test_a_measure_that_nobody_knows_is_a_fault(published: Request) -> None:
    def invent(package: dict[str, Any]) -> None:
        package["microrelease"]["measures"]["invented"] = 1.0

    rewrite(folder_of(published), invent)
    with pytest.raises(IntegrityError, match="no measure that this version knows"):
        recompute(verify(folder_of(published)))


def test_a_candidate_is_approved_in_the_format_in_which_it_was_sealed(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked, approval, spec, record = candidate(request_of)
    # a version that knew another spec, and wrote no format
    how = {**record.spec["microaggregation"], "options": {"of_that_version": True}}
    record = record.adding(spec={**record.spec, "microaggregation": how})

    def as_before(manifest: Manifest) -> bytes:
        return json.dumps(manifest.content).encode()

    with monkeypatch.context() as patched:
        patched.setattr(registers, "encode", as_before)
        sealed = seal.fn(masked, approval, spec, record)
    assert "format" not in json.loads(sealed.manifest.read_bytes())
    decide.fn(request_of.register, sealed.attempt, Decision(True, "Bea"))
    assert events(request_of) == ["sealed", "publishing", "published"]
    assert audit(request_of.register).faults == []
    assert Register(request_of.register).manifest("000002-small-2026-Q3").format == manifests.FORMAT


def test_a_manifest_of_a_format_to_come_is_named() -> None:
    with pytest.raises(IntegrityError, match="attempt a is in format 99: use a later version"):
        manifests.decode(b'{"format": 99}', "a")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": "2"}', b'{"format": 2}'])
def test_what_is_no_manifest_is_named(content: bytes) -> None:
    with pytest.raises(IntegrityError, match="the manifest of attempt a cannot be read"):
        manifests.decode(content, "a")


def test_nothing_is_written_that_could_not_be_read_again() -> None:
    record = Record(release=ReleaseFacts(name="b", period="c"))
    manifest = record.ending("a", "failed", reason="d")
    read = manifests.decode(manifests.encode(manifest), "a")
    assert read == manifest.adding(format=manifests.FORMAT)
    with pytest.raises(ValidationError, match="secret"):
        record.adding(secret=1)
    with pytest.raises(ValidationError, match="secret"):
        record.ending("a", "failed", secret=1)
