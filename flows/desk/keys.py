"""Public keys of reviewers."""

import base64
import hashlib

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
    load_ssh_public_key,
)

from algorithms.errors import ReleaseError


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


def fingerprint(key: str) -> str:
    """Return the fingerprint of a public key, as `ssh-keygen -l` shows it."""
    loaded = load_pem_public_key(key.encode())
    line = loaded.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
