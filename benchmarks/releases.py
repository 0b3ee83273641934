"""Runs whole releases of large tables, from the source to verified public files.

Each release is a process of its own: ``microrelease run`` on a heavy-tailed table of ten key
columns, two confidential columns and an identifier, by MDAV with k = 5. ``memory`` holds the table
in memory and groups it as a whole; ``blocks`` holds it in memory and groups it in blocks; the
others work on it in parts, with the engine of that name. Memory is the largest resident set of the
run and of one of its workers, looked at five times a second. Releases in blocks of one table are
compared byte by byte. Run it with ``python -m benchmarks.releases``.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet
import yaml

from benchmarks.printing import printed_by

RECORDS = (100_000, 300_000)
ROWS = 40_000
WAYS = ("memory", "blocks", "local", "processes 1", "processes 2")
PIECE = 500_000
MEBIBYTE = 2**20


@dataclass(frozen=True)
class Measured:
    """What one release took."""

    wall: float
    cpu: float
    run: int
    worker: int


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.releases", description=__doc__)
    parser.add_argument("--records", nargs="+", type=int, default=list(RECORDS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--rows", type=int, default=ROWS, help="records of a block")
    parser.add_argument("--keep", type=Path, help="folder for tables and releases")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        _say(
            f"{'records':>10} {'':12} {'wall s':>8} {'CPU s':>8} {'run MiB':>8} {'worker':>7} "
            f"{'IL':>8} {'bound':>8} {'DLD':>8}  bytes"
        )
        for records in options.records:
            source = folder / f"{records}.parquet"
            write_table(source, records)
            seen: dict[str, str] = {}
            for way in options.ways:
                _row(folder, source, records, way, options.rows, seen)
    return 0


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure and print, and return the section of the page."""
    return f"## Whole releases\n\n{_PROSE}\n\n```\n{printed_by('benchmarks.releases')}\n```\n"


_PROSE = """`python -m benchmarks.releases` runs `microrelease run` on heavy-tailed tables of ten
key columns, from the source to verified public files, with *k* = 5: as a whole in memory, in
[blocks](spec.md#blocks) in memory, and [in parts](scale.md) with an engine. Times are those of all
processes of a run; IL, its proven bound and DLD are in per cent."""


def write_table(path: Path, records: int) -> None:
    """Write a table with three factors behind ten columns of heavy tails, some rows at a time."""
    random = np.random.default_rng(7)
    factors = random.normal(size=(3, 10))
    writer = None
    for start in range(0, records, PIECE):
        n = min(PIECE, records - start)
        x = np.exp(0.8 * random.normal(size=(n, 3)) @ factors + 0.6 * random.normal(size=(n, 10)))
        columns: dict[str, Any] = {f"x{j}": x[:, j].round(3) for j in range(8)}
        columns |= {f"n{j}": np.rint(10.0 * x[:, 8 + j]).astype(np.int64) for j in range(2)}
        columns["id"] = np.arange(start, start + n)
        columns["illness"] = np.array(["a", "b", "c", "d"])[random.integers(0, 4, n)]
        columns["income"] = random.integers(0, 200, n)
        table = pa.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=2**17)
    assert writer is not None
    writer.close()


def _row(
    folder: Path, source: Path, records: int, way: str, rows: int, seen: dict[str, str]
) -> None:
    """Release a table one way, and print what that took."""
    place = folder / f"{records}-{way.replace(' ', '-')}"
    spec = _spec(folder, source, place, way, rows)
    measured = _measured(spec, place.with_suffix(".out"))
    manifest = next((place / "register").rglob("manifest.json"))
    measures = json.loads(manifest.read_text(encoding="utf-8"))["evaluation"]["measures"]
    data = sorted((place / "public").rglob("data.*"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in data)).hexdigest()
    compared = "whole" if way == "memory" else seen.setdefault("blocks", digest)
    same = "" if way == "memory" else "the same" if compared == digest else "OTHERS"
    _say(
        f"{records:>10} {way:12} {measured.wall:>8.1f} {measured.cpu:>8.1f} {measured.run:>8} "
        f"{measured.worker:>7} {measures['il']:>8.4f} {measures['il_bound']:>8.4f} "
        f"{measures['dld']:>8.4f}  {same}"
    )


def _spec(folder: Path, source: Path, place: Path, way: str, rows: int) -> Path:
    keys = [*(f"x{j}" for j in range(8)), "n0", "n1"]
    content: dict[str, Any] = {
        "release": {"name": "large", "title": "Large", "period": "2026-Q1", "licence": "CC0-1.0"},
        "source": {"path": str(source.absolute())},
        "columns": {
            "quasi_identifiers": keys,
            "integers": ["n0", "n1"],
            "identifiers": ["id"],
            "confidential": ["income", "illness"],
        },
        "microaggregation": {"method": "mdav", "k": 5},
        "gate": {"ceilings": {"il": 90.0, "dld": 39.0}},
        "publication": {
            "public_folder": str(place.absolute() / "public"),
            "register_folder": str(place.absolute() / "register"),
        },
    }
    if way != "memory":
        content["microaggregation"]["blocks"] = {"rows": rows, "seams": 1}
    if way not in ("memory", "blocks"):
        engine, _, workers = way.partition(" ")
        scratch = str((folder / "scratch").absolute())
        content["compute"] = {"engine": engine, "scratch_folder": scratch, "memory_rows": 1}
        if workers:
            content["compute"]["workers"] = int(workers)
    path = place.with_suffix(".yaml")
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def _measured(spec: Path, output: Path) -> Measured:
    """Run a release, and look at its processes until it ends."""
    started = time.monotonic()
    with output.open("w") as file:
        run = psutil.Popen([sys.executable, "-m", "flows.cli", "run", str(spec)], stdout=file)
    seconds: dict[int, float] = {}
    largest = {"run": 0, "worker": 0}
    while run.poll() is None:
        for process in _family(run):
            try:
                memory, times = process.memory_info().rss, process.cpu_times()
                kind = "worker" if "spawn_main" in " ".join(process.cmdline()) else "other"
            except psutil.Error:
                continue
            kind = "run" if process.pid == run.pid else kind
            seconds[process.pid] = times.user + times.system
            if kind in largest:
                largest[kind] = max(largest[kind], memory // MEBIBYTE)
        time.sleep(0.2)
    if run.returncode:
        raise SystemExit(f"the release ended with exit {run.returncode}; {output} tells why")
    return Measured(time.monotonic() - started, sum(seconds.values()), **largest)


def _family(run: psutil.Process) -> list[psutil.Process]:
    try:
        return [run, *run.children(recursive=True)]
    except psutil.Error:
        return []


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
