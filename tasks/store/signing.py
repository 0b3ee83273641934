"""The key of this installation, with which it signs registers and public folders.

``keys`` in the folder of the installation holds the private key of today, readable by its owner
only, and the public keys of all times, each signed by the one before it. The key is drawn when it
is first needed.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)
from pydantic import TypeAdapter, ValidationError

from algorithms.errors import IntegrityError, RefusedError, SpecError
from expectations.signatures import (
    SUCCESSOR,
    KeyLink,
    PublicKey,
    problem_with_succession,
    public_part,
    sign,
)
from tasks.store.disk import PRIVATE, Folder, make_folder, opened
from tasks.store.home import WHAT as HOME_FOLDER
from tasks.store.home import default_home

KEYS, SECRET, HISTORY = "keys", "installation.pem", "history.json"
WHAT = "the folder of keys"
OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"
LINKS = TypeAdapter(tuple[KeyLink, ...])


@dataclass(frozen=True)
class Signer:
    """The key of an installation, and the keys before it."""

    secret: Ed25519PrivateKey = field(repr=False)
    history: tuple[KeyLink, ...]

    @property
    def public(self) -> PublicKey:
        """The public part of the key of today."""
        return public_part(self.secret)

    def sign(self, purpose: str, message: str) -> str:
        """Sign a message for one purpose."""
        return sign(self.secret, purpose, message)

    def since(self, key: str) -> tuple[KeyLink, ...] | None:
        """Give the keys that came after another; None if that is not one of this installation."""
        keys = [link.key for link in self.history]
        return self.history[keys.index(key) + 1 :] if key in keys else None


def keys_folder() -> Path:
    """Name the folder of the keys of this installation."""
    return default_home() / KEYS


def installation_key() -> Signer:
    """Read the key of this installation; draw it if there is none.

    Raises
    ------
    IntegrityError
        If the key cannot be read, or the list of keys is not its own.
    StorageError
        If the folder cannot be written.
    """
    with _keys() as folder:
        if not folder.has(SECRET):
            if folder.has(HISTORY):
                raise _unreadable(f"{SECRET} is gone")
            _keep(folder, _new_signer(()))
        return _read(folder)


def rotate() -> Signer:
    """Draw a new key, have the old one sign it, and forget the old one.

    Each register gets a line about it with the next line that is written there.
    """
    installation_key()
    with _keys() as folder:
        old = _read(folder)
        new = _new_signer(old.history, old)
        _keep(folder, new)
        return new


@contextmanager
def _keys() -> Iterator[Folder]:
    make_folder(default_home(), HOME_FOLDER, PRIVATE.folder)
    with opened(keys_folder(), WHAT, PRIVATE) as folder, folder.locked():
        yield folder


def _new_signer(history: tuple[KeyLink, ...], old: Signer | None = None) -> Signer:
    secret = Ed25519PrivateKey.generate()
    key = public_part(secret).text
    link = KeyLink(key=key, signature="" if old is None else old.sign(SUCCESSOR, key))
    return Signer(secret, (*history, link))


def _keep(folder: Folder, signer: Signer) -> None:
    """Replace both files; after a crash in between, reading puts the list in order."""
    links = json.dumps([link.model_dump() for link in signer.history], indent=2) + "\n"
    for name, content in ((HISTORY, links.encode()), (SECRET, private_pem(signer.secret))):
        folder.replace(name, content)
    folder.flush()


def _read(folder: Folder) -> Signer:
    pem, links = folder.read(SECRET), folder.read(HISTORY)
    if pem is None or links is None:
        raise _unreadable(f"{HISTORY if links is None else SECRET} is gone")
    try:
        secret = load_pem_private_key(pem, password=None)
        history = LINKS.validate_json(links)
    except (ValueError, TypeError, UnsupportedAlgorithm, ValidationError):
        raise _unreadable("a file is damaged") from None
    if not isinstance(secret, Ed25519PrivateKey):
        raise _unreadable(f"{SECRET} holds a key of another kind")
    keys = [link.key for link in history]
    own = public_part(secret).text
    if own not in keys:
        raise _unreadable(f"{HISTORY} does not list it")
    if problem := problem_with_succession(history):
        raise _unreadable(problem)
    # a crash while the key was changed leaves the list one key ahead
    return Signer(secret, history[: keys.index(own) + 1])


def _unreadable(why: str) -> IntegrityError:
    return IntegrityError(
        f"the key of the installation must be whole; {str(keys_folder())!r} is not: {why}: restore "
        "it from its backup"
    )


def private_pem(key: Ed25519PrivateKey) -> bytes:
    """Write a private key as PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key: Ed25519PrivateKey) -> bytes:
    """Write a public key as PEM."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def new_personal_key(path: Path) -> PublicKey:
    """Draw a reviewer's own key, and write both its parts.

    Raises
    ------
    RefusedError
        If there is a file of that name.
    """
    key = Ed25519PrivateKey.generate()
    public = path.with_suffix(".pub.pem")
    with opened(path.absolute().parent, "the folder of the key", PRIVATE, make=False) as folder:
        for taken in (path.name, public.name):
            if folder.has(taken):
                raise RefusedError(f"a key is never overwritten; {taken!r} exists: name another")
        folder.write(path.name, private_pem(key))
        folder.write(public.name, public_pem(key))
    return public_part(key)


def personal_key(path: Path) -> Ed25519PrivateKey:
    """Read a reviewer's own key, as PEM or as OpenSSH writes it.

    Raises
    ------
    SpecError
        If the file does not hold one.
    """
    try:
        content = path.read_bytes()
        load = load_ssh_private_key if OPENSSH in content else load_pem_private_key
        key = load(content, password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise SpecError(
            "the key of a reviewer must be a file with an Ed25519 key and without a passphrase; "
            f"{str(path)!r} is not: make one with `microrelease key new`"
        )
    return key
