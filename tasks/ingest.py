"""Reads the confidential table."""

import pyarrow as pa

from expectations.manifest import InputFacts
from expectations.request.sections.database import DatabaseSection
from expectations.request.spec import ReleaseSpec
from tasks.compute.engine import Engine
from tasks.listening import report
from tasks.sources.fingerprint import fingerprint
from tasks.sources.opening import opened_source
from tasks.sources.table import read_table
from tasks.stage import stage
from tasks.streamed.source import StreamedSource, is_streamed, stream_source


@stage(name="ingest", retries=2)
def ingest(
    spec: ReleaseSpec, engine: Engine | None = None
) -> tuple[pa.Table | StreamedSource, InputFacts]:
    """Read the source once, and compute the checksum of the bytes or the table that was read.

    With an engine, a source that is too large for memory is read into its store.
    """
    if engine is not None and is_streamed(spec):
        return stream_source(spec, engine, report)
    return read_source(spec)


def read_source(spec: ReleaseSpec) -> tuple[pa.Table, InputFacts]:
    """Read the source of a spec as `ingest` does, within another stage."""
    if isinstance(spec.source, DatabaseSection):
        from tasks.sources.databases.table import read_database

        return read_database(spec)
    path = spec.source.path
    file = opened_source(path)
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
