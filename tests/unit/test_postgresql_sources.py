"""PostgreSQL as a source, on a real server."""

import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from algorithms.errors import DataError, ReleaseError, StorageError
from expectations.request.query import Query
from tasks.ingest import ingest
from tasks.sources.databases import postgresql
from tests import databases
from tests.conftest import Request
from tests.postgresql import Cluster, cluster

pytestmark = pytest.mark.needs("PostgreSQL")

REGISTRY = "MICRORELEASE_DATABASE_REGISTRY"
PASSWORD = "PASSWORDSECRET"
VALUE = "VALUESECRET"


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as started:
        started.execute(
            databases.CREATE,
            databases.insert(),
            databases.insert([(1, "z", 1, "1.00", 1.5)], "2026-Q2"),
            "CREATE TYPE mood AS ENUM ('sad', 'well')",
            "CREATE TABLE hidden (a int)",
            f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
            "GRANT SELECT ON persons TO reader",
            "ALTER ROLE reader SET statement_timeout = '2s'",
            "CREATE FUNCTION shout() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING "
            f"'{VALUE}'; RETURN 1; END $$",
        )
        yield started


@pytest.fixture
def registry(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv(REGISTRY, server.address("reader", PASSWORD))
    return server


def test_two_reads_give_one_fingerprint_and_the_table_of_the_csv_file(
    request_of: Request, registry: Cluster
) -> None:
    request_of.source.write_text(databases.as_csv(), encoding="utf-8")
    from_file, _ = ingest.fn(request_of.load())
    spec = databases.spec_of(request_of)
    table, first = ingest.fn(spec)
    assert table.equals(from_file)
    # an update moves rows to other places in the table
    registry.execute("UPDATE persons SET score = score WHERE id % 3 = 0")
    again, second = ingest.fn(spec)
    assert again.equals(table)
    assert first.sha256 == second.sha256
    assert first.database is not None
    assert first.database.engine == "PostgreSQL"
    assert first.database.version.replace(".", "").isalnum()
    assert first.database.snapshot.endswith("+00:00")


def test_a_row_that_is_added_while_a_snapshot_is_read_does_not_appear(registry: Cluster) -> None:
    address = SecretStr(registry.address("reader", PASSWORD))
    query = Query.of(databases.QUERY)
    with postgresql.snapshot(address) as snapshot:
        registry.execute(databases.insert([(99, "z", 1, "1.00", 1.5)]))
        assert snapshot.read(query, "2026-Q3").num_rows == 30
    with postgresql.snapshot(address) as snapshot:
        assert snapshot.read(query, "2026-Q3").num_rows == 31
        # whatever a period contains, it is a value and never a part of the query
        assert snapshot.read(query, "x' OR '1' = '1").num_rows == 0
    registry.execute("DELETE FROM persons WHERE id = 99")


def test_no_digit_of_a_decimal_is_lost(request_of: Request, registry: Cluster) -> None:
    query = """
        SELECT '6f1c0e7e-1111-4222-8333-00000000000' || g AS id, 'well'::mood AS zone,
               9007199254740993 AS staff, 12345678901234567890.1234567890 AS sales,
               CASE g WHEN 1 THEN 'NaN'::numeric ELSE 12.50 END AS score, true AS yes,
               '2026-03-09'::date AS day, '{"a": 1}'::jsonb AS json, 0.1::real AS single,
               '6f1c0e7e-1111-4222-8333-000000000001'::uuid AS token
        FROM generate_series(1, 2) AS g"""
    others = {"dropped": dict.fromkeys(("yes", "day", "json", "single", "token"), "a test")}
    request_of.content["columns"] |= others
    table, _ = ingest.fn(databases.spec_of(request_of, query))
    assert table.slice(0, 1).to_pylist() == [
        {
            "id": "6f1c0e7e-1111-4222-8333-000000000001",
            "zone": "well",
            "staff": "9007199254740993",
            "sales": "12345678901234567890.1234567890",
            "score": None,
            "yes": "true",
            "day": "2026-03-09",
            "json": '{"a": 1}',
            "single": "0.1",
            "token": "6f1c0e7e-1111-4222-8333-000000000001",
        }
    ]
    assert table["score"].to_pylist() == [None, 12.5]


REFUSED: dict[str, tuple[str, dict[str, Any], str, type[ReleaseError]]] = {
    "refused connection": (
        databases.QUERY,
        {"address": f"postgresql://reader:{PASSWORD}@127.0.0.1:1/microrelease?connect_timeout=5"},
        "must answer; no connection to it could be made or kept",
        StorageError,
    ),
    "wrong password": (
        databases.QUERY,
        {"password": "OTHERSECRET"},
        "must accept the connection; it refused the role, the password or the name of the database",
        DataError,
    ),
    "no such database": (
        databases.QUERY,
        {"database": "OTHERSECRET"},
        "must accept the connection; it refused the role, the password or the name of the database",
        DataError,
    ),
    "not an address": (
        databases.QUERY,
        {"address": "postgresql://SECRET SECRET@@::x"},
        "must answer; no connection to it could be made or kept",
        StorageError,
    ),
    "missing table": (
        "SELECT * FROM nowhere",
        {},
        "must have the tables and columns that the query names",
        DataError,
    ),
    "missing column": (
        "SELECT nothing FROM persons",
        {},
        "must have the tables and columns that the query names",
        DataError,
    ),
    "cast": (
        f"SELECT CASE g WHEN 30000 THEN '{VALUE}' ELSE '1' END::int FROM generate_series(1, 60000) "
        "AS g",
        {},
        "a value cannot be converted or is out of range (class 22 of SQLSTATE)",
        DataError,
    ),
    "cast with a parameter": (
        f"SELECT '{VALUE}'::int WHERE :period <> ''",
        {},
        "a value cannot be converted or is out of range (class 22 of SQLSTATE)",
        DataError,
    ),
    "comparison": (
        "SELECT 1 FROM persons WHERE id = :period",
        {},
        "it does not know one of them: cast in source.query (:period is text)",
        DataError,
    ),
    "timeout": (
        "SELECT pg_sleep(60)::text AS id",
        {},
        "must answer the query in time; it took too long and was cancelled",
        DataError,
    ),
    "privilege": (
        "SELECT * FROM hidden",
        {},
        "must let the role of the connection read what the query names",
        DataError,
    ),
    "writing": (
        "WITH gone AS (DELETE FROM persons RETURNING *) SELECT * FROM gone",
        {"role": "owner"},
        "must only be read; the query tries to write",
        DataError,
    ),
    "syntax": (
        f"SELECT '{VALUE}' FROM FROM",
        {},
        "must be able to run the query; it reports an error (class 42 of SQLSTATE)",
        DataError,
    ),
    "repeated column": (
        'SELECT id, id, staff AS "VALUESECRET", staff AS "VALUESECRET" FROM persons',
        {},
        "these are repeated: 'id', 1 that the spec does not name",
        DataError,
    ),
    "money": (
        "SELECT 1.5::numeric::money AS staff",
        {},
        "1 of the columns has it: cast to numeric in the query",
        DataError,
    ),
    "time zone": (
        "SELECT now() AS staff",
        {},
        "without time zone; these hold something else: 'staff'",
        DataError,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_is_one_sentence_without_a_credential_or_a_value(
    request_of: Request,
    registry: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    query, connection, words, kind = REFUSED[name]
    parts = {"role": "reader", "password": PASSWORD} | connection
    address = parts.pop("address", None) or registry.address(**parts)
    monkeypatch.setenv(REGISTRY, address)
    with pytest.raises(kind) as raised:
        ingest.fn(databases.spec_of(request_of, query))
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    printed = capfd.readouterr()
    everything = "".join(traceback.format_exception(raised.value)) + printed.out + printed.err
    assert "SECRET" not in everything


def test_text_is_read_as_utf8_whatever_the_encoding_of_the_client(
    request_of: Request, registry: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    table, _ = ingest.fn(databases.spec_of(request_of, "SELECT 'Müñchen' AS zone"))
    assert table["zone"].to_pylist() == ["Müñchen"]


def test_notices_of_the_server_are_not_printed(
    request_of: Request, registry: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    ingest.fn(databases.spec_of(request_of, "SELECT shout() AS id"))
    printed = capfd.readouterr()
    assert VALUE not in printed.out + printed.err


def test_a_query_without_a_limit_of_its_own_gets_one(server: Cluster) -> None:
    limit = Query.of("SELECT current_setting('statement_timeout')")
    for role, shown in (("owner", "1h"), ("reader", "2s")):
        address = SecretStr(server.address(role, PASSWORD if role == "reader" else ""))
        with postgresql.snapshot(address) as snapshot:
            assert snapshot.read(limit, "").column(0).to_pylist() == [shown]
