"""Ed25519 signatures, and the keys that somebody trusts.

Every signature is made for one purpose, so that one made for a line of a register is never valid
for a public statement. A key hands over to the next one by signing it; a reader who trusts one of
them can follow these signatures to the key of today.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import BaseModel, ConfigDict

from algorithms.errors import SpecError

LINE, HEAD, STATEMENT, SUCCESSOR, DECISION = "line", "head", "statement", "successor", "decision"
"""What a signature can be for."""

FINGERPRINT = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)
PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)


@dataclass(frozen=True)
class PublicKey:
    """A public key, which anyone may know."""

    raw: bytes

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Read a key from base64.

        Raises
        ------
        ValueError
            If it is not a key.
        """
        raw = base64.b64decode(text, validate=True)
        Ed25519PublicKey.from_public_bytes(raw)
        return cls(raw)

    @classmethod
    def of_pem(cls, pem: bytes) -> Self:
        """Read a key from PEM.

        Raises
        ------
        SpecError
            If it is not an Ed25519 key.
        """
        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise SpecError(
                "a public key must be of the kind Ed25519; this file holds another kind"
            )
        return cls(key.public_bytes_raw())

    @property
    def text(self) -> str:
        """The key in base64."""
        return base64.b64encode(self.raw).decode()

    @property
    def fingerprint(self) -> str:
        """A short name of the key, which can be read out or printed."""
        return f"SHA256:{hashlib.sha256(self.raw).hexdigest()}"

    def has_signed(self, purpose: str, message: str, signature: str) -> bool:
        """Return whether a signature of this message, for this purpose, is by this key."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(
                base64.b64decode(signature, validate=True), _signed(purpose, message)
            )
        except (InvalidSignature, ValueError):
            return False
        return True


def sign(key: Ed25519PrivateKey, purpose: str, message: str) -> str:
    """Sign a message for one purpose."""
    return base64.b64encode(key.sign(_signed(purpose, message))).decode()


def public_part(key: Ed25519PrivateKey) -> PublicKey:
    """Give the public key that belongs to a private one."""
    return PublicKey(key.public_key().public_bytes_raw())


def _signed(purpose: str, message: str) -> bytes:
    return f"microrelease {purpose}\n{message}".encode()


def canonical(content: Mapping[str, Any]) -> str:
    """Write JSON in the one form that is signed."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


class KeyLink(BaseModel):
    """One key of an installation, signed by the key before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    signature: str = ""
    """By the key before; empty for the first."""


def problem_with_succession(links: Sequence[KeyLink]) -> str | None:
    """Describe the first key that was not signed by the one before it; None if all were."""
    try:
        keys = [PublicKey.of_text(link.key) for link in links]
    except ValueError:
        return "a key cannot be read"
    for before, key, link in zip(keys, keys[1:], links[1:], strict=False):
        if not before.has_signed(SUCCESSOR, key.text, link.signature):
            return f"key {key.fingerprint} is not signed by the key before it"
    return None


@dataclass(frozen=True)
class Trust:
    """The keys that somebody trusts, by their fingerprints."""

    fingerprints: frozenset[str]

    @classmethod
    def of_keys(cls, links: Sequence[KeyLink]) -> Self:
        """Trust the keys of an installation."""
        return cls(frozenset(PublicKey.of_text(link.key).fingerprint for link in links))

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a fingerprint, or the name of a PEM file with one or more public keys.

        Raises
        ------
        SpecError
            If it is neither.
        """
        if match := FINGERPRINT.fullmatch(text.strip()):
            return cls(frozenset({f"SHA256:{match[1].lower()}"}))
        try:
            found = [PublicKey.of_pem(pem) for pem in PEM.findall(Path(text).read_bytes())]
        except OSError:
            found = []
        if not found:
            raise SpecError(
                "a key must be a PEM file with an Ed25519 public key, or its fingerprint "
                f"(SHA256: and 64 hexadecimal digits); {text!r} is neither: ask the publisher for "
                "it, who reads it with `microrelease key show`"
            )
        return cls(frozenset(key.fingerprint for key in found))

    def with_keys(self, links: Sequence[KeyLink]) -> Self:
        """Trust other keys too, such as those that a trusted key handed over to."""
        return type(self)(self.fingerprints | self.of_keys(links).fingerprints)

    def covers(self, keys: Sequence[str]) -> bool:
        """Return whether one of these keys, in base64, is trusted."""
        return any(PublicKey.of_text(key).fingerprint in self.fingerprints for key in keys)

    def __str__(self) -> str:
        return " or ".join(sorted(self.fingerprints))
