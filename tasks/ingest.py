"""Reads the confidential table."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from algorithms.errors import DataError
from expectations.manifest import InputFacts
from expectations.published.files import OpenFile
from expectations.request.sections.database import DatabaseSection
from expectations.request.spec import ReleaseSpec
from tasks.sources.fingerprint import fingerprint
from tasks.sources.table import read_table
from tasks.stage import stage

FAULTS_OF_THE_PATH = {
    errno.ENOENT,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EACCES,
    errno.EPERM,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}
"""Errors of the path; all other errors may be temporary and are retried."""


@stage(name="ingest", retries=2)
def ingest(spec: ReleaseSpec) -> tuple[pa.Table, InputFacts]:
    """Read the source once, and compute the checksum of the bytes or the table that was read."""
    return read_source(spec)


def read_source(spec: ReleaseSpec) -> tuple[pa.Table, InputFacts]:
    """Read the source of a spec as `ingest` does, within another stage."""
    if isinstance(spec.source, DatabaseSection):
        from tasks.sources.databases.table import read_database

        return read_database(spec)
    path = spec.source.path
    with _path_in_words(path):
        file = _opened(path)
    if not any(block.strip() for block in file.blocks()):
        raise _empty(path)
    read = read_table(file, spec.source, spec.columns)
    table, known = read.table, spec.columns.all
    return table, InputFacts(
        path=str(path),
        sha256=file.sha256,
        bytes=file.size,
        rows=table.num_rows,
        columns=table.num_columns,
        content=fingerprint(table),
        # a damaged file may have a record in place of the names
        declared_missing={name: n for name, n in read.declared_missing.items() if name in known},
        missing_codes=read.missing_codes,
    )


def connection_warnings(spec: ReleaseSpec) -> tuple[str, ...]:
    """Warn of a connection that other accounts can read."""
    if not isinstance(spec.source, DatabaseSection):
        return ()
    from tasks.sources.databases.connections import exposed

    return exposed(spec.source.database)


def content_of(path: Path) -> bytes:
    """Read the bytes of a file.

    Raises
    ------
    DataError
        If its path is wrong, or it is empty.
    """
    with _path_in_words(path):
        content = path.read_bytes()
    if not content.strip():
        raise _empty(path)
    return content


def _opened(path: Path) -> OpenFile:
    """Open a file, and hash it in a stream."""
    # a pipe must not make a run wait, and cannot be read again
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _unreadable(path, "Is a directory" if stat.S_ISDIR(mode) else "Not a regular file")
    changed = DataError(
        f"the source must not change while it is read; {str(path)!r} did: run again when the file "
        "is complete"
    )
    return OpenFile(handle, path.name, changed)


@contextmanager
def _path_in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FAULTS_OF_THE_PATH:
            raise
        raise _unreadable(path, error.strerror) from None


def _unreadable(path: Path, why: str | None) -> DataError:
    return DataError(f"source.path must be a readable file; {str(path)!r} is not ({why})")


def _empty(path: Path) -> DataError:
    return DataError(
        f"the source must have a header and rows; {str(path)!r} is empty: check source.path"
    )
