"""Public keys of reviewers."""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
    load_ssh_public_key,
)

from algorithms.errors import ReleaseError
from expectations.signatures import PublicKey
from flows.desk.user import User


def public_key(text: str) -> str:
    """Read an Ed25519 public key, as PEM or as OpenSSH writes it; return it as PEM.

    Raises
    ------
    ReleaseError
        If the text is not such a key.
    """
    content = text.strip().encode()
    load = load_ssh_public_key if content.startswith(b"ssh-") else load_pem_public_key
    try:
        key = load(content)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ReleaseError(
            "the key of a reviewer must be an Ed25519 public key, as PEM or as a line that starts "
            "with ssh-ed25519; the file holds something else: make one with "
            "`openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`"
        )
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def own_key(user: User) -> PublicKey | None:
    """Give the key with which a user must sign decisions; None if the user has none."""
    return PublicKey.of_pem(user.key.encode()) if user.key else None
