"""The vault: which persons each published release put into one group.

``vault/<population>/<attempt>.parquet`` in the register holds, for each person of a release, a
keyed token of its identifiers, the number of its group, and whether it was visible; nothing else.
The rows are sorted by token, and groups are numbered differently in each release. A file is written
before the line ``publishing`` and counts from the line ``published`` on; the manifest carries its
hash, and each file that of the file before.
"""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pydantic import BaseModel, ValidationError

from algorithms.errors import IntegrityError
from algorithms.types import Labels, Mask
from expectations.manifest import OPEN
from tasks.store.disk import Folder
from tasks.store.vault_key import TOKEN, TOKEN_BYTES, Tokens

VAULT = "vault"
ENDING = ".parquet"
FORMAT = 1
"""The format that is written."""
HEADER = b"microrelease"
"""Key of the header in the metadata of the file."""
SCHEMA = pa.schema(
    [("token", pa.binary(TOKEN_BYTES)), ("group", pa.uint32()), ("visible", pa.bool_())]
)


class Header(BaseModel):
    """What a vault file says about itself."""

    model_config = OPEN

    format: int = FORMAT
    population: str
    dataset: str
    period: str
    revision: int
    k: int
    key: str
    """Fingerprint of the key."""
    data_sha256: str
    """SHA-256 of the public data.csv."""
    previous: str
    """SHA-256 of the vault file that was published before; empty for the first."""


@dataclass(frozen=True, eq=False)
class Members:
    """The persons of a release, sorted by token.

    Attributes
    ----------
    tokens : Tokens of shape (n,)
        All different.
    groups : Labels of shape (n,)
        Group of each person.
    visible : Mask of shape (n,)
        Whether the person's confidential and other columns were published.
    """

    tokens: Tokens
    groups: Labels
    visible: Mask


def encode(header: Header, members: Members) -> bytes:
    """Write a vault file; the same content gives the same bytes."""
    order = np.argsort(members.tokens)
    buffers = [None, pa.py_buffer(members.tokens[order].tobytes())]
    table = pa.table(
        [
            pa.Array.from_buffers(pa.binary(TOKEN_BYTES), len(order), buffers),
            pa.array(members.groups[order].astype(np.uint32)),
            pa.array(members.visible[order]),
        ],
        schema=SCHEMA.with_metadata({HEADER: header.model_dump_json().encode()}),
    )
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def decode(content: bytes, name: str) -> tuple[Header, Members]:
    """Read a vault file.

    Raises
    ------
    IntegrityError
        If it is not a vault file, or is in a format of a later version.
    """
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(content))
        header = Header.model_validate_json((table.schema.metadata or {})[HEADER])
        if header.format > FORMAT:
            raise IntegrityError(
                f"a vault file must be in a format that this version reads (1 to {FORMAT}); {name} "
                f"is in format {header.format}: use a later version of microrelease"
            )
        whole = table.select(SCHEMA.names).cast(SCHEMA).combine_chunks()
    except (pa.ArrowException, ValidationError, KeyError, ValueError):
        raise IntegrityError(f"{name} is not a vault file") from None
    tokens = b"".join(whole["token"].to_pylist())
    return header, Members(
        np.frombuffer(tokens, dtype=TOKEN),
        whole["group"].to_numpy().astype(np.int64),
        whole["visible"].to_numpy(),
    )


def file_of(population: str, attempt: str) -> str:
    """Name the vault file of an attempt within the register."""
    return f"{VAULT}/{population}/{attempt}{ENDING}"


def keep(root: Folder, population: str, attempt: str, content: bytes) -> None:
    """Write the vault file of an attempt into an open register, whole or not at all."""
    name = f"{attempt}{ENDING}"
    with root.within(VAULT, make=True) as vault:
        with vault.within(population, make=True) as folder:
            folder.write(f".{name}", content)
            folder.move(f".{name}", folder, name)
            folder.flush()
        vault.flush()
    root.flush()


def read(root: Folder, file: str) -> bytes | None:
    """Read a vault file, named as in a manifest; None if it is missing."""
    _, population, name = file.split("/")
    if not root.holds_folder(VAULT):
        return None
    with root.within(VAULT) as vault:
        if not vault.holds_folder(population):
            return None
        with vault.within(population) as folder:
            return folder.read(name)


def files(root: Folder) -> Iterator[tuple[str, str]]:
    """List the population and the name of every file in the vault, partial ones too."""
    if not root.holds_folder(VAULT):
        return
    with root.within(VAULT) as vault:
        for population in filter(vault.holds_folder, vault.names()):
            with vault.within(population) as folder:
                yield from [(population, name) for name in folder.names()]


def remove(root: Folder, population: str, name: str) -> None:
    """Remove a file from the vault."""
    with root.within(VAULT) as vault, vault.within(population) as folder:
        folder.remove(name)
        folder.flush()


def sha256(content: bytes) -> str:
    """Compute the hash that names a vault file."""
    return hashlib.sha256(content).hexdigest()
