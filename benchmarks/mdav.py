"""Times exact MDAV on long tables, beside brute force and sdcMicro, and prints the ratios.

All use one thread and give the same groups. Brute force is our own code for short tables, which
computes the distances to all free records for every query; times are CPU seconds. If brute force
would take longer than ``--limit``, its time is estimated instead, by adding up single rounds at
decreasing lengths, and marked with ~. sdcMicro's C++ is measured if R and the package are
installed. Run it with ``python -m benchmarks.mdav``; it takes about ten minutes.
"""

import argparse
import itertools
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from algorithms.microaggregation.mdav import mdav
from algorithms.search import pool
from algorithms.search.opposites import cut_opposites
from algorithms.search.scan import COMPACT_BELOW
from algorithms.types import Labels, Matrix
from benchmarks.tables import KINDS, awkward, heavy_tailed
from tasks.reporting.pictures import MARKERS, SERIES, as_png, figure, style

SIZES = {
    "heavy-tailed": (20_000, 50_000, 100_000, 200_000, 500_000),
    "quantised": (20_000, 100_000, 581_012),
    "independent": (20_000, 100_000, 500_000),
}
"""The longest quantised table has as many records as Forest Cover, the literature's largest set."""

AWKWARD_COLUMNS = (2, 10, 20)
AWKWARD_LENGTHS = (1.01, 2.0)
"""Lengths of awkward tables, as multiples of the shortest table that is searched with trees."""

REPEATS = 3
"""Number of runs on each awkward table; the shortest counts."""

GROUP_SIZES = (3, 10)
GROWTH_FROM = 50_000
MEMORY_ROWS = 500_000
PEER_SIZES = (20_000, 100_000)
ROUNDS = 10
STEADY = 200_000
"""Smallest number of records that each round of an estimate measures."""

SHORTEST = 1_000
"""Number of rows below which an estimate ends with a full run."""


@dataclass(frozen=True)
class Row:
    """Seconds on one table: ours, brute force and the peer; NaN if not run."""

    kind: str
    rows: int
    k: int
    ours: float
    brute: float
    is_estimate: bool
    peer: float


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mdav", description=__doc__)
    parser.add_argument("--limit", type=float, default=150.0, help="seconds that one run may take")
    parser.add_argument("--longest", type=int, default=581_012, help="records of the longest table")
    parser.add_argument(
        "--memory", type=int, metavar="K", help="only measure the memory of one run"
    )
    options = parser.parse_args()
    if options.memory:
        _memory(options.memory)
        return 0
    measure(options.limit, options.longest)
    return 0


def section(pictures: Path) -> str:
    """Measure, print and draw, and return the section of the page."""
    lines, rows = measure(150.0, 581_012)
    (pictures / "mdav.png").write_bytes(_drawn(rows))
    return (
        f"## Exact MDAV\n\n`python -m benchmarks.mdav`. {_PROSE}\n\n```\n"
        + "\n".join(lines)
        + "\n```\n\n![Seconds of MDAV against the number of records](benchmarks/mdav.png)\n"
    )


_PROSE = """Ten attributes, one thread, CPU seconds.
`brute force` is our own code for short tables, which computes all distances for every query.
If both were run, their groups are compared label by label; `~` marks estimates, which add up single
rounds at decreasing lengths."""


