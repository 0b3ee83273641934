"""Times exact MDAV on long tables, beside brute force and sdcMicro, and prints the ratios.

All use one thread and give the same groups. Brute force is our own path for short tables, which
measures all free records for every question; seconds are those of the processor. A run that would
take longer than ``--limit`` is not made: what brute force would take is then summed up from single
rounds at shrinking lengths, and marked with ~. sdcMicro's C++ is measured if R and the package are
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
"""Lengths of awkward tables, in those of the shortest for which trees are used."""

REPEATS = 3
"""Runs on each awkward table, of which the shortest counts."""

GROUP_SIZES = (3, 10)
GROWTH_FROM = 50_000
MEMORY_ROWS = 500_000
PEER_SIZES = (20_000, 100_000)
ROUNDS = 10
STEADY = 200_000
"""Records altogether that are measured in each round of an estimate, at the least."""

SHORTEST = 1_000
"""Rows below which an estimate ends, and a full run is made."""


@dataclass(frozen=True)
class Row:
    """What one table took: seconds of ours, of brute force and of the peer, NaN if not run."""

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
    parser.add_argument("--memory", type=int, metavar="K", help="only tell the memory of one run")
    options = parser.parse_args()
    if options.memory:
        _memory(options.memory)
        return 0
    measure(options.limit, options.longest)
    return 0


def section(pictures: Path) -> str:
    """Measure, print, draw, and return what belongs on the page."""
    lines, rows = measure(150.0, 581_012)
    (pictures / "mdav.png").write_bytes(_drawn(rows))
    return (
        f"## Exact MDAV\n\n`python -m benchmarks.mdav`. {_PROSE}\n\n```\n"
        + "\n".join(lines)
        + "\n```\n\n![Seconds of MDAV against the number of records](benchmarks/mdav.png)\n"
    )


_PROSE = """Ten attributes, one thread, seconds of the processor;
`brute force` is our own path for short tables, which measures all free records for every question.
Groups are compared to the label wherever both were run; `~` marks what was summed up from single
rounds at shrinking lengths instead."""


def measure(limit: float, longest: int) -> tuple[list[str], list[Row]]:
    """Run everything, and print it on the way."""
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
        # in a process of its own, for the largest memory of a process never falls again
        command = [sys.executable, "-m", "benchmarks.mdav", "--memory", str(k)]
        say(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    return lines, rows


def _row(
    kind: str, size: int, k: int, limit: float, peer: bool, checks: list[float]
) -> tuple[Row, str]:
    """Run ours and, as far as the limit allows, the others; tell whether the groups agree."""
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
    """Find the table on which trees lose most against brute force."""
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
    """Time ours and brute force, so that both meet the same noise; the shortest runs count."""
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
    """Search through trees where at least so many records are free, and by brute force if not."""
    few = pool.FEW_ROWS
    pool.FEW_ROWS = records
    try:
        yield
    finally:
        pool.FEW_ROWS = few


def _warm_up() -> None:
    """Compile, or read from the cache, what is timed."""
    x = heavy_tailed(20_000)
    mdav(x, 3)
    with trees_from(sys.maxsize):
        mdav(x, 3)


def _estimated(x: Matrix, k: int) -> float:
    """Sum up what brute force takes: rounds at each length it passes through, times their number.

    Taken records are passed over as if they were there until the gaps are closed, so that all
    rounds in between cost the same.
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
    found = [
        (math.log(row.rows), math.log(row.ours))
        for row in rows
        if row.kind == "heavy-tailed" and row.k == k and row.rows >= GROWTH_FROM
    ]
    if len(found) < 2:
        return f"k = {k}: growth not measured"
    exponent = float(np.polyfit(*zip(*found, strict=True), 1)[0])
    return (
        f"k = {k}: seconds grow with the number of records to the power of {exponent:.2f}, from "
        f"{GROWTH_FROM:,} to {round(math.exp(found[-1][0])):,} heavy-tailed records"
    )


def _memory(k: int) -> None:
    """Tell the largest memory of one run beyond the data, per record."""
    x = heavy_tailed(MEMORY_ROWS)
    _warm_up()
    status, forget = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        sys.stdout.write("this system does not tell how much memory a process has used\n")
        return
    forget.write_text("5", encoding="ascii")  # the largest memory so far
    before = _kilobytes(status, "VmHWM")
    mdav(x, k)
    more = 1024 * (_kilobytes(status, "VmHWM") - before) / len(x)
    sys.stdout.write(f"k = {k}: {more:.0f} bytes per record beyond the data, of {len(x):,}\n")


def _kilobytes(status: Path, name: str) -> int:
    lines = status.read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split()[1])


def _has_peer() -> bool:
    try:
        found = subprocess.run(
            ["Rscript", "-e", "library(sdcMicro)"], capture_output=True, check=False
        )
    except OSError:
        return False
    return found.returncode == 0


PEER = """
x <- as.matrix(read.csv("{path}", header = FALSE))
taken <- system.time(sdcMicro::microaggregation(as.data.frame(x), method = "mdav", aggr = {k}))
cat(taken[["user.self"]] + taken[["sys.self"]])
"""


def _peer_seconds(x: Matrix, k: int, limit: float) -> float:
    """Time sdcMicro's MDAV without reading the table; NaN if it takes much too long."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        np.savetxt(path, x, delimiter=",")
        try:
            told = subprocess.run(
                ["Rscript", "-e", PEER.format(path=path, k=k)],
                capture_output=True,
                check=True,
                text=True,
                timeout=limit,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        except subprocess.TimeoutExpired:
            return math.nan
    return float(told.stdout.split()[-1])


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
    axes.minorticks_off()
    axes.set_title(f"MDAV, ten attributes, k = {k}, one thread")
    axes.legend()
    return as_png(drawing, scale=1.5)


if __name__ == "__main__":
    sys.exit(main())
