"""Times the start: imports, and compilation or the cache, until MDAV has its first groups.

Each line is a separate process; with a cold cache all kernels are compiled, with a warm one they
are read. The short table is searched by brute force, the long one with a tree. Run it with
``python -m benchmarks.cold_start``; it takes about two minutes.
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
    """Measure and print, and return the section of the page."""
    table = "\n".join(measure())
    return f"## Cold start\n\n`python -m benchmarks.cold_start`. {_PROSE}\n\n```\n{table}\n```\n"


_PROSE = """Wall seconds in a new process: with a cold cache, all
kernels of a run are compiled; with a warm cache, they are read. `to the groups` is the time from
the start of the process to the end of the first run, an upper bound of the time before the first
distance."""


def measure() -> list[str]:
    """Start processes, and print their times."""
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
                process = subprocess.run(
                    [sys.executable, "-c", CHILD.format(rows=rows)],
                    check=True,
                    capture_output=True,
                    text=True,
                    env=os.environ | {"XDG_CACHE_HOME": folder},
                )
                whole = time.perf_counter() - started
                package, method, first, second = map(float, process.stdout.split())
                say(
                    f"{rows:>9}  {cache:6}{package:>19.2f}{method:>13.2f}{first:>11.2f}"
                    f"{second:>12.3f}{whole - second:>15.2f}"
                )
    return lines


if __name__ == "__main__":
    sys.exit(main())
