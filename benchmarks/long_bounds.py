"""Measures lower bounds on long tables of three kinds, beside the groups of MDAV with moves.

``python -m benchmarks.long_bounds`` measures each table in a process of its own and prints a row of
a table for each. Times are processor seconds of all threads, after a first run on a small table
that compiles the kernels. ``--kinds`` and ``--records`` choose tables.
"""

import argparse
import resource
import sys
import time
from itertools import pairwise

from algorithms.bounds.distances import neighbour_bound
from algorithms.bounds.strongest import strongest_bound
from algorithms.local_search.search import loss_of, search
from algorithms.microaggregation.mdav import mdav
from algorithms.types import Matrix
from algorithms.utility.il import sum_of_squares
from benchmarks.printing import printed_by
from benchmarks.tables import KINDS

K = 5
SMALL, LARGE_ENOUGH = 1_000, 10_000
"""Records of a first run that compiles the kernels of bounds, and of one for those of trees."""
ROUNDS = {10_000: 100, 20_000: 60, 100_000: 20, 1_000_000: 1}
"""Rounds of the semidefinite bound by records; above 200,000, any number gives the weighted bound."""

TABLES = (
    *((kind, records) for records in (10_000, 100_000, 1_000_000) for kind in KINDS),
    ("heavy-tailed", 20_000),
)
HEAD = """\
| kind | records | IL | seconds | neighbour bound | ratio | seconds | strongest bound | proven | ratio | seconds | peak, GB |
|---|---|---|---|---|---|---|---|---|---|---|---|"""
LEFT_OUT = """\
Of 1,000,000 records the semidefinite bound would need some 25 GB, so that the bound by weighted distances is the strongest
there."""


def main() -> int:
    """Print the table, or one row of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_bounds", description=__doc__)
    parser.add_argument("--kind", choices=list(KINDS), help="measure one table of this kind only")
    parser.add_argument("--records", type=int, choices=list(ROUNDS), help="its records")
    options = parser.parse_args()
    if options.kind and options.records:
        sys.stdout.write(f"{row(options.kind, options.records, ROUNDS[options.records])}\n")
        return 0
    sys.stdout.write(f"{HEAD}\n")
    sys.stdout.flush()
    for kind, records in sorted(TABLES, key=lambda table: (list(KINDS).index(table[0]), table[1])):
        printed_by("benchmarks.long_bounds", "--kind", kind, "--records", str(records))
    sys.stdout.write(f"\n{LEFT_OUT}\n")
    return 0


def row(kind: str, records: int, rounds: int) -> str:
    """Group a table, prove bounds for it, and write a row of the page."""
    _measured(KINDS[kind](SMALL), 60)
    _grouped(KINDS[kind](LARGE_ENOUGH))
    loss, neighbour, strongest, proof, seconds = _measured(KINDS[kind](records), rounds)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return (
        f"| {kind} | {records:,} | {loss:.4f} | {seconds[0]:.1f} | "
        f"{neighbour:.4f} | {loss / neighbour:.3f} | {seconds[1]:.1f} | "
        f"{strongest:.4f} | {proof} | {loss / strongest:.3f} | {seconds[2]:.1f} | {memory:.1f} |"
    )


def _grouped(x: Matrix) -> float:
    return loss_of(x, search(x, mdav(x, K), K, iterations=0))


def _measured(x: Matrix, rounds: int) -> tuple[float, float, float, str, list[float]]:
    per_cent = 100.0 / sum_of_squares(x)
    times = [time.process_time()]
    loss = per_cent * _grouped(x)
    times.append(time.process_time())
    neighbour = per_cent * neighbour_bound(x, K)
    times.append(time.process_time())
    strongest = strongest_bound(x, K, rounds=rounds)
    times.append(time.process_time())
    seconds = [after - before for before, after in pairwise(times)]
    return loss, neighbour, per_cent * strongest.value, strongest.proof, seconds


if __name__ == "__main__":
    sys.exit(main())
