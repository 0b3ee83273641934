"""Measures ``best`` with one chain and with two, which make the same number of rounds in all.

``python -m benchmarks.chains`` runs each search in a process of its own, after a first run on a
small table that compiles the kernels, and prints a table. Other work on the machine spoils its
times: two searches of one chain that run at the same time show what two cores can do at best.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from algorithms.local_search.search import default_iterations, loss_of, search
from algorithms.microaggregation.mdav import mdav
from algorithms.types import Matrix
from algorithms.utility.il import sum_of_squares
from benchmarks.tables import KINDS
from tests.reference.printed import VARIABLE, dataset

TITLE = "## Chains"
K, SMALL = 5, 500
SEEDS = 3

TABLES: dict[str, Callable[[], Matrix]] = {
    "Tarragona": lambda: dataset("tarragona"),
    "Census": lambda: dataset("census"),
    "EIA": lambda: dataset("eia"),
    "heavy-tailed, 2,000": lambda: KINDS["heavy-tailed"](2_000),
    "heavy-tailed, 20,000": lambda: KINDS["heavy-tailed"](20_000),
    "heavy-tailed, 100,000": lambda: KINDS["heavy-tailed"](100_000),
}
HEAD = """\
| table | rounds | IL, 1 chain | IL, 2 chains | difference | seconds, 1 chain | 2 chains | ratio | least ratio |
|---|---|---|---|---|---|---|---|---|"""


def main() -> int:
    """Print the table, or the figures of one search."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chains", description=__doc__)
    parser.add_argument("--table", choices=list(TABLES), help="make one search in this table")
    parser.add_argument("--chains", type=int, default=1, help="chains of that search")
    parser.add_argument("--seed", type=int, default=0, help="seed of that search")
    options = parser.parse_args()
    if not os.environ.get(VARIABLE):
        sys.stderr.write(
            f"{VARIABLE} must name the folder with the benchmark sets; it is not set\n"
        )
        return 1
    if options.table:
        _search(options.table, options.chains, options.seed)
    else:
        rows()
    return 0


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure and print, and return the section of the page."""
    if not os.environ.get(VARIABLE):
        return f"{TITLE}\n\nNot measured: {VARIABLE} names no folder with the benchmark sets.\n"
    return f"{TITLE}\n\n`python -m benchmarks.chains`. {_PROSE}\n\n" + "\n".join(rows()) + "\n"


_PROSE = f"""[best](methods/best.md) with *k* = {K}, its default budget of rounds, and one chain or two, which
make as many rounds together. IL is in per cent, the mean over {SEEDS} seeds. Seconds are by the clock, the median over
seeds, without MDAV. The least ratio is what two cores of this machine can reach: it is half of the time that two searches
of one chain take at the same time, divided by that of one alone."""


def rows() -> list[str]:
    """Measure all tables, and print a row for each."""
    lines = HEAD.splitlines()
    sys.stdout.write(f"{HEAD}\n")
    for name, draw in TABLES.items():
        one = [searched(name, 1, (seed,))[0] for seed in range(SEEDS)]
        two = [searched(name, 2, (seed,))[0] for seed in range(SEEDS)]
        pair = [seconds for _, seconds in searched(name, 1, (0, 1))]
        il, other = (statistics.mean(loss for loss, _ in found) for found in (one, two))
        alone, shared = (statistics.median(taken for _, taken in found) for found in (one, two))
        least = statistics.mean(pair) / (one[0][1] + one[1][1])
        lines.append(
            f"| {name} | {default_iterations(len(draw()), K):,} | {il:.4f} | {other:.4f} | "
            f"{100.0 * (other / il - 1.0):+.3f} % | {alone:.2f} | {shared:.2f} | "
            f"{shared / alone:.3f} | {least:.3f} |"
        )
        sys.stdout.write(f"{lines[-1]}\n")
        sys.stdout.flush()
    return lines


def searched(name: str, chains: int, seeds: tuple[int, ...]) -> list[tuple[float, float]]:
    """Search in as many processes at the same time as there are seeds; give IL and seconds."""
    command = [sys.executable, "-m", "benchmarks.chains", "--table", name, "--chains", str(chains)]
    processes = [
        subprocess.Popen(
            [*command, "--seed", str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in seeds
    ]
    found = []
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        loss, seconds = map(float, process.communicate()[0].split())
        found.append((loss, seconds))
    return found


def _search(name: str, chains: int, seed: int) -> None:
    """Search once the parent says so, and print IL and seconds."""
    few = KINDS["heavy-tailed"](SMALL)
    search(few, mdav(few, K), K, iterations=2_000, chains=2)
    x = TABLES[name]()
    start = mdav(x, K)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    started = time.perf_counter()
    labels = search(x, start, K, seed=seed, chains=chains)
    taken = time.perf_counter() - started
    sys.stdout.write(f"{100.0 * loss_of(x, labels) / sum_of_squares(x)} {taken}\n")


if __name__ == "__main__":
    sys.exit(main())
