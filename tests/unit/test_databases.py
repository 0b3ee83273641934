"""Databases as sources: the same table as from a file, one snapshot, and no secret in a message."""

import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
import traceback
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pydantic import SecretStr

from algorithms.errors import DataError, ReleaseError, SpecError, StorageError
from expectations.manifest import Record, decode, encode
from expectations.request.query import Query
from expectations.request.sections.columns import ColumnsSection, HierarchySection
from expectations.request.spec_file import load
from tasks.ingest import ingest
from tasks.sources.databases import connections, sqlite
from tasks.sources.databases.table import as_csv
from tasks.sources.fingerprint import fingerprint
from tests import databases
from tests.conftest import Request

REGISTRY = "MICRORELEASE_DATABASE_REGISTRY"
SECRET = "SECRET"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "registry of SECRET?.db"
    connection = sqlite3.connect(path, isolation_level=None)
    # as a server does, this lets others write while a snapshot is read
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute(databases.CREATE)
    connection.execute(databases.insert())
    monkeypatch.setenv(REGISTRY, str(path))
    yield connection
    connection.close()


def fault_of(spec: Any, kind: type[ReleaseError] = DataError) -> str:
    """Give the sentence of a fault, after a search of everything that the exception holds."""
    with pytest.raises(kind) as raised:
        ingest.fn(spec)
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    return str(raised.value)


def test_a_query_gives_the_table_of_its_csv_file(
    request_of: Request, database: sqlite3.Connection
) -> None:
    request_of.source.write_text(databases.as_csv(), encoding="utf-8")
    from_file, _ = ingest.fn(request_of.load())
    spec = databases.spec_of(request_of)
    # SQLite has no decimals: 0.50 is the real number 0.5 there
    shorter = request_of.source.read_text("utf-8").replace("0,", ",").replace(".0,", ",")
    assert shorter != databases.as_csv()
    table, facts = ingest.fn(spec)
    assert table.schema.equals(from_file.schema)
    assert table.drop_columns(["sales"]).equals(from_file.drop_columns(["sales"]))
    assert table["sales"].to_pylist()[:4] == ["0.25", "1", "2.25", "4"]
    assert facts.sha256 == fingerprint(table)
    assert (facts.rows, facts.columns, facts.path, facts.bytes) == (30, 5, "", None)
    assert facts.database is not None
    assert (facts.database.connection, facts.database.engine) == ("registry", "SQLite")
    assert facts.database.query_sha256 == hashlib.sha256(databases.QUERY.encode()).hexdigest()
    assert facts.database.snapshot.endswith("+00:00")


def test_two_reads_of_unchanged_data_have_one_fingerprint(
    request_of: Request, database: sqlite3.Connection
) -> None:
    spec = databases.spec_of(request_of)
    table, first = ingest.fn(spec)
    database.execute("UPDATE persons SET score = score")
    database.execute("CREATE TABLE copy AS SELECT * FROM persons ORDER BY score DESC")
    database.execute("DROP TABLE persons")
    database.execute("ALTER TABLE copy RENAME TO persons")
    again, second = ingest.fn(spec)
    assert again.equals(table)
    assert first.sha256 == second.sha256
    database.execute("UPDATE persons SET score = 99 WHERE id = 7")
    assert ingest.fn(spec)[1].sha256 != first.sha256


def test_rows_are_sorted_by_identifiers_then_by_everything(
    request_of: Request, database: sqlite3.Connection
) -> None:
    query = "SELECT '1' AS id, column1 AS zone, 2 AS staff, 3 AS sales, column2 AS score FROM ({})"
    forms = ["VALUES ('b', 1), ('a', 2), ('a', NULL)", "VALUES ('a', NULL), ('a', 2), ('b', 1)"]
    tables = [
        ingest.fn(databases.spec_of(request_of, query.format(rows)))[0].to_pylist()
        for rows in forms
    ]
    assert tables[0] == tables[1]
    numbers = "SELECT column1 AS id, '' AS zone, 1 AS staff, 1 AS sales, 1 AS score FROM ({})"
    table, _ = ingest.fn(
        databases.spec_of(request_of, numbers.format("VALUES ('10'), ('9'), ('100')"))
    )
    assert table["id"].to_pylist() == ["9", "10", "100"]
    table, _ = ingest.fn(
        databases.spec_of(request_of, numbers.format("VALUES ('x10'), ('x9'), ('x100')"))
    )
    assert table["id"].to_pylist() == ["x10", "x100", "x9"]


