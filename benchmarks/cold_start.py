"""Times the start: what is imported, compiled or read from the cache before MDAV has its groups.

Each line is a process of its own; with a cold cache all kernels are compiled, with a warm one they
are read. The short table is searched by measuring all records, the long one through a tree. Run it
with ``python -m benchmarks.cold_start``; it takes about two minutes.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (500, 5_000)

CHILD = """
import time
started = time.perf_counter()
import algorithms
imported = time.perf_counter()
import numpy as np
from algorithms.microaggregation import METHODS
method = METHODS["mdav"]
found = time.perf_counter()
x = np.random.default_rng(1).lognormal(size=({rows}, 10))
runs = [time.perf_counter()]
for _ in range(2):
    method.run(x, 3)
    runs.append(time.perf_counter())
print(imported - started, found - imported, runs[1] - runs[0], runs[2] - runs[1])
"""


def main() -> int:
    """Print the table."""
    measure()
    return 0


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure, print, and return what belongs on the page."""
    table = "\n".join(measure())
    return f"## Cold start\n\n`python -m benchmarks.cold_start`. {_PROSE}\n\n```\n{table}\n```\n"


_PROSE = """Wall seconds in a new process: a cold cache compiles all
kernels that a run needs, a warm one reads them. `to the groups` is everything from the start of the
process to the end of the first run, and so an upper bound of the time before the first distance."""


def measure() -> list[str]:
    """Start processes, and print what they tell."""
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    say(
        f"{'records':>9}  {'cache':6}{'import algorithms':>19}{'import mdav':>13}{'first run':>11}"
        f"{'second run':>12}{'to the groups':>15}"
    )
    for rows in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("cold", "warm"):
                started = time.perf_counter()
                told = subprocess.run(
                    [sys.executable, "-c", CHILD.format(rows=rows)],
                    check=True,
                    capture_output=True,
                    text=True,
                    env=os.environ | {"XDG_CACHE_HOME": folder},
                )
                whole = time.perf_counter() - started
                package, method, first, second = map(float, told.stdout.split())
                say(
                    f"{rows:>9}  {cache:6}{package:>19.2f}{method:>13.2f}{first:>11.2f}"
                    f"{second:>12.3f}{whole - second:>15.2f}"
                )
    return lines


if __name__ == "__main__":
    sys.exit(main())
