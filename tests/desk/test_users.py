"""The command `users` keeps a file of hashed passwords, by which people log in to the desk."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from expectations.signatures import public_part
from flows.cli import main
from flows.desk.app import create_app
from flows.desk.settings import DeskSettings
from tests.desk.desk import logged_in

PASSWORD, OTHER = "seven purple walruses dance", "another long phrase of words"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def users(home: Path, *words: str, password: str | None = None) -> int:
    """Call the command, with a password in a file."""
    options = []
    if password is not None:
        file = home.with_name("password")
        file.write_text(f"{password}\nsecond line", encoding="utf-8")
        options = ["--password-file", str(file)]
    return main(["users", *words, *options])


def add(home: Path, login: str = "anna", **options: Any) -> int:
    return users(home, "add", login, "--name", "Anna Berg", "--role", "reviewer", **options)


def test_a_user_who_was_added_logs_in_and_one_who_was_removed_does_not(home: Path) -> None:
    assert add(home, password=PASSWORD) == 0
    file = home / "users.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert PASSWORD not in file.read_text(encoding="utf-8")
    assert json.loads(file.read_bytes())["users"][0]["password"].startswith("$argon2id$")
    app = create_app(DeskSettings(home))
    client = logged_in(app, "anna", PASSWORD)
    assert client.get("/review").status_code == 200
    assert client.get("/users").status_code == 403
    assert users(home, "change", "anna", "--role", "administrator") == 0
    assert client.get("/review").status_code == 403
    assert client.get("/users").status_code == 200
    assert users(home, "password", "anna", password=OTHER) == 0
    assert client.get("/users").status_code == 303, "the session with the old password is over"
    client = logged_in(app, "anna", OTHER)
    assert users(home, "remove", "anna") == 0
    assert client.get("/datasets").status_code == 303
    app.state.desk.close()


def test_the_list_shows_everything_but_passwords(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["users", "list"]) == 0
    assert "there are no users" in capsys.readouterr().out
    key = Ed25519PrivateKey.generate().public_key()
    for name, encoding, kind in (
        ("pem", Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        ("ssh", Encoding.OpenSSH, PublicFormat.OpenSSH),
    ):
        (tmp_path / name).write_bytes(key.public_bytes(encoding, kind))
        words = ["add", name, "--name", f"Bea {name}", "--role", "reviewer", "--no-password"]
        assert users(home, *words, "--key", str(tmp_path / name)) == 0
    capsys.readouterr()
    assert main(["users", "list"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    assert {entry["key"] for entry in json.loads((home / "users.json").read_bytes())["users"]} == {
        (tmp_path / "pem").read_text(encoding="utf-8")
    }
    assert "Beapem" in shown
    assert "argon2" not in shown


def test_a_key_that_is_none_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(public_part(Ed25519PrivateKey.generate()).text, encoding="utf-8")
    options = ["--role", "reviewer", "--no-password", "--key", str(tmp_path / "key")]
    assert users(home, "add", "anna", "--name", "Anna", *options) == 1
    assert not (home / "users.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "anna"], "needs --name and --role"),
        (["add"], "needs a LOGIN"),
        (["list", "anna"], "takes no LOGIN"),
        (["change", "anna"], "needs --name, --role or --key"),
        (["remove", "anna", "--role", "auditor"], "takes no --role"),
        (["change", "anna", "--name", "A", "--no-password"], "takes no --no-password"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_changes_nothing(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["users", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (home / "users.json").exists()


@pytest.mark.parametrize(
    ("login", "name", "password", "code", "said"),
    [
        ("anna", "Anna", "too short", 1, "at least 12 characters; this one has 9"),
        ("anna", "Anna", "x" * 1001, 1, "at most 1000 characters"),
        ("anna", "Anna", "abababababababab", 1, "not be easy to guess"),
        ("anna", "Anna", "annaannaannaanna", 1, "not be easy to guess"),
        ("an na", "Anna", PASSWORD, 1, "a login must have 1 to 64"),
        ("anna", "x" * 101, PASSWORD, 1, "a name must have 1 to 100"),
        ("anna", "Anna\x1b[31m", PASSWORD, 1, "printable characters"),
        ("BEA", "Anna", PASSWORD, 12, "'bea' is taken"),
    ],
)
def test_a_user_who_cannot_be_is_refused_in_words(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    login: str,
    name: str,
    password: str,
    code: int,
    said: str,
) -> None:
    assert add(home, "bea", password=PASSWORD) == 0
    before = (home / "users.json").read_bytes()
    words = ["add", login, "--name", name, "--role", "auditor"]
    assert users(home, *words, password=password) == code
    error = capsys.readouterr().err
    assert said in error
    assert password not in error
    assert (home / "users.json").read_bytes() == before


@pytest.mark.parametrize("action", ["change", "password", "remove"])
def test_only_a_user_who_is_there_can_be_changed(
    home: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    words = ["--name", "Nobody"] if action == "change" else []
    password = PASSWORD if action == "password" else None
    assert users(home, action, "nobody", *words, password=password) == 12
    assert "none has the login 'nobody'" in capsys.readouterr().err


def spoiled(home: Path, change: dict[str, Any]) -> str:
    """Spoil the entry of a user; give the hash, which no message may quote."""
    file = home / "users.json"
    content = json.loads(file.read_bytes())
    password: str = content["users"][0]["password"]
    content["users"][0] |= change
    file.write_text(json.dumps(content), encoding="utf-8")
    return password


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"extra": 1}, "user 1: it must hold key, login, name, password, roles"),
        ({"password": "plain text"}, "user 1: its password must be an Argon2id hash"),
        ({"roles": []}, "user 1: a user must have at least one role"),
        ({"roles": ["king"]}, "each of them one of: engineer, reviewer"),
        ({"roles": "reviewer"}, "user 1: roles must be a list"),
        ({"login": "Anna"}, "user 1: a login must have"),
        ({"name": 7}, "user 1: login, name, password and key must be text"),
        ({"key": "none"}, "user 1: its key must be an Ed25519 public key"),
    ],
)
def test_a_faulty_file_is_named_and_left_as_it_is(
    home: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], said: str
) -> None:
    assert add(home, password=PASSWORD) == 0
    password = spoiled(home, change)
    before = (home / "users.json").read_bytes()
    for words in (["list"], ["remove", "anna"]):
        assert main(["users", *words]) == 14
        error = capsys.readouterr().err
        assert said in error
        assert password not in error
    assert (home / "users.json").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "must hold `format` and `users`"),
        (b'{"format": 2, "users": []}', "its format must be 1"),
        (b'{"format": 1, "users": {}}', "`users` must be a list"),
        (b" " * (4 * 2**20 + 1), "larger than 4,194,304 bytes"),
    ],
    ids=["json", "keys", "format", "list", "large"],
)
def test_what_is_no_file_of_users_is_named(
    home: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str
) -> None:
    home.mkdir()
    (home / "users.json").write_bytes(content)
    (home / "users.json").chmod(0o600)
    assert main(["users", "list"]) == 14
    assert said in capsys.readouterr().err


def test_a_file_that_others_can_read_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(home, password=PASSWORD) == 0
    (home / "users.json").chmod(0o644)
    assert main(["users", "list"]) == 14
    assert "use `chmod 600`" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "99999", "-1", "http", "٣"])
def test_what_is_no_port_is_refused(capsys: pytest.CaptureFixture[str], port: str) -> None:
    for words in (["desk", "--port", port], ["up", "--port", port], ["up", "--desk-port", port]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert "must be a whole number from 1 to 65535" in capsys.readouterr().err