def measure(limit: float, longest: int) -> tuple[list[str], list[Row]]:
    """Run all measurements, and print the results as they come."""
    _warm_up()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    peer = _has_peer()
    say("sdcMicro is installed" if peer else "R with sdcMicro is not installed; it is left out")
    say(
        f"{'table':14}{'records':>9}{'k':>4}{'seconds':>10}{'brute force':>13}{'ratio':>8}"
        f"{'groups':>14}" + (f"{'sdcMicro':>11}{'ratio':>8}" if peer else "")
    )
    rows: list[Row] = []
    checks: list[float] = []
    for kind, sizes in SIZES.items():
        for k in GROUP_SIZES:
            for size in (size for size in sizes if size <= longest):
                row, compared = _row(kind, size, k, limit, peer, checks)
                rows.append(row)
                brute = f"{'~' if row.is_estimate else ''}{row.brute:.2f}"
                ratio = f"{'~' if row.is_estimate else ''}{row.brute / row.ours:.1f}"
                line = (
                    f"{kind:14}{size:>9}{k:>4}{row.ours:>10.2f}{brute:>13}{ratio:>8}{compared:>14}"
                )
                if peer and not math.isnan(row.peer):
                    line += f"{row.peer:>11.1f}{row.peer / row.ours:>8.0f}"
                say(line)
    say(
        "estimates of brute force, where it was also run: "
        f"{min(checks):.2f} to {max(checks):.2f} of what it took"
    )
    say(_awkward(longest))
    for k in GROUP_SIZES:
        say(_growth(rows, k))
        # in a separate process, because the peak memory of a process never falls
        command = [sys.executable, "-m", "benchmarks.mdav", "--memory", str(k)]
        say(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    return lines, rows


def _row(
    kind: str, size: int, k: int, limit: float, peer: bool, checks: list[float]
) -> tuple[Row, str]:
    """Run ours and, within the limit, the others; report whether the groups agree."""
    x = KINDS[kind](size)
    ours, groups = _timed(x, k)
    brute, is_estimate, compared = _estimated(x, k), True, "not compared"
    if brute <= limit:
        with trees_from(sys.maxsize):
            seconds, expected = _timed(x, k)
        checks.append(brute / seconds)
        brute, is_estimate = seconds, False
        compared = "the same" if np.array_equal(groups, expected) else "DIFFERENT"
    theirs = math.nan
    if peer and kind == "heavy-tailed" and size in PEER_SIZES:
        theirs = _peer_seconds(x, k, limit)
    return Row(kind, size, k, ours, brute, is_estimate, theirs), compared


def _awkward(longest: int) -> str:
    """Find the table on which trees are slowest compared with brute force."""
    ratios = {}
    for columns, length in itertools.product(AWKWARD_COLUMNS, AWKWARD_LENGTHS):
        size = min(int(length * pool.shortest_for_trees(columns)), longest)
        for kind, x in awkward(size, columns).items():
            for k in GROUP_SIZES:
                ours, brute = _in_turns(x, k)
                ratios[f"{kind}, {size} x {columns}, k = {k}"] = brute / ours
    worst = min(ratios, key=lambda name: ratios[name])
    slower = sum(ratio < 1.0 for ratio in ratios.values())
    return (
        f"{len(ratios)} awkward tables, just long enough for trees or twice as long: "
        f"{slower} take longer than by brute force, at the worst {ratios[worst]:.2f} ({worst})"
    )


def _in_turns(x: Matrix, k: int) -> tuple[float, float]:
    """Time ours and brute force in turns, for the same noise; the shortest runs count."""
    ours = brute = math.inf
    for _ in range(REPEATS):
        ours = min(ours, _timed(x, k)[0])
        with trees_from(sys.maxsize):
            brute = min(brute, _timed(x, k)[0])
    return ours, brute


def _timed(x: Matrix, k: int) -> tuple[float, Labels]:
    started = time.process_time()
    groups = mdav(x, k)
    return time.process_time() - started, groups


@contextmanager
def trees_from(records: int) -> Iterator[None]:
    """Search with trees if at least ``records`` are free, and by brute force otherwise."""
    few = pool.FEW_ROWS
    pool.FEW_ROWS = records
    try:
        yield
    finally:
        pool.FEW_ROWS = few


def _warm_up() -> None:
    """Compile the timed kernels, or read them from the cache."""
    x = heavy_tailed(20_000)
    mdav(x, 3)
    with trees_from(sys.maxsize):
        mdav(x, 3)


def _estimated(x: Matrix, k: int) -> float:
    """Estimate the time of brute force: the time of a round at each length, times their number.

    Grouped records are skipped but still stored until the table is compacted, so that all rounds
    in between cost the same.
    """
    seconds, size = 0.0, len(x)
    with trees_from(sys.maxsize):
        while size >= max(SHORTEST, 8 * ROUNDS * k):
            batches = max(STEADY // size, 1)
            taken = 0.0
            for _ in range(batches):
                records = pool.Pool(x[:size])
                cut_opposites(records, k)
                started = time.process_time()
                for _ in range(ROUNDS):
                    cut_opposites(records, k)
                taken += time.process_time() - started
            each = taken / (ROUNDS * batches)
            left = int(COMPACT_BELOW * size)
            seconds += each * (size - left) / (2 * k)
            size = left
        seconds += _timed(x[:size], k)[0]
    return seconds


def _growth(rows: list[Row], k: int) -> str:
    """Fit seconds = c rows^e to the longer heavy-tailed tables, by least squares."""
    points = [
        (math.log(row.rows), math.log(row.ours))
        for row in rows
        if row.kind == "heavy-tailed" and row.k == k and row.rows >= GROWTH_FROM
    ]
    if len(points) < 2:
        return f"k = {k}: growth not measured"
    exponent = float(np.polyfit(*zip(*points, strict=True), 1)[0])
    return (
        f"k = {k}: seconds grow with the number of records to the power of {exponent:.2f}, from "
        f"{GROWTH_FROM:,} to {round(math.exp(points[-1][0])):,} heavy-tailed records"
    )


def _memory(k: int) -> None:
    """Measure the peak memory of one run beyond the data, per record."""
    x = heavy_tailed(MEMORY_ROWS)
    _warm_up()
    status, forget = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        sys.stdout.write("this system does not report the peak memory of a process\n")
        return
    forget.write_text("5", encoding="ascii")  # resets the peak
    before = _kilobytes(status, "VmHWM")
    mdav(x, k)
    more = 1024 * (_kilobytes(status, "VmHWM") - before) / len(x)
    sys.stdout.write(f"k = {k}: {more:.0f} bytes per record beyond the data, of {len(x):,}\n")


def _kilobytes(status: Path, name: str) -> int:
    lines = status.read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split()[1])


def _has_peer() -> bool:
    try:
        process = subprocess.run(
            ["Rscript", "-e", "library(sdcMicro)"], capture_output=True, check=False
        )
    except OSError:
        return False
    return process.returncode == 0


PEER = """
x <- as.matrix(read.csv("{path}", header = FALSE))
taken <- system.time(sdcMicro::microaggregation(as.data.frame(x), method = "mdav", aggr = {k}))
cat(taken[["user.self"]] + taken[["sys.self"]])
"""


def _peer_seconds(x: Matrix, k: int, limit: float) -> float:
    """Time the MDAV of sdcMicro without reading the table; NaN if it exceeds the limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        np.savetxt(path, x, delimiter=",")
        try:
            process = subprocess.run(
                ["Rscript", "-e", PEER.format(path=path, k=k)],
                capture_output=True,
                check=True,
                text=True,
                timeout=limit,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        except subprocess.TimeoutExpired:
            return math.nan
    return float(process.stdout.split()[-1])


@style()
def _drawn(rows: list[Row]) -> bytes:
    drawing, axes = figure(width=520, height=340)
    k = GROUP_SIZES[0]
    for number, kind in enumerate(SIZES):
        here = [row for row in rows if row.kind == kind and row.k == k]
        sizes = [row.rows for row in here]
        look = {"color": SERIES[number], "marker": MARKERS[number]}
        axes.plot(sizes, [row.ours for row in here], label=f"{kind}, ours", **look)
        if kind == "heavy-tailed":
            label = "brute force; not filled: estimated"
            axes.plot(sizes, [row.brute for row in here], linestyle="--", label=label, **look)
            guessed = [row for row in here if row.is_estimate]
            axes.plot(
                [row.rows for row in guessed],
                [row.brute for row in guessed],
                linestyle="",
                markerfacecolor="white",
                **look,
            )
            peers = [row for row in here if not math.isnan(row.peer)]
            if peers:
                axes.plot(
                    [row.rows for row in peers],
                    [row.peer for row in peers],
                    color=SERIES[-1],
                    marker=MARKERS[-1],
                    linestyle=":",
                    label="sdcMicro",
                )
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="seconds")
    ticks = SIZES["heavy-tailed"]
    axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_title(f"MDAV, ten attributes, k = {k}, one thread")
    axes.legend()
    return as_png(drawing, scale=1.5)


if __name__ == "__main__":
    sys.exit(main())
