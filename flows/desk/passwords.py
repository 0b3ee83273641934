"""Passwords: hashed with Argon2id, one at a time."""

import asyncio
import os
import unicodedata
from concurrent.futures import ThreadPoolExecutor

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

LEAST_CHARACTERS, MOST_CHARACTERS = 12, 1000
MEMORY_KIB = 64 * 1024
ITERATIONS = 3
LANES = 4
MOST_WAITING = 32
"""Number of passwords that may wait to be verified; each takes a fraction of a second."""

NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXRoaW5nIHJhbmRvbQ"
    "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
"""The hash of no password; comparing with it takes as long as with any other."""


def hashed(password: str) -> str:
    """Hash a password with a random salt, as text that also holds the costs."""
    kdf = Argon2id(
        salt=os.urandom(16),
        length=32,
        iterations=ITERATIONS,
        lanes=LANES,
        memory_cost=MEMORY_KIB,
    )
    return kdf.derive_phc_encoded(_bytes(password))


def matches(password: str, password_hash: str) -> bool:
    """Return whether a password has this hash."""
    try:
        Argon2id.verify_phc_encoded(_bytes(password), password_hash)
    except (InvalidKey, ValueError):
        return False
    return True


def _bytes(password: str) -> bytes:
    """Encode a password; keyboards and systems compose accents differently."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", errors="surrogatepass")


class BusyError(Exception):
    """Too many passwords wait to be verified."""


class Verifier:
    """Verifies passwords one at a time, in a thread of its own.

    A verification takes 64 MiB, so that many at once would exhaust the memory.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="passwords")
        self._waiting = 0

    async def verify(self, password: str, password_hash: str | None) -> bool:
        """Return whether a password is right; without a hash, it is wrong after the same time.

        Raises
        ------
        BusyError
            If too many others wait.
        """
        if self._waiting >= MOST_WAITING:
            raise BusyError
        self._waiting += 1
        try:
            is_right = await asyncio.get_running_loop().run_in_executor(
                self._thread, matches, password, password_hash or NOBODY
            )
        finally:
            self._waiting -= 1
        return is_right and password_hash is not None

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)
