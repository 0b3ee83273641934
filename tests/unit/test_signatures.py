"""Registers and public folders are signed: with the publisher's key, every forgery is found."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from algorithms.errors import IntegrityError, RefusedError, SpecError
from expectations.published.files import checksums_of, open_folder
from expectations.published.statement import Statement, check_trusted
from expectations.published.verifier import verify
from expectations.signatures import (
    LINE,
    STATEMENT,
    KeyLink,
    PublicKey,
    Trust,
    problem_with_succession,
    public_part,
    sign,
)
from flows.cli import main
from tasks.publish import publish
from tasks.store import signing
from tasks.store.audit import Audit, audit
from tasks.store.audit_log import KEPT, keep, last_audits, own_audit
from tasks.store.chain import NO_LINE
from tasks.store.register import Register
from tasks.store.signing import installation_key, rotate
from tests.conftest import Request
from tests.forgeries import relink, rewrite_manifest
from tests.publishing import candidate, folder_of

FIRST = "000001-small-2026-Q3"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with a key of its own."""
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def signed(home: Path, request_of: Request) -> Request:
    publish.fn(*candidate(request_of))
    publish.fn(*candidate(request_of, release={"period": "2026-Q4"}))
    return request_of


def ours() -> Trust:
    return Trust.of_keys(installation_key().history)


@contextmanager
def someone_else(home: Path) -> Iterator[None]:
    """Let somebody with a key of their own do something."""
    aside = home.with_name("aside")
    home.rename(aside)
    try:
        yield
    finally:
        shutil.rmtree(home, ignore_errors=True)
        aside.rename(home)


# what nobody touched


def test_every_line_and_every_public_folder_is_signed(signed: Request) -> None:
    chain = Register(signed.register).chain()
    key = installation_key().public
    assert [link.key for link in chain.keys] == [key.text]
    for entry in chain.entries:
        assert entry.signature is not None
        assert key.has_signed(LINE, entry.own_hash, entry.signature)
    statement = verify(folder_of(signed)).statement
    assert statement is not None
    assert (statement.dataset, statement.period, statement.k) == ("small", "2026-Q3", 3)
    assert {"il", "dld"} <= statement.measures.keys()
    assert statement.decision.model_dump() == {"gate": "passed", "reviewers": 0}
    assert statement.checksums.keys() == {
        "data.csv", "data.parquet", "datapackage.json", "README.md", "methodology.html",
    }  # fmt: skip
    found = audit(signed.register, trust=ours())
    assert (found.faults, found.unknown) == ([], [])
    assert found.signed_with == key.fingerprint


