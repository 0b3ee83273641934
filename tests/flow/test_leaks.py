"""Nothing confidential and no word to the outside, whatever becomes of a run."""

import base64
import hashlib
import os
import pickle
import re
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from tests import leaks
from tests.conftest import Request
from tests.tools import PATIENCE

IDENTIFIER = "SENTINELIDENTIFIER"
CONFIDENTIAL = "SENTINELCONFIDENTIAL"
FAILING = "SENTINELFAILING"
WHOLE = 7654321987
REAL = 8877665.4433

TABLE = f"""\
id,zone,staff,sales,score
{IDENTIFIER},z,{WHOLE},{REAL},{CONFIDENTIAL}
b,z,2,11.5,x
c,z,1,10.0,x
d,z,40,90.0,x
e,z,42,91.0,x
f,z,44,95.0,x
""" + "".join(f"r{i},z,{50 + i},{60.5 + i * i},x\n" for i in range(40))

# Every Python process of the run reports whom it asks for or connects to.
WATCH = """
import os, sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        with open(os.environ["WATCH_FILE"], "a") as file:
            file.write(f"{event} {arguments[1] if event == 'socket.connect' else arguments[0]}\\n")
sys.addaudithook(watch)
"""

RUNS = """
import sys
from flows.cli import main
import flows.release
from algorithms.attributes import number

def explode(values, partition):
    raise ValueError(f"cannot use {values.tolist()}")

def explode_outside_stages(*arguments):
    raise ValueError(f"cannot show SENTINELFAILING {float(8877665.4433)}")

def run_all(published, blocked, failing):
    codes = [main(["run", spec]) for spec in (published, blocked, failing)]
    codes.append(main(["run", published, "--period", "2026-Q4"]))
    choices = ["--methods", "mdav", "--k", "3", "500", "--workers", "1", "--folder", "map"]
    codes.append(main(["explore", published, *choices]))
    kept = number.integer_centroids
    number.integer_centroids = explode
    codes.append(main(["run", published]))
    number.integer_centroids = kept
    flows.release.Verdicts = explode_outside_stages
    codes.append(main(["run", published]))
    print("codes", codes)

if __name__ == "__main__":  # processes that explore import this file, too
    run_all(*sys.argv[1:])
"""

DIGEST = hashlib.sha256(IDENTIFIER.encode())
"""Anyone who has a list of identifiers can compute this."""

SENTINELS = {
    "identifier": [
        IDENTIFIER.encode(),
        DIGEST.digest()[:16],
        DIGEST.hexdigest()[:16].encode(),
        DIGEST.hexdigest()[:16].upper().encode(),
    ],
    "confidential": [CONFIDENTIAL.encode()],
    "failing row": [FAILING.encode()],
    "quasi-identifier": [
        str(WHOLE).encode(),
        str(REAL).encode(),
        f"{REAL:.3f}".encode()[:-1],
        *(struct.pack(form, WHOLE) for form in ("<q", ">q", "<d", ">d")),
        *(struct.pack(form, REAL) for form in ("<d", ">d")),
    ],
}


def sentinels_in(content: bytes) -> set[str]:
    """Find sentinels in plain, in packed numbers, and within base64."""
    return leaks.sentinels_in(content, SENTINELS)


def test_the_search_finds_what_is_there() -> None:
    assert sentinels_in(f"x{IDENTIFIER}y {CONFIDENTIAL}".encode()) == {"identifier", "confidential"}
    assert sentinels_in(pickle.dumps([REAL])) == {"quasi-identifier"}
    assert sentinels_in(base64.b64encode(pickle.dumps({"a": FAILING, "b": WHOLE}))) >= {
        "failing row"
    }
    assert sentinels_in(DIGEST.digest()) == sentinels_in(DIGEST.hexdigest().encode())
    assert sentinels_in(DIGEST.digest()) == {"identifier"}
    assert sentinels_in(b"nothing") == set()


