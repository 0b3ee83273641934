"""Reads queries from SQLite files."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
from pydantic import SecretStr

from algorithms.errors import DataError
from expectations.numbers import LARGEST_REAL
from expectations.request.query import Query
from tasks.sources.databases.engine import Engine, Snapshot

PREFIX = "sqlite://"
ONE_BATCH = {"adbc.sqlite.query.batch_rows": str(2**31 - 2)}
"""The driver derives the types of columns from the first batch, and fails if later rows differ."""
# unlike sqlite_version() alone, this reads the file, and so takes the snapshot
FACTS = "SELECT sqlite_version(), count(*) FROM sqlite_schema"


@contextmanager
def snapshot(address: SecretStr) -> Iterator[Snapshot]:
    """Open the file read-only, with one transaction."""
    import adbc_driver_sqlite.dbapi

    path = file_of(address)
    if not path.is_file():
        raise DataError(
            "the connection must name an SQLite file that exists; there is none: check the path in "
            "the connection"
        )
    with (
        adbc_driver_sqlite.dbapi.connect(
            f"file:{quote(str(path))}?mode=ro", autocommit=True
        ) as connection,
        connection.cursor(adbc_stmt_kwargs=ONE_BATCH) as cursor,
    ):
        cursor.execute("BEGIN")
        cursor.execute(FACTS)
        ((version, _),) = cursor.fetchall()

        def execute(sql: str, period: tuple[str, ...] | None) -> pa.Table:
            cursor.execute(sql, period)
            return cursor.fetch_arrow_table()

        def read(query: Query, period: str) -> pa.Table:
            sql, bound = query.written("?1"), (period,) if query.has_period else None
            table = execute(sql, bound)
            names = table.column_names
            if len(set(names)) == len(names):  # repeated names are refused later
                _check_kinds(execute(_kinds_in(sql, names), bound))
            return table

        yield Snapshot(version, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S+00:00}", read)
        cursor.execute("ROLLBACK")


def _kinds_in(sql: str, names: list[str]) -> str:
    """Ask which columns hold values of several kinds that the driver would turn into one kind.

    A cell of SQLite has a type of its own. The driver writes a real number beside a text with six
    digits, and reads a large whole number beside a real one as a real one.
    """
    columns = ['"{}"'.format(name.replace('"', '""')) for name in names]
    tests = [
        f"max(typeof({name}) = 'real') * max(typeof({name}) = 'text' OR typeof({name}) = 'integer' "
        f"AND {name} NOT BETWEEN -{LARGEST_REAL:.0f} AND {LARGEST_REAL:.0f}) + "
        f"max(typeof({name}) = 'blob') * max(typeof({name}) NOT IN ('blob', 'null'))"
        for name in columns
    ]
    sums = " + ".join(f"coalesce({test} > 0, 0)" for test in tests)
    return f"SELECT {sums} FROM (\n{sql}\n)"


def _check_kinds(answer: pa.Table) -> None:
    mixed = answer.column(0)[0].as_py()
    if mixed:
        raise DataError(
            "each column must hold values of one kind; text, bytes or whole numbers of more than "
            f"53 bits stand beside real numbers or text in {mixed} of the columns: convert them in "
            "the query with CAST"
        )


def file_of(address: SecretStr) -> Path:
    """Take the path of the file from its address."""
    return Path(address.get_secret_value().removeprefix(PREFIX))


def opens(address: SecretStr) -> bool:
    """Recognise the absolute path of a file, with or without sqlite://."""
    return file_of(address).is_absolute() and "\0" not in address.get_secret_value()


ENGINE = Engine("SQLite", opens, snapshot)