def test_without_a_key_an_audit_and_a_verification_say_what_they_cannot_know(
    signed: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    [unknown] = audit(signed.register).unknown
    assert "without a key from the publisher (--key) it cannot be known" in unknown
    assert main(["verify", str(folder_of(signed))]) == 0
    assert "whether that is the publisher's key" in capsys.readouterr().out
    assert main(["audit", str(signed.register)]) == 0
    assert "not known" in capsys.readouterr().out


def test_the_key_is_named_by_a_file_or_by_its_fingerprint(
    signed: Request, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["key", "show"]) == 0
    shown = capsys.readouterr().out
    pem = tmp_path / "publisher.pem"
    pem.write_text(shown[shown.index("-----BEGIN") :])
    for key in (str(pem), installation_key().public.fingerprint):
        assert main(["verify", str(folder_of(signed)), "--key", key]) == 0
        assert main(["audit", str(signed.register), "--key", key]) == 0
    assert "not known" not in capsys.readouterr().out
    assert main(["audit", str(signed.register), "--key", "SHA256:" + "0" * 64]) == 13


def test_the_private_key_is_readable_by_its_owner_only(signed: Request, home: Path) -> None:
    for path in (home / "keys").iterdir():
        assert path.stat().st_mode & 0o077 == 0


# what somebody did afterwards


def rewrite_figure(request_of: Request) -> None:
    package = folder_of(request_of) / "datapackage.json"
    content = json.loads(package.read_bytes())
    content["microrelease"]["il_percent"] = content["microrelease"]["dld_percent"] = 0.01
    package.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def sign_again(folder: Path) -> None:
    """Sign the files as they are now, with another key."""
    (folder / "statement.json").unlink()
    claims = verify(folder).claims
    key = Ed25519PrivateKey.generate()
    links = (KeyLink(key=public_part(key).text),)
    statement = Statement.of(
        claims, checksums_of(open_folder(folder)), 0, links, lambda *args: sign(key, *args)
    )
    (folder / "statement.json").write_bytes(statement.encode())


def test_rewritten_figures_are_found_however_they_are_signed(signed: Request) -> None:
    folder = folder_of(signed)
    rewrite_figure(signed)
    with pytest.raises(IntegrityError, match=r"altered datapackage.json"):
        verify(folder)
    sign_again(folder)
    forged = verify(folder)
    with pytest.raises(IntegrityError, match="someone else published it"):
        check_trusted(forged.statement, ours(), str(folder))
    (folder / "statement.json").unlink()
    assert main(["verify", str(folder)]) == 0
    assert main(["verify", str(folder), "--key", str(ours())]) == 13


def date_back(content: dict[str, Any]) -> None:
    content["time"] = "2020-01-01T00:00:00+00:00"


def test_a_forged_chain_that_is_consistent_is_found_with_the_key(signed: Request) -> None:
    relink(signed, date_back, Ed25519PrivateKey.generate())
    assert audit(signed.register).faults == [], "nobody can tell without a key"
    [fault] = audit(signed.register, trust=ours()).faults
    assert "the whole register was written again by someone else" in fault


def test_a_forged_chain_without_signatures_is_found_with_the_key(signed: Request) -> None:
    relink(signed, date_back)
    found = audit(signed.register)
    assert found.faults == []
    assert "no line is signed" in found.unknown[0]
    [fault] = audit(signed.register, trust=ours()).faults
    assert "no line is signed" in fault


def test_a_line_put_in_without_the_key_is_found_even_without_it(signed: Request) -> None:
    register = Register(signed.register)
    chain = register.chain()
    forged = chain.entries[-1].model_copy(update={"previous": chain.head, "signature": None})
    register.lines.write_bytes(chain.content + forged.line + b"\n")
    assert "not signed: line 6" in audit(signed.register).faults[0]
    wrong = forged.model_copy(
        update={"signature": sign(Ed25519PrivateKey.generate(), LINE, forged.own_hash)}
    )
    register.lines.write_bytes(chain.content + wrong.line + b"\n")
    assert "not signed with the key of its time: line 6" in audit(signed.register).faults[0]


def test_a_removed_tail_is_found_with_its_attempts_and_folders_gone(signed: Request) -> None:
    lines = signed.register / "register.jsonl"
    lines.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:-2]))
    shutil.rmtree(signed.register / "attempts" / "000002-small-2026-Q4")
    shutil.rmtree(signed.public / "small" / "2026-Q4")
    for trust in (None, ours()):
        [fault] = audit(signed.register, trust=trust).faults
        assert "lines were removed at the end" in fault
    with pytest.raises(IntegrityError, match="lines were removed at the end"):
        publish.fn(*candidate(signed))
    (signed.register / "register.head").unlink()
    [fault] = audit(signed.register, trust=ours()).faults
    assert "register.head is missing" in fault


def test_a_register_that_was_emptied_is_found(signed: Request) -> None:
    (signed.register / "register.jsonl").write_bytes(b"")
    for folder in (signed.register / "attempts", signed.public):
        shutil.rmtree(folder)
    assert "lines were removed at the end" in audit(signed.register).faults[0]
    (signed.register / "register.head").unlink()
    assert audit(signed.register).faults == [], "nobody can tell without a key"
    [fault] = audit(signed.register, trust=ours()).faults
    assert "it has no line: all were removed, or no run has begun" in fault


