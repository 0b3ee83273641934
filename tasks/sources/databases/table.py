"""Reads the table of a query, in the order and form of a CSV file with the same content."""

import pyarrow as pa
import pyarrow.compute as pc

from algorithms.errors import DataError, SpecError
from expectations.manifest import DatabaseFacts, InputFacts
from expectations.numbers import lossless
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.database import DatabaseSection
from expectations.request.sections.publication import lies_within
from expectations.request.spec import ReleaseSpec
from tasks.sources.databases import sqlite
from tasks.sources.databases.connections import find
from tasks.sources.databases.faults import in_words
from tasks.sources.fingerprint import fingerprint
from tasks.sources.table import checked


def read_database(spec: ReleaseSpec) -> tuple[pa.Table, InputFacts]:
    """Read the query of a spec in one transaction.

    Raises
    ------
    SpecError
        If there is no such connection.
    DataError
        If the database refuses the connection or the query, or has columns that cannot be
        published.
    StorageError
        If the database does not answer; this may be temporary.
    """
    source = spec.source
    assert isinstance(source, DatabaseSection)
    engine, address = find(source.database)
    if engine is sqlite.ENGINE and lies_within(
        sqlite.file_of(address), spec.publication.public_folder
    ):
        raise SpecError(
            "the database must lie outside public_folder; its file lies inside: move the file"
        )
    with in_words(source.database), engine.snapshot(address) as snapshot:
        read = snapshot.read(source.statement, str(spec.release.period))
        _check_text(read)
    table = as_csv(checked(read, spec.columns), spec.columns)
    content = fingerprint(table)
    return table, InputFacts(
        sha256=content,
        content=content,
        rows=table.num_rows,
        columns=table.num_columns,
        database=DatabaseFacts(
            connection=source.database,
            engine=engine.name,
            version=snapshot.version,
            snapshot=snapshot.time,
            query_sha256=source.query_sha256,
        ),
    )


def _check_text(table: pa.Table) -> None:
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError(
            "the text that a query gives must be UTF-8; some of it is not: convert it in "
            "source.query"
        ) from None


def as_csv(table: pa.Table, columns: ColumnsSection) -> pa.Table:
    """Give a table the types and an order that its CSV file has, so that both release the same.

    A database has no order of rows, and methods depend on it: rows are sorted by their identifiers,
    then by all other columns.
    """
    if not table.column_names:
        return table
    text = pa.table(
        [pc.cast(column, pa.string()) for column in table.columns], names=table.column_names
    )
    text = text.take(_order(text, columns))
    plain = [name for name in columns.untouched if name not in columns.hierarchies]
    cells = [_read(text[name], name in plain) for name in text.column_names]
    return pa.table(cells, names=text.column_names)


def _read(text: pa.ChunkedArray, may_be_numbers: bool) -> pa.ChunkedArray:
    numbers = lossless(text) if may_be_numbers else None
    return text if numbers is None else numbers


def _order(text: pa.Table, columns: ColumnsSection) -> pa.Array:
    """Order rows by identifiers and the unit, as numbers if all are, and then by all columns."""
    first = [*columns.identifiers, *(() if columns.unit is None else (columns.unit,))]
    keys = [_read(text[name], True) for name in first if name in text.column_names]
    keys += [text[name] for name in sorted(text.column_names)]
    table = pa.table(keys, names=[str(number) for number in range(len(keys))])
    return pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
