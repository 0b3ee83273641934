"""Reads the confidential table."""

import errno
import hashlib
from pathlib import Path

import pyarrow as pa

from algorithms.errors import DataError
from expectations.manifest import InputFacts
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
    content = content_of(path)
    read = read_table(content, spec.source, spec.columns)
    table, known = read.table, spec.columns.all
    return table, InputFacts(
        path=str(path),
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
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
    try:
        content = path.read_bytes()
    except OSError as error:
        if error.errno not in FAULTS_OF_THE_PATH:
            raise
        raise DataError(
            f"source.path must be a readable file; {str(path)!r} is not ({error.strerror})"
        ) from None
    if not content.strip():
        raise DataError(
            f"the source must have a header and rows; {str(path)!r} is empty: check source.path"
        )
    return content