def test_an_older_copy_of_everything_is_found_by_what_an_audit_saw(
    signed: Request, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    for folder in (signed.register, signed.public):
        shutil.copytree(folder, copy / folder.name)
    publish.fn(*candidate(signed, release={"period": "2027-Q1"}))
    keep(signed.register, own_audit(signed.register), "Ana")
    for folder in (signed.register, signed.public):
        shutil.rmtree(folder)
        shutil.copytree(copy / folder.name, folder)
    assert audit(signed.register, trust=ours()).faults == [], "it was like this once"
    for _ in range(2):
        # a fault does not become the truth because somebody saw it
        found = own_audit(signed.register)
        assert "which its last line had before" in found.faults[0]
        keep(signed.register, found, "Ana")


def test_a_register_that_was_signed_must_stay_signed(signed: Request) -> None:
    assert own_audit(signed.register).faults == []
    keep(signed.register, own_audit(signed.register), "Ana")
    relink(signed, date_back)
    assert "no line is signed" in own_audit(signed.register).faults[0]


def test_of_many_audits_the_last_ones_and_the_last_intact_one_are_kept(signed: Request) -> None:
    found = own_audit(signed.register)
    keep(signed.register, found, "Ana")
    for _ in range(KEPT + 5):
        keep(signed.register, Audit(faults=["altered"]), "Bea")
    keep(signed.folder, Audit(), "Carl")
    kept = last_audits()
    assert [each.started_by for each in kept] == ["Carl", *["Bea"] * KEPT, "Ana"]
    assert kept[-1].head == found.head


def test_a_signature_that_was_removed_from_a_release_is_found(signed: Request) -> None:
    (folder_of(signed) / "statement.json").unlink()
    for trust in (None, ours()):
        [fault] = audit(signed.register, trust=trust).faults
        assert "altered or removed statement.json" in fault


def test_a_release_that_was_lost_is_signed_again_with_the_key_of_today(signed: Request) -> None:
    shutil.rmtree(folder_of(signed))
    rotate()
    assert not publish.fn(*candidate(signed)).unchanged
    assert audit(signed.register, trust=ours()).faults == []
    (folder_of(signed) / "statement.json").unlink()
    assert "altered or removed statement.json" in audit(signed.register).faults[0]


def test_an_altered_head_is_found(signed: Request) -> None:
    head = signed.register / "register.head"
    whole = json.loads(head.read_bytes())
    for change in ({"lines": 2}, {"key": "no key"}, {"head": NO_LINE}):
        head.write_text(json.dumps({**whole, **change}))
        assert audit(signed.register).faults == ["register.head was altered"]


def test_a_dataset_that_someone_adds_to_the_public_folder_is_found(
    signed: Request, home: Path
) -> None:
    with someone_else(home):
        (signed.folder / "elsewhere").mkdir()
        other = Request(signed.folder / "elsewhere")
        publish.fn(*candidate(other))
    shutil.copytree(other.public / "small", signed.public / "added")
    found = audit(signed.register)
    assert found.faults == []
    assert "added in" in found.unknown[1]
    [fault] = audit(signed.register, trust=ours()).faults
    assert "someone else published it" in fault
    (signed.public / "added" / "2026-Q3" / "statement.json").unlink()
    [fault] = audit(signed.register, trust=ours()).faults
    assert "it is not signed" in fault
    (signed.public / "file").touch()
    assert "'file'" not in str(audit(signed.register).faults)
    assert len(audit(signed.register, trust=ours()).faults) == 2


def test_a_dataset_of_another_register_of_the_same_publisher_is_known_by_the_key(
    signed: Request,
) -> None:
    (signed.folder / "elsewhere").mkdir()
    other = Request(signed.folder / "elsewhere")
    publish.fn(*candidate(other))
    shutil.copytree(other.public / "small", signed.public / "other")
    assert audit(signed.register, trust=ours()).faults == []


def evaluated(**measures: float) -> dict[str, Any]:
    """Write the evaluation of a manifest."""
    return {"measures": measures, "records": 7, "groups": 2, "sizes": {"3": 1, "4": 1}}


def test_a_figure_of_the_gate_that_its_evaluation_contradicts_is_found(signed: Request) -> None:
    """The chain is written again around a manifest whose gate shows another figure."""

    def forge(content: dict[str, Any]) -> None:
        content["evaluation"] = evaluated(il=20.0, dld=10.0)
        content["gate"] = [
            {"measure": "il", "value": 0.5, "limit": 100.0, "floor": False, "passed": True},
            {"measure": "dld", "value": 10.0, "limit": 5.0, "floor": False, "passed": True},
            {"measure": "k", "value": 2.0, "limit": 3.0, "floor": True, "passed": False},
        ]
        content["decision"] = "blocked"
        content["spec"]["gate"]["ceilings"]["one_value"] = 50.0

    rewrite_manifest(signed, FIRST, forge)
    faults = "; ".join(audit(signed.register).faults)
    assert "it is published, but the decision was 'blocked'" in faults
    assert "the spec limits one_value to 50, but the gate did not judge it" in faults
    assert "contradicts itself: the gate judged il = 0.5, but" in faults
    assert "dld was judged against 5, but the spec asks for 100" in faults
    assert "dld = 10 passed the gate against a limit of 5" in faults
    assert "k did not pass the gate, but the release is published" in faults


def test_a_release_and_a_register_that_were_forged_together_are_found_with_the_key(
    signed: Request,
) -> None:
    """Gate, evaluation, public figures, checksums and chain all say the same."""
    rewrite_figure(signed)
    folder = folder_of(signed)
    sign_again(folder)

    def forge(content: dict[str, Any]) -> None:
        content["evaluation"] = evaluated(il=0.01, dld=0.01)
        content["public"]["checksums"] = checksums_of(open_folder(folder))

    rewrite_manifest(signed, FIRST, forge)
    assert audit(signed.register).faults == [], "nobody can tell without a key"
    assert "written again by someone else" in audit(signed.register, trust=ours()).faults[0]


def test_a_release_that_someone_adds_to_a_dataset_is_found(signed: Request) -> None:
    shutil.copytree(folder_of(signed), signed.public / "small" / "2027-Q1")
    for trust in (None, ours()):
        [fault] = audit(signed.register, trust=trust).faults
        assert "is in the public folder but not in the register" in fault


# keys change


def test_a_new_key_is_signed_by_the_old_one_and_entered_in_the_register(signed: Request) -> None:
    old = ours()
    rotate()
    new = Trust(frozenset({rotate().public.fingerprint}))
    publish.fn(*candidate(signed, release={"period": "2027-Q1"}))
    register = Register(signed.register)
    assert [entry.event for entry in register.chain().entries].count("key") == 3
    for trust in (old, new):
        assert audit(signed.register, trust=trust).faults == []
    folder = signed.public / "small" / "2027-Q1"
    for trust in (old, new):
        check_trusted(verify(folder).statement, trust, str(folder))
    with pytest.raises(IntegrityError):
        check_trusted(verify(folder_of(signed)).statement, new, "the release of the old key")


def test_a_register_is_not_continued_with_another_key_unless_somebody_enters_that(
    signed: Request, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trust = ours()
    with someone_else(home):
        with pytest.raises(RefusedError, match="signed with another key"):
            publish.fn(*candidate(signed, release={"period": "2027-Q1"}))
        assert main(["key", "adopt", str(signed.register)]) == 10
        adopt = ["key", "adopt", str(signed.register), "--reason", "lost", "--started-by", "Ana"]
        assert main(adopt) == 0
        publish.fn(*candidate(signed, release={"period": "2027-Q1"}))
        own = ours()
        assert audit(signed.register, trust=own).faults == []
    found = audit(signed.register, trust=trust)
    assert "is not signed by the key before it" in found.faults[0]
    assert "entered without the old key" in audit(signed.register).unknown[1]


def test_another_key_is_entered_after_a_torn_line_and_covers_up_no_removed_one(
    signed: Request, home: Path
) -> None:
    register = Register(signed.register)
    whole = register.lines.read_bytes()
    with someone_else(home):
        register.lines.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
        with pytest.raises(IntegrityError, match="lines were removed at the end"):
            Register(signed.register).adopt("lost", "Ana")
        register.lines.write_bytes(whole + b'{"previous"')
        Register(signed.register).adopt("lost", "Ana")
        found = audit(signed.register, trust=ours())
    assert (found.faults, found.incomplete) == ([], [])
    assert Register(signed.register).chain().entries[-1].reason == "lost"


def test_a_register_from_before_signatures_is_continued_and_covered(
    signed: Request, home: Path
) -> None:
    relink(signed, lambda _: None)
    shutil.rmtree(home)
    before = len(Register(signed.register).chain().entries)
    publish.fn(*candidate(signed, release={"period": "2027-Q1"}))
    chain = Register(signed.register).chain()
    assert [entry.event for entry in chain.entries if entry.signature is None] == [
        "publishing",
        "published",
    ] * (before // 2)
    lines = Register(signed.register).lines
    whole = lines.read_bytes()
    lines.write_bytes(whole.replace(b'"period": "2026-Q3"', b'"period": "2026-Q2"', 1))
    assert "line 1 of register.jsonl was altered" in audit(signed.register).faults[0]
    # written again around the change, the old lines are no longer those that the key covers
    lines.write_bytes(whole)
    relink(signed, date_back)
    assert "no line is signed" in audit(signed.register, trust=ours()).faults[0]


def test_a_succession_of_keys_must_be_signed() -> None:
    assert problem_with_succession([KeyLink(key="no key")]) == "a key cannot be read"
    stranger = Ed25519PrivateKey.generate()
    links = [KeyLink(key=public_part(stranger).text)] * 2
    assert "is not signed by the key before it" in (problem_with_succession(links) or "")


@pytest.mark.parametrize("damage", ["secret", "history", "gone", "kind", "other"])
def test_a_damaged_key_is_reported_in_words(home: Path, damage: str) -> None:
    installation_key()
    folder = home / "keys"
    if damage == "secret":
        (folder / "installation.pem").write_text("nonsense")
    elif damage == "history":
        (folder / "history.json").write_text("[{}]")
    elif damage == "gone":
        (folder / "installation.pem").unlink()
    elif damage == "kind":
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        other = X25519PrivateKey.generate()
        pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / "installation.pem").write_bytes(pem)
    else:
        pem = signing.private_pem(Ed25519PrivateKey.generate())
        (folder / "installation.pem").write_bytes(pem)
    with pytest.raises(IntegrityError, match="restore it from its backup"):
        installation_key()


def test_a_crash_while_the_key_changes_leaves_the_old_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = installation_key().public
    replace, written = signing.Folder.replace, []

    def stop_before_the_secret(folder: Any, name: str, content: bytes) -> None:
        written.append(name)
        if name == signing.SECRET:
            raise KeyboardInterrupt
        replace(folder, name, content)

    monkeypatch.setattr(signing.Folder, "replace", stop_before_the_secret)
    with pytest.raises(KeyboardInterrupt):
        rotate()
    monkeypatch.undo()
    monkeypatch.setenv("MICRORELEASE_HOME", str(home))
    assert installation_key().public == before
    assert rotate().history[0].key == before.text


# keys and signatures alone


def test_a_signature_is_good_for_one_message_one_purpose_and_one_key() -> None:
    key = Ed25519PrivateKey.generate()
    public = public_part(key)
    signature = sign(key, LINE, "text")
    assert public.has_signed(LINE, "text", signature)
    assert not public.has_signed(STATEMENT, "text", signature)
    assert not public.has_signed(LINE, "texts", signature)
    assert not public.has_signed(LINE, "text", "not base64!")
    assert not public_part(Ed25519PrivateKey.generate()).has_signed(LINE, "text", signature)
    assert PublicKey.of_text(public.text) == public


def test_what_is_no_key_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="or its fingerprint"):
        Trust.read(str(tmp_path / "nowhere"))
    rsa = tmp_path / "rsa.pem"
    public = generate_private_key(65537, 2048).public_key()
    rsa.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(SpecError, match="of the kind Ed25519"):
        Trust.read(str(rsa))
    rsa.write_text("-----BEGIN PUBLIC KEY-----\nnonsense\n-----END PUBLIC KEY-----\n")
    with pytest.raises(SpecError, match="of the kind Ed25519"):
        Trust.read(str(rsa))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"signature": "AAAA"}, "altered after it was signed"),
        ({"k": 9}, "altered after it was signed"),
        ({"keys": []}, "not a statement"),
        ({"keys": [{"key": "x"}]}, "not a statement"),
        ({"extra": 1}, "not a statement"),
    ],
)
def test_an_altered_statement_is_found_without_a_key(
    signed: Request, change: dict[str, Any], words: str
) -> None:
    path = folder_of(signed) / "statement.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **change}))
    with pytest.raises(IntegrityError, match=words):
        verify(folder_of(signed))