def test_a_row_that_is_added_while_a_snapshot_is_read_does_not_appear(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    address = SecretStr(f"sqlite://{tmp_path / 'registry of SECRET?.db'}")
    query = Query.of(databases.QUERY)
    with sqlite.snapshot(address) as snapshot:
        database.execute(databases.insert([(99, "z", 1, "1.00", 1.5)]))
        assert snapshot.read(query, "2026-Q3").num_rows == 30
    with sqlite.snapshot(address) as snapshot:
        assert snapshot.read(query, "2026-Q3").num_rows == 31
        # whatever a period contains, it is a value and never a part of the query
        assert snapshot.read(query, "x' OR '1' = '1").num_rows == 0


def test_nothing_can_be_written_to_the_database(
    request_of: Request, database: sqlite3.Connection
) -> None:
    spec = databases.spec_of(request_of, "WITH x AS (SELECT 1) DELETE FROM persons")
    assert fault_of(spec) == (
        "the database 'registry' must only be read; the query tries to write: correct source.query"
    )
    assert database.execute("SELECT count(*) FROM persons").fetchone() == (30,)


MIXED = {
    "VALUES (0.5), ('SECRET')": 1,
    "VALUES (0.5), (9007199254740993)": 1,
    "VALUES (x'00'), ('SECRET')": 1,
    "VALUES (0.5), (9007199254740992), (NULL)": 0,
    "VALUES (1), ('SECRET')": 0,
    "VALUES (0.1), (0.2)": 0,
}


@pytest.mark.parametrize("values", MIXED)
def test_a_column_whose_kinds_the_driver_would_merge_is_refused(
    request_of: Request, database: sqlite3.Connection, values: str
) -> None:
    query = f"""SELECT 1 AS id, '' AS zone, 1 AS staff, 1 AS sales, column1 AS score FROM ({values})
        -- to the end"""
    spec = databases.spec_of(request_of, query)
    if MIXED[values]:
        assert "each column must hold values of one kind" in fault_of(spec)
        assert "in 1 of the columns" in fault_of(spec)
    else:
        assert ingest.fn(spec)[0].num_rows > 1


def test_all_rows_count_towards_the_type_of_a_column(
    request_of: Request, database: sqlite3.Connection
) -> None:
    database.executemany(
        "INSERT INTO persons (id, quarter, zone, staff, sales) VALUES (?, '2026-Q3', 'a', 1, 2)",
        [(number,) for number in range(100, 5000)],
    )
    database.execute("UPDATE persons SET staff = 0.5 WHERE id = 4999")
    table, _ = ingest.fn(databases.spec_of(request_of))
    assert table["staff"].to_pylist()[-1] == "0.5"


REFUSED = {
    "SELECT * FROM nowhere": "must have the tables and columns that the query names; it does not",
    "SELECT absent FROM persons": "must have the tables and columns that the query names",
    "SELECT 'SECRET' FROM": "must be able to run the query; it reports an error (Programming",
    "SELECT id, id FROM persons": "each column of the source must have its own name; these are "
    "repeated: 'id'",
    "SELECT CAST(x'ff41' AS TEXT) AS id": "the text that a query gives must be UTF-8",
    "SELECT x'00' AS id": "must hold numbers, text, truth values, dates or times without time zone;"
    " these hold something else: 'id'",
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_that_cannot_be_read_is_refused_in_one_sentence(
    request_of: Request, database: sqlite3.Connection, query: str
) -> None:
    assert REFUSED[query] in fault_of(databases.spec_of(request_of, query))


def test_a_file_that_is_no_database_is_refused(
    request_of: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = databases.spec_of(request_of)
    monkeypatch.setenv(REGISTRY, str(tmp_path / "SECRET.db"))
    assert "must name an SQLite file that exists; there is none" in fault_of(spec)
    (tmp_path / "SECRET.db").write_text("SECRET" * 1000, encoding="utf-8")
    assert "must be an SQLite database; the file is not one" in fault_of(spec)


LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_database_that_is_locked_is_tried_again(
    request_of: Request, database: sqlite3.Connection
) -> None:
    spec = databases.spec_of(request_of)
    database.execute("PRAGMA journal_mode = delete")
    database.close()
    # within one process, the locks of a file exclude nobody
    command = [sys.executable, "-c", LOCK, os.environ[REGISTRY]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        assert "it is busy, starting or shutting down" in fault_of(spec, StorageError)
        other.communicate()


def test_the_file_of_a_database_must_not_be_public(
    request_of: Request, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = databases.spec_of(request_of)
    request_of.public.mkdir()
    monkeypatch.setenv(REGISTRY, str(request_of.public / "x.db"))
    assert "must lie outside public_folder" in fault_of(spec, SpecError)


def test_a_connection_is_found_in_the_environment_or_in_a_mounted_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRORELEASE_DATABASE_TAX_REGISTRY", " postgresql://SECRET@host/db\n")
    engine, address = connections.find("tax-registry")
    assert (engine.name, address.get_secret_value()) == (
        "PostgreSQL",
        "postgresql://SECRET@host/db",
    )
    assert SECRET not in repr(address)
    assert connections.exposed("tax-registry") == ()
    monkeypatch.delenv("MICRORELEASE_DATABASE_TAX_REGISTRY")

    file = tmp_path / "secret"
    file.write_text("sqlite:///srv/SECRET.db\n", encoding="utf-8")
    monkeypatch.setenv("MICRORELEASE_DATABASE_TAX_REGISTRY_FILE", str(file))
    engine, address = connections.find("tax-registry")
    assert engine.name == "SQLite"
    assert sqlite.file_of(address) == Path("/srv/SECRET.db")
    file.chmod(stat.S_IRUSR)
    assert connections.exposed("tax-registry") == ()
    file.chmod(0o644)
    (warning,) = connections.exposed("tax-registry")
    assert "MICRORELEASE_DATABASE_TAX_REGISTRY_FILE holds a password" in warning

    for content in (" ", None):
        if content is None:
            file.unlink()
        else:
            file.write_text(content, encoding="utf-8")
        with pytest.raises(SpecError, match="must name a readable file with the address"):
            connections.find("tax-registry")
    assert connections.exposed("tax-registry") == ()


def test_an_unknown_connection_is_refused_with_the_names_that_would_make_it_known() -> None:
    with pytest.raises(SpecError) as raised:
        connections.find("registry")
    assert str(raised.value) == (
        "source.database must be the name of a connection; 'registry' is not known: set "
        "MICRORELEASE_DATABASE_REGISTRY or MICRORELEASE_DATABASE_REGISTRY_FILE where runs start, "
        "or save the Prefect Secret block microrelease-database-registry"
    )


@pytest.mark.parametrize("address", ["mysql://SECRET@host", "relative/SECRET.db", "/a\0SECRET"])
def test_an_address_of_another_engine_is_refused_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    file = tmp_path / "secret"
    file.write_text(address, encoding="utf-8")
    monkeypatch.setenv(f"{REGISTRY}_FILE", str(file))
    with pytest.raises(SpecError) as raised:
        connections.find("registry")
    assert "it is neither (it is not shown)" in str(raised.value)
    assert SECRET not in str(raised.value)


ADDRESS = "postgresql://user:SECRET@host/db"
FAULTS: dict[str, tuple[dict[str, Any] | str, str]] = {
    "an address as path": ({"path": ADDRESS}, "source: must not hold an address"),
    "an address as connection": ({"database": ADDRESS}, "source: must not hold an address"),
    "an address as query": (
        {"database": "a", "query": ADDRESS},
        "source: must not hold an address",
    ),
    "an address anywhere": ({"path": "a.csv", "x": [{"y": ADDRESS}]}, "must not hold an address"),
    "an address as key": ({ADDRESS: 1}, "source: must not hold an address"),
    "an address alone": (ADDRESS, "source: must not hold an address"),
    "keywords of libpq": (
        {"database": "host=x password=SECRET", "query": "persons.sql"},
        "source.database: must be the name of a connection, in lower-case letters",
    ),
    "a file and a database": (
        {"path": "a.csv", "database": "a", "query": "persons.sql"},
        "source: must be a file (path) or a database; both are given",
    ),
    "no query": ({"database": "a"}, "source.query: must be given; it is missing"),
    "no connection": ({"query": "persons.sql"}, "source.database: must be given; it is missing"),
    "no file": ({"database": "a", "query": "no.sql"}, "source.query: must be a readable file"),
    "another ending": (
        {"database": "a", "query": "persons.txt"},
        "source: query must be a file that ends in .sql",
    ),
    "no text": ({"database": "a", "query": 7}, "source.query: "),
    "another snapshot": (
        {"database": "a", "query": "persons.sql", "snapshot": "none"},
        "source.snapshot: must be 'transaction'",
    ),
    "a list": ({"path": "a.csv", "x": ["y"]}, "source.x: no such key"),
    "an unknown key": (
        {"database": "a", "query": "persons.sql", "delimiter": ";"},
        "source.delimiter: no such key",
    ),
    "no query in the file": (
        {"database": "a", "query": "writes.sql"},
        "source: query: a query must begin with SELECT",
    ),
    "rows of a file": (
        {"path": "table.csv", "wait": {"hours": 1, "rows": 5}},
        "source.wait: rows is about the rows of a query",
    ),
    "a wait without end": ({"path": "table.csv", "wait": {"hours": 1000}}, "source.wait.hours: "),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_source_is_refused_without_showing_an_address(
    request_of: Request, name: str
) -> None:
    source, words = FAULTS[name]
    (request_of.folder / "persons.sql").write_text(databases.QUERY, encoding="utf-8")
    (request_of.folder / "persons.txt").write_text(databases.QUERY, encoding="utf-8")
    (request_of.folder / "writes.sql").write_text("DELETE FROM SECRET", encoding="utf-8")
    request_of.content["source"] = {}
    path = request_of.write()
    content = path.read_text(encoding="utf-8")
    path.write_text(content.replace("source: {}", yaml.safe_dump({"source": source})), "utf-8")
    with pytest.raises(SpecError) as raised:
        load(path)
    assert words in str(raised.value)
    assert SECRET not in str(raised.value)


def test_the_query_and_its_fingerprint_are_part_of_the_spec(request_of: Request) -> None:
    spec = databases.spec_of(request_of, "SELECT 1\r\nWHERE x = :period\r", wait={"hours": 2})
    assert spec.source.query == request_of.folder / "persons.sql"
    assert spec.source.query_text == "SELECT 1\nWHERE x = :period\n"
    assert spec.source.statement.has_period
    record = Record.of(spec)
    assert record.spec["source"]["query_text"] == "SELECT 1\nWHERE x = :period\n"
    assert len(record.spec["source"]["query_sha256"]) == 64
    assert spec.at(None).source == spec.source  # the period stays a parameter


def test_a_manifest_keeps_the_facts_of_a_database(
    request_of: Request, database: sqlite3.Connection
) -> None:
    spec = databases.spec_of(request_of)
    _, facts = ingest.fn(spec)
    manifest = Record.of(spec).adding(input=facts).ending("a", "failed")
    content = encode(manifest)
    assert SECRET not in content.decode()
    assert decode(content, "a").input == facts


def test_dates_truth_values_and_codes_are_read_as_text() -> None:
    columns = ColumnsSection(
        identifiers=("id",),
        unit="unit",
        quasi_identifiers=("day",),
        strata=("code",),
        confidential=("flag", "n"),
        hierarchies={"code": HierarchySection(prefixes=(1,))},
    )
    table = pa.table(
        {
            "id": pa.array([2, 1], pa.int32()),
            "unit": ["b", "a"],
            "day": [date(2026, 3, 9), None],
            "flag": [True, False],
            "code": ["1", "2"],
            "n": ["1.50", "2"],
        }
    )
    read = as_csv(table, columns)
    assert as_csv(table.select([]), columns).num_columns == 0
    assert read.to_pydict() == {
        "id": ["1", "2"],
        "unit": ["a", "b"],
        "day": [None, "2026-03-09"],
        "flag": ["false", "true"],
        "code": ["2", "1"],
        "n": [2.0, 1.5],
    }
