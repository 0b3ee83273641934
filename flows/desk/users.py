"""The file of users: read again whenever it changes, written completely or not at all."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from algorithms.errors import ReleaseError, StorageError
from flows.desk.keys import public_key
from flows.desk.user import ROLES, User
from tasks.store.disk import PRIVATE, opened
from tasks.store.home import WHAT

FORMAT = 1
MOST_BYTES = 4 * 1024 * 1024
LOGIN = re.compile(r"[a-z0-9](?:[a-z0-9._@-]{0,62}[a-z0-9])?")
"""What a login looks like; upper and lower case are not told apart."""
MOST_NAME = 100


@dataclass(frozen=True)
class Account:
    """A user and the hash of the password.

    Attributes
    ----------
    user : User
        The person.
    password : str
        Hash of the password; empty for a user whom only a trusted proxy can name.
    """

    user: User
    password: str = field(default="", repr=False)

    @property
    def stamp(self) -> str:
        """A text that differs for another password, and reveals none."""
        return hashlib.sha256(self.password.encode()).hexdigest()


class Users:
    """The users in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._version: tuple[int, ...] | None = None
        self._accounts: Mapping[str, Account] = {}

    def accounts(self) -> Mapping[str, Account]:
        """Return all users by their login; there are none if there is no file.

        Raises
        ------
        StorageError
            If the file cannot be read or is faulty.
        """
        with self._lock:
            try:
                version = _version(self.path)
                if version is None:
                    return {}
                if version != self._version:
                    self._accounts = parsed(self.path)
                    self._version = version
            except StorageError:
                self._version = None
                raise
            return self._accounts

    def find(self, login: str) -> Account | None:
        """Find a user by the login, written in upper or lower case.

        Raises
        ------
        StorageError
            If the file cannot be read or is faulty.
        """
        return self.accounts().get(login.strip().lower())

    @contextmanager
    def changing(self) -> Iterator[dict[str, Account]]:
        """Lock the file, let the caller change the users, and write them.

        Raises
        ------
        StorageError
            If the file cannot be read or written, or is faulty.
        """
        with opened(self.path.parent, WHAT, PRIVATE) as folder, folder.locked():
            accounts = dict(self.accounts())
            yield accounts
            folder.replace(self.path.name, text(accounts).encode())
            folder.flush()


def _version(path: Path) -> tuple[int, ...] | None:
    """Return what changes whenever the file does; None if there is no file."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from None
    if state.st_mode & 0o077:
        raise _unreadable(path, "others than its owner can read or write it; use `chmod 600`")
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def text(accounts: Mapping[str, Account]) -> str:
    """Write users as JSON."""
    users = [
        {
            "login": login,
            "name": account.user.name,
            "roles": [role for role in ROLES if role in account.user.roles],
            "password": account.password,
            "key": account.user.key,
        }
        for login, account in sorted(accounts.items())
    ]
    return json.dumps({"format": FORMAT, "users": users}, indent=1, ensure_ascii=False) + "\n"


def parsed(path: Path) -> dict[str, Account]:
    """Read and check a file of users.

    Raises
    ------
    StorageError
        If it cannot be read or is faulty; the message never quotes a hash.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise _unreadable(path, f"it is larger than {MOST_BYTES:,} bytes")
        document = json.loads(content)
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from None
    except (ValueError, RecursionError):
        raise _unreadable(path, "it is not valid JSON") from None
    if not (isinstance(document, dict) and set(document) == {"format", "users"}):
        raise _unreadable(path, "it must hold `format` and `users`, and nothing else")
    if document["format"] != FORMAT:
        raise _unreadable(path, f"its format must be {FORMAT}")
    if not isinstance(document["users"], list):
        raise _unreadable(path, "`users` must be a list")
    accounts: dict[str, Account] = {}
    for number, entry in enumerate(document["users"], start=1):
        fault = _fault(entry)
        if not fault and entry["login"] in accounts:
            fault = "its login is used twice"
        if fault:
            raise _unreadable(path, f"user {number}: {fault}")
        user = User(entry["login"], entry["name"], frozenset(entry["roles"]), entry["key"])
        accounts[user.login] = Account(user, entry["password"])
    return accounts


def _fault(entry: Any) -> str:
    """Say what is wrong with an entry; empty if nothing is."""
    keys = {"login", "name", "roles", "password", "key"}
    if not isinstance(entry, dict) or set(entry) != keys:
        return f"it must hold {', '.join(sorted(keys))}, and nothing else"
    if not all(isinstance(entry[key], str) for key in keys - {"roles"}):
        return "login, name, password and key must be text"
    if not isinstance(entry["roles"], list):
        return "roles must be a list"
    if entry["password"] and not entry["password"].startswith("$argon2id$"):
        return "its password must be an Argon2id hash, or empty"
    return (
        login_fault(entry["login"])
        or name_fault(entry["name"])
        or roles_fault(entry["roles"])
        or _key_fault(entry["key"])
    )


def login_fault(login: str) -> str:
    """Say what is wrong with a login; empty if nothing is.

    Examples
    --------
    >>> login_fault("anna.b@example.org")
    ''
    """
    if LOGIN.fullmatch(login):
        return ""
    return (
        "a login must have 1 to 64 of the characters a-z, 0-9, dot, underscore, hyphen and @, and "
        "start and end with a letter or digit"
    )


def name_fault(name: str) -> str:
    """Say what is wrong with the name of a person; empty if nothing is."""
    if 0 < len(name) <= MOST_NAME and name.isprintable() and name == name.strip():
        return ""
    return f"a name must have 1 to {MOST_NAME} printable characters, and no space at its ends"


def roles_fault(roles: list[Any]) -> str:
    """Say what is wrong with a list of roles; empty if nothing is."""
    if roles and all(role in ROLES for role in roles):
        return ""
    return f"a user must have at least one role, each of them one of: {', '.join(ROLES)}"


def _key_fault(key: str) -> str:
    if not key:
        return ""
    try:
        return "" if public_key(key) == key else "its key must be PEM text"
    except ReleaseError:
        return "its key must be an Ed25519 public key, or empty"


def _unreadable(path: Path, why: str) -> StorageError:
    return StorageError(
        f"the file of users must be readable and valid, or nobody can log in; {str(path)!r} is not "
        f"({why}): restore it from a backup, or remove it and add the users again"
    )