def test_a_statement_that_contradicts_the_description_is_found(signed: Request) -> None:
    folder = folder_of(signed)
    content = json.loads((folder / "statement.json").read_bytes())
    key = Ed25519PrivateKey.generate()
    stranger = {"key": public_part(key).text, "signature": ""}
    forged = Statement.model_validate(
        {**content, "k": 99, "keys": [*content["keys"], stranger], "signature": ""}
    )
    forged = forged.model_copy(update={"signature": sign(key, STATEMENT, forged.message)})
    (folder / "statement.json").write_bytes(forged.encode())
    with pytest.raises(IntegrityError, match="differ in k") as error:
        verify(folder)
    assert "is not signed by the key before it" in str(error.value)


def test_a_reviewer_draws_a_key_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bea.pem"
    assert main(["key", "new", str(path)]) == 0
    assert path.stat().st_mode & 0o077 == 0
    assert Trust.read(str(tmp_path / "bea.pub.pem")).fingerprints
    assert main(["key", "new", str(path)]) == 12
    assert main(["key", "new"]) == 10
    with pytest.raises(SpecError, match="microrelease key new"):
        signing.personal_key(tmp_path / "bea.pub.pem")
    key = signing.personal_key(path)
    written = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    (tmp_path / "id_ed25519").write_bytes(written)
    assert public_part(signing.personal_key(tmp_path / "id_ed25519")) == public_part(key)
