"""The key of a vault, and the tokens that it makes of identifiers.

Without the key a token means nothing. With it, and with a list of identifiers, anyone can tell who
was in which release and with whom.
"""

import hmac
import secrets
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from algorithms.errors import ContractError, IntegrityError, RefusedError
from algorithms.types import Labels
from tasks.store.disk import PRIVATE, opened

SIZE = 32
"""Bytes of a key."""
WHAT = "the folder of vault_key"
TOKEN_BYTES = 16
TOKEN = np.dtype(f"S{TOKEN_BYTES}")
"""Tokens as numpy sorts and compares them; their bytes, also zeros at the end, are all kept."""

Tokens = NDArray[np.bytes_]

# a token starts with the name of a population, which is never empty
FINGERPRINT, GROUP = b"\0fingerprint", b"\0group\0"


@dataclass(frozen=True)
class Key:
    """The secret of a vault."""

    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> "Key":
        """Draw a key that nobody knows."""
        return cls(secrets.token_bytes(SIZE))

    @property
    def fingerprint(self) -> str:
        """A name for the key, which is of no use for guessing it."""
        return self._digest(FINGERPRINT)[:TOKEN_BYTES].hex()

    def tokens(self, identifiers: pa.Table, population: str) -> Tokens:
        """Give each row the token of its identifiers within a population.

        Parameters
        ----------
        identifiers : pyarrow.Table
            The columns of identifiers, complete and different for every record.
        population : str
            Name of the persons.
        """
        head = population.encode() + b"\0"
        columns = [_written(identifiers[name]) for name in sorted(identifiers.column_names)]
        parts = [
            self._digest(head + _joined(row))[:TOKEN_BYTES] for row in zip(*columns, strict=True)
        ]
        tokens = np.frombuffer(b"".join(parts), dtype=TOKEN)
        if np.unique(tokens).size != tokens.size:
            raise ContractError("every record must have identifiers of its own; some share theirs")
        return tokens

    def numbered(self, groups: Labels, tokens: Tokens, edition: str) -> Labels:
        """Give groups numbers from 0 in an order that reveals nothing and is always the same.

        Parameters
        ----------
        groups : Labels of shape (n,)
            The group of each person, numbered from 0.
        tokens : Tokens of shape (n,)
            The token of each person.
        edition : str
            Name of the release, so that a group has different numbers in different releases.
        """
        order = np.lexsort((tokens, groups))
        firsts = order[np.searchsorted(groups[order], np.arange(groups.max() + 1))]
        head = GROUP + edition.encode() + b"\0"
        places = [self._digest(head + tokens[[first]].tobytes()) for first in firsts]
        numbers = np.empty(len(places), dtype=np.int64)
        numbers[sorted(range(len(places)), key=places.__getitem__)] = np.arange(len(places))
        return numbers[groups]

    def _digest(self, message: bytes) -> bytes:
        return hmac.digest(self.secret, message, "sha256")


def _written(column: pa.ChunkedArray) -> list[bytes]:
    """Write identifiers as text, so that a number is the same in every kind of source."""
    cells: list[bytes] = pc.cast(column, pa.string()).cast(pa.binary()).to_pylist()
    return cells


def _joined(cells: Iterable[bytes]) -> bytes:
    """Join cells so that no two rows give the same bytes."""
    return b"".join(len(cell).to_bytes(4, "big") + cell for cell in cells)


def read_key(path: Path) -> Key | None:
    """Read a key; None if there is no such file.

    Raises
    ------
    IntegrityError
        If the file holds something else.
    """
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(secret) != SIZE:
        raise IntegrityError(
            f"the key of a vault must be {SIZE} bytes; {str(path)!r} holds {len(secret)}: restore "
            "it from its backup"
        )
    return Key(secret)


def keep_key(key: Key, path: Path) -> None:
    """Write a key whole, readable by its owner only, unless it is kept already.

    Raises
    ------
    RefusedError
        If another key has been written there.
    """
    kept = read_key(path)
    if kept is None:
        partial = f".{path.name}.partial"
        with opened(path.parent, WHAT, PRIVATE) as folder:
            if folder.has(partial):
                folder.remove(partial)
            folder.write(partial, key.secret)
            folder.move(partial, folder, path.name)
            folder.flush()
    elif kept != key:
        raise RefusedError(
            f"the key of a vault must stay the same during a run; {str(path)!r} has changed: run "
            "the release again"
        )


def exposed(path: Path) -> tuple[str, ...]:
    """Warn of a key that other accounts can read."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ()
    if not mode & (stat.S_IRGRP | stat.S_IROTH):
        return ()
    return (
        f"the key of the vault should be readable by its owner only; other accounts can read "
        f"{str(path)!r}: set its mode to 0600",
    )
