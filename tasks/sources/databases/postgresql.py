"""Reads queries from PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import SecretStr

from algorithms.errors import DataError
from expectations.request.query import Query
from tasks.sources.databases.engine import Engine, Snapshot

PREFIXES = ("postgresql://", "postgres://")
CONNECT_SECONDS = 30
STATEMENT_MINUTES = 60
"""Longest time of a query, unless the role or the database has a limit of its own."""

SETTINGS = (
    "SET client_encoding = 'UTF8'",  # the text of Arrow
    "SET standard_conforming_strings = on",  # as the query was read
    "SET client_min_messages = error",  # notices may quote values
    "SET TIME ZONE 'UTC'",
    "SET DateStyle = 'ISO'",
    "SET extra_float_digits = 1",
)
BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# PostgreSQL takes the snapshot of such a transaction with its first statement: this one
FACTS = """
SELECT split_part(current_setting('server_version'), ' ', 1),
       to_char(statement_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'),
       current_setting('statement_timeout')
"""
LIMIT = f"SET LOCAL statement_timeout = '{STATEMENT_MINUTES}min'"
NO_LIMIT = "0"


@contextmanager
def snapshot(address: SecretStr) -> Iterator[Snapshot]:
    """Open one connection with one transaction, and roll it back at the end."""
    import adbc_driver_postgresql.dbapi

    with (
        # with autocommit, the driver begins no transaction of its own
        adbc_driver_postgresql.dbapi.connect(_patient(address), autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        for setting in (*SETTINGS, BEGIN):
            cursor.execute(setting)
        cursor.execute(FACTS)
        ((version, time, limit),) = cursor.fetchall()
        if limit == NO_LIMIT:
            cursor.execute(LIMIT)

        def read(query: Query, period: str) -> pa.Table:
            cursor.execute(query.written("$1"), (period,) if query.has_period else None)
            return _as_text(cursor.fetch_arrow_table())

        yield Snapshot(version, time, read)
        cursor.execute("ROLLBACK")


def _patient(address: SecretStr) -> str:
    """Give up on a server that does not answer, unless the address says when."""
    uri = address.get_secret_value()
    if "connect_timeout" in uri:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}connect_timeout={CONNECT_SECONDS}"


def _as_text(table: pa.Table) -> pa.Table:
    """Take the text of types that Arrow does not know, such as numeric, to the last digit."""
    money = sum(
        (field.metadata or {}).get(b"POSTGRESQL:type") == b"money" for field in table.schema
    )
    if money:
        raise DataError(
            "columns must hold numbers; the type money depends on settings of the server, and "
            f"{money} of the columns {'has' if money == 1 else 'have'} it: cast to numeric in the "
            "query"
        )
    return pa.table([_text(column) for column in table.columns], names=table.column_names)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if kind == pa.uuid():
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if isinstance(kind, pa.BaseExtensionType) and pa.types.is_string(kind.storage_type):
        text = pa.chunked_array([chunk.storage for chunk in column.chunks], pa.string())
        # as for real numbers, NaN is missing
        is_nan = pc.equal(text, "nan") if getattr(kind, "type_name", "") == "numeric" else None
        return text if is_nan is None else pc.if_else(is_nan, None, text)
    return column


def opens(address: SecretStr) -> bool:
    """Recognise the address of a PostgreSQL server."""
    return address.get_secret_value().startswith(PREFIXES)


ENGINE = Engine("PostgreSQL", opens, snapshot)
