"""No credential and no value of a database in anything that a run leaves behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import databases
from tests.conftest import Request
from tests.leaks import sentinels_in
from tests.postgresql import cluster
from tests.tools import PATIENCE

PASSWORD = "SENTINELPASSWORD"
VALUE = "SENTINELVALUE"
IDENTIFIER = 7654321987
SENTINELS = {
    "password": [PASSWORD.encode()],
    "value": [VALUE.encode()],
    "identifier": [str(IDENTIFIER).encode(), IDENTIFIER.to_bytes(8, "little")],
}
# by these names the server calls what a connection tells
HIDDEN = {"role": [b"reader_of_registry"], "database": [b"registry_database"]}

QUERIES = {
    "published": databases.QUERY,
    "unconverted": "SELECT zone::int AS id FROM persons WHERE quarter = :period",
    "absent": "SELECT * FROM nowhere",
    "refused": databases.QUERY,
    "silent": databases.QUERY,
}
RUNS = """
import os, sys
from flows.cli import main

def run_all(good, refused, silent, published, unconverted, absent, *others):
    os.environ["MICRORELEASE_DATABASE_REGISTRY"] = open(good).read()
    codes = [main(["run", spec]) for spec in (published, published, unconverted, absent)]
    for address, spec in zip((refused, silent), others):
        os.environ["MICRORELEASE_DATABASE_REGISTRY"] = open(address).read()
        codes.append(main(["run", spec]))
    print("codes", codes)

if __name__ == "__main__":
    run_all(*sys.argv[1:])
"""


@pytest.mark.flow
@pytest.mark.needs("PostgreSQL")
def test_no_credential_and_no_value_is_found_anywhere_after_runs_on_a_database(
    request_of: Request, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world, secrets = tmp_path_factory.mktemp("world"), tmp_path_factory.mktemp("secrets")
    for name in ("home", "prefect", "tmp"):
        (world / name).mkdir()
    specs = []
    for name, query in QUERIES.items():
        (request_of.folder / f"{name}.sql").write_text(query, encoding="utf-8")
        request_of.content["source"] = {"database": "registry", "query": f"{name}.sql"}
        written = request_of.write(release={"name": name})
        specs.append(written.rename(written.with_name(f"{name}.yaml")))
    (request_of.folder / "runs.py").write_text(RUNS, encoding="utf-8")
    with cluster() as server:
        server.execute(
            databases.CREATE,
            databases.insert([*databases.ROWS, (IDENTIFIER, VALUE, 1, "1.00", 1.5)]),
            f"CREATE ROLE reader_of_registry LOGIN PASSWORD '{PASSWORD}'",
            "GRANT SELECT ON persons TO reader_of_registry",
            "CREATE DATABASE registry_database TEMPLATE template0",
        )
        good = server.address("reader_of_registry", PASSWORD)
        addresses = {
            "good": good,
            "refused": good.replace(PASSWORD, f"{PASSWORD}2"),
            "silent": f"postgresql://reader_of_registry:{PASSWORD}@127.0.0.1:1/registry_database",
        }
        for name, address in addresses.items():
            (secrets / name).write_text(address, encoding="utf-8")
        kept = {"PATH", "LANG", "LC_ALL", "VIRTUAL_ENV"}
        ended = subprocess.run(
            [
                sys.executable,
                str(request_of.folder / "runs.py"),
                *(str(secrets / name) for name in addresses),
                *map(str, specs),
            ],
            capture_output=True,
            check=False,
            timeout=4 * PATIENCE,
            cwd=world,
            env={name: value for name, value in os.environ.items() if name in kept}
            | {
                "HOME": str(world / "home"),
                "PREFECT_HOME": str(world / "prefect"),
                "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": f"{PATIENCE:.0f}",
                "TMPDIR": str(world / "tmp"),
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
        )
    shown = ended.stdout + ended.stderr
    assert b"codes [0, 0, 11, 11, 11, 14]" in ended.stdout, shown
    assert b"already published with the same data and claims" in ended.stdout
    for words in (
        b"a value cannot be converted or is out of range (class 22 of SQLSTATE)",
        b"must have the tables and columns that the query names",
        b"it refused the role, the password or the name of the database",
        b"no connection to it could be made or kept",
    ):
        assert words in shown.replace(b"\n", b" ")

    everything = {**SENTINELS, **HIDDEN}
    assert sentinels_in(shown, everything) == set()
    assert (world / "prefect" / "prefect.db").is_file()
    manifests = list(request_of.register.rglob("manifest.json"))
    assert len(manifests) == len(QUERIES) + 1
    for path in [*world.rglob("*"), *request_of.register.rglob("*")]:
        if path.is_file():
            assert sentinels_in(path.read_bytes(), everything) == set(), path
    for path in request_of.public.rglob("*"):
        if path.is_file():
            # the confidential column is published as it is
            assert sentinels_in(path.read_bytes(), everything) <= {"value"}, path