@pytest.mark.flow
def test_no_sentinel_is_found_anywhere_after_published_blocked_failed_and_crashed_runs(
    request_of: Request, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = tmp_path_factory.mktemp("world")
    for name in ("home", "prefect", "tmp", "watch"):
        (world / name).mkdir()
    (world / "watch" / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    request_of.source.write_text(TABLE, encoding="utf-8")
    spoiled = TABLE.replace("b,z,2,11.5", f"b,z,2,{FAILING}")
    (request_of.folder / "failing.csv").write_text(spoiled, encoding="utf-8")
    variants = {
        "published": {"series": {}},
        "blocked": {"gate": {"ceilings": {"il": 0.0, "dld": 0.0}}},
        "failing": {"source": {"path": "failing.csv"}},
    }
    specs = []
    for name, sections in variants.items():
        written = request_of.write(release={"name": name}, **sections)
        specs.append(written.rename(written.with_name(f"{name}.yaml")))

    (request_of.folder / "runs.py").write_text(RUNS, encoding="utf-8")
    kept = {"PATH", "LANG", "LC_ALL", "VIRTUAL_ENV"}
    ended = subprocess.run(
        [sys.executable, str(request_of.folder / "runs.py"), *map(str, specs)],
        capture_output=True,
        check=False,
        timeout=4 * PATIENCE,
        cwd=world,
        env={name: value for name, value in os.environ.items() if name in kept}
        | {
            "HOME": str(world / "home"),
            "PREFECT_HOME": str(world / "prefect"),
            # pyproject.toml is not read from here: a server that starts too late fails the first
            # run, and one left running holds our pipes open
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": f"{PATIENCE:.0f}",
            "TMPDIR": str(world / "tmp"),
            "PYTHONPATH": f"{world / 'watch'}:{Path(__file__).parents[2]}",
            "WATCH_FILE": str(world / "watch" / "seen"),
        },
    )
    assert b"codes [0, 12, 11, 0, 0, 70, 70]" in ended.stdout, ended.stdout + ended.stderr

    assert sentinels_in(ended.stdout + ended.stderr) == set()
    database = {path.name for path in (world / "prefect").iterdir()}
    assert "prefect.db" in database
    searched = 0
    for path in [*world.rglob("*"), *request_of.register.rglob("*")]:
        if path.is_file():
            searched += 1
            assert sentinels_in(path.read_bytes()) == set(), path
    assert searched > 5
    assert (world / "map" / "map.html").is_file()
    reports = [path.read_text("utf-8") for path in request_of.register.rglob("report.html")]
    assert len(reports) == 6
    assert any("Density of sales" in report for report in reports), "no picture was searched"

    _check_vault(request_of, world)

    public = request_of.public / "published" / "2026-Q3"
    for path in request_of.public.rglob("*"):
        if path.is_file():
            assert sentinels_in(path.read_bytes()) <= {"confidential"}, path
    table = pyarrow.parquet.read_table(public / "data.parquet")
    assert sentinels_in(str(table.to_pylist()).encode()) == {"confidential"}
    assert sorted(path.name for path in request_of.public.iterdir()) == ["published"]

    seen = (world / "watch" / "seen").read_text(encoding="utf-8").splitlines()
    assert seen, "the watch saw no connection at all, not even to the temporary server"
    outside = [line for line in seen if not re.search(r"127\.0\.0\.1|::1|localhost|/", line)]
    assert outside == []


def _check_vault(request_of: Request, world: Path) -> None:
    """See that the vault holds tokens that nobody can compute, and that the key is nowhere else."""
    files = sorted(request_of.register.glob("vault/published/*.parquet"))
    assert len(files) == 2
    for file in files:
        cells = pyarrow.parquet.read_table(file).to_pylist()
        assert len(cells) == len(TABLE.splitlines()) - 1
        tokens = [cell["token"] for cell in cells]
        assert sentinels_in(b" ".join(tokens)) == set()
        # nor is a token the plain hash of any identifier
        plain = {
            hashlib.sha256(row.partition(",")[0].encode()).digest()[:16]
            for row in TABLE.splitlines()
        }
        assert not plain & set(tokens)
    (key,) = request_of.register.glob("vault/*.key")
    secret = {"key": [key.read_bytes(), key.read_bytes().hex().encode()]}
    for path in [*world.rglob("*"), *request_of.folder.rglob("*")]:
        if path.is_file() and path != key:
            assert leaks.sentinels_in(path.read_bytes(), secret) == set(), path
