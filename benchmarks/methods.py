"""Times the methods, and measures IL, on the benchmark sets and on tables of growing length.

``python -m benchmarks.methods`` prints two tables: IL and seconds on Tarragona, Census and EIA, if
``MICRORELEASE_BENCHMARK_DATA`` names their folder; and seconds on generated tables (ten attributes
of the built-in example) with the exponent of their growth, the ratio to MDAV on the longest table
done, and IL there. Compilation is not counted. A method is not run on tables that would take it
longer than ``--seconds``.
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path

import numpy as np

from algorithms.microaggregation import METHODS
from algorithms.problem import Problem
from algorithms.rounding.centroids import real_centroids
from algorithms.types import Matrix
from algorithms.utility.il import information_loss
from benchmarks.mdav import trees_from
from benchmarks.printing import printed_by
from benchmarks.tables import ATTRIBUTES, heavy_tailed
from tests.reference.printed import VARIABLE, dataset

WARM_UP = 300
GROUPING = [name for name in METHODS if not METHODS[name].reads_path]
"""Methods that need no path; ``benchmarks.cutting`` is about the others."""


def main() -> int:
    """Run the measurements and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.methods",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--k", type=int, default=5, help="group size (default 5)")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[2_500, 5_000, 10_000, 20_000],
        help="rows of the generated tables (default 2500 5000 10000 20000)",
    )
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="longest run to expect (default 30)"
    )
    parser.add_argument("--methods", nargs="+", choices=GROUPING, default=GROUPING)
    options = parser.parse_args()
    for name in options.methods:
        for few in (WARM_UP + 1, WARM_UP // 4):
            with trees_from(few):
                run(name, heavy_tailed(WARM_UP), options.k)
    if os.environ.get(VARIABLE):
        _benchmark_sets(options)
    else:
        sys.stdout.write(f"{VARIABLE} is not set: the benchmark sets are left out\n")
    _growth(options)
    return 0


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure and print, and return the section of the page."""
    table = printed_by("benchmarks.methods", "--seconds", "5")
    return f"## All methods\n\n{_PROSE}\n\n```\n{table}\n```\n"


_PROSE = """`python -m benchmarks.methods --seconds 5`: IL and wall seconds on the benchmark
sets, and seconds on generated tables (`heavy-tailed` above) with the exponent of their growth
between the two longest. A method is not run on tables that would take it longer than five
seconds."""


def run(name: str, x: Matrix, k: int) -> tuple[float, float]:
    """Run a method once; return its seconds and its IL."""
    start = time.perf_counter()
    groups = METHODS[name].solve(Problem(x, k))
    seconds = time.perf_counter() - start
    published = np.column_stack([real_centroids(column, groups) for column in x.T])
    return seconds, information_loss(x, published)[0]


def _benchmark_sets(options: argparse.Namespace) -> None:
    sets = ("tarragona", "census", "eia")
    sys.stdout.write(f"\nIL in per cent and seconds, k = {options.k}\n")
    sys.stdout.write(f"{'':14}" + "".join(f"{name:>22}" for name in sets) + "\n")
    for name in options.methods:
        results = [run(name, dataset(data), options.k) for data in sets]
        cells = "".join(f"{il:>13.4f} {seconds:>8.3f}" for seconds, il in results)
        sys.stdout.write(f"{name:14}{cells}\n")
        sys.stdout.flush()


def _growth(options: argparse.Namespace) -> None:
    tables = {rows: heavy_tailed(rows) for rows in sorted(options.sizes)}
    header = "".join(f"{rows:>10}" for rows in tables)
    sys.stdout.write(
        f"\nseconds on generated tables with {len(ATTRIBUTES)} attributes, k = {options.k}\n"
        f"{'':14}{header}{'exponent':>10}{'x mdav':>9}{'IL':>9}\n"
    )
    base: dict[int, float] = {}
    for name in ["mdav", *(name for name in options.methods if name != "mdav")]:
        times: dict[int, float] = {}
        loss = math.nan
        for rows, x in tables.items():
            if times and _expected(times, rows) > options.seconds:
                break
            times[rows], loss = run(name, x, options.k)
        if name == "mdav":
            base = times
        last = max(times)
        cells = "".join(
            f"{times[rows]:>10.3f}" if rows in times else f"{'-':>10}" for rows in tables
        )
        ratio = times[last] / base[last]
        sys.stdout.write(
            f"{name:14}{cells}{_shown(_exponent(times)):>10}{ratio:>9.2f}{loss:>9.3f}\n"
        )
        sys.stdout.flush()


def _shown(exponent: float) -> str:
    return "-" if math.isnan(exponent) else f"{exponent:.2f}"


def _exponent(times: dict[int, float]) -> float:
    """Fit seconds = c rows^e to the last two tables."""
    if len(times) < 2:
        return math.nan
    (few, short), (many, long) = sorted(times.items())[-2:]
    return math.log(long / short) / math.log(many / few)


def _expected(times: dict[int, float], rows: int) -> float:
    last = max(times)
    exponent = _exponent(times) if len(times) > 1 else 2.0
    return times[last] * (rows / last) ** max(exponent, 1.0)


if __name__ == "__main__":
    sys.exit(main())
