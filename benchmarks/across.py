"""Times the measures that compare a release with earlier ones, on one core.

Persons stay in groups of about ten that last; in every release some persons change their group,
some are absent and some are muted. Run it with ``python -m benchmarks.across``; it takes about a
minute.
"""

import argparse
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from algorithms.attributes import Number
from algorithms.comparison import Comparison
from algorithms.history import History, Past
from algorithms.masked import Grouping, Masked
from algorithms.measures import MEASURES
from algorithms.table import Table
from algorithms.types import Labels, Partition
from benchmarks.printing import printed_by

MEASURED = (
    "candidates_min", "under_k_across", "singled_out", "exact_singled_out", "muted", "lone_changes",
)  # fmt: skip
GROUP_SIZE = 10
MOVING, ABSENT, MUTED = 0.02, 0.02, 0.03
GIBIBYTE = 2**20
"""In the unit of ``ru_maxrss``."""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.across", description=__doc__)
    parser.add_argument("--persons", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--releases", type=int, default=20, help="releases, the new one included")
    options = parser.parse_args()
    _measure(series(1_000, 3))  # kernels are compiled first
    for persons in options.persons:
        files = series(persons, options.releases)
        sys.stdout.write(f"\n{persons:,} persons, {options.releases} releases\n")
        _measure(files, printing=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIBIBYTE
        sys.stdout.write(f"peak memory {peak:.2f} GiB, the series included\n")
    return 0


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure and print, and return the section of the page."""
    return f"## Across releases\n\n{_PROSE}\n\n```\n{printed_by('benchmarks.across')}\n```\n"


_PROSE = """`python -m benchmarks.across` compares a release with 19 earlier ones, in seconds of
processor time on one core. Groups hold about ten persons and last; in each release 2 % of the
persons change their group, 2 % are absent and 3 % are muted. The first measure looks up all persons
in all releases for the others."""


def series(persons: int, releases: int) -> Comparison:
    """Draw a series; the last release is the new one."""
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.arange(persons) // GROUP_SIZE)
    past = []
    for t in range(releases - 1):
        there = rng.permutation(np.flatnonzero(rng.random(persons) >= ABSENT))
        visible = rng.random(there.size) >= MUTED
        past.append(Past(str(t), 5, there, groups[there], visible))
        groups = _moved(groups, rng)
    x = rng.normal(size=persons)
    table = Table((Number("x"),), (x,), persons=np.arange(persons))
    published = replace(table, persons=None, muted=rng.random(persons) < MUTED)
    grouping = Grouping((0,), Partition(groups, 1))
    return Comparison(
        Masked(published, (grouping,), 5, x[:, np.newaxis], table), History(tuple(past))
    )


def _moved(groups: Labels, rng: np.random.Generator) -> Labels:
    """Let persons change places with each other."""
    moving = np.flatnonzero(rng.random(groups.size) < MOVING)
    moved = groups.copy()
    moved[moving] = groups[rng.permutation(moving)]
    return moved


def _measure(files: Comparison, *, printing: bool = False) -> None:
    total = 0.0
    for name in MEASURED:
        start = time.process_time()
        value = MEASURES[name].run(files)
        seconds = time.process_time() - start
        total += seconds
        if printing:
            sys.stdout.write(f"{name:<20} {value:>10.4f} {seconds:8.2f} s\n")
    if printing:
        sys.stdout.write(f"{'all':<31} {total:8.2f} s\n")


if __name__ == "__main__":
    sys.exit(main())
