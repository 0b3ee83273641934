"""Compares blocks with whole tables: information loss and processor time.

Each table is grouped as a whole and in blocks, by MDAV, with the moves of ``best`` (``iterations:
0``) and with rounds of mending. IL is that of averages with all digits, k = 5. Times are processor
seconds of this process, after a first run on a small table that compiles the kernels. Run it with
``python -m benchmarks.scale``; 200,000 records take some minutes.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.blocks.cuts import Blocks
from algorithms.blocks.grouping import How, grouped_in_blocks, solved
from algorithms.problem import Problem
from algorithms.search.pool import centroids_of
from algorithms.types import Labels, Matrix
from benchmarks.printing import printed_by
from benchmarks.tables import KINDS

K = 5
RECORDS = 200_000
ROWS = {"heavy-tailed": 10_000, "quantised": 25_000}
MOVES: Mapping[str, Any] = {"iterations": 0}
SMALL = 10_000


@dataclass(frozen=True)
class Row:
    """One way to group a table.

    Attributes
    ----------
    name : str
        In words.
    seams : int, optional
        Rounds of mending; None for the whole table.
    refine : mapping, optional
        Options of the moves; None for none.
    """

    name: str
    seams: int | None = None
    refine: Mapping[str, Any] | None = None


WAYS = (
    Row("whole, MDAV"),
    Row("whole, MDAV and moves", refine=MOVES),
    Row("blocks, MDAV", seams=0),
    Row("blocks, MDAV and moves", seams=0, refine=MOVES),
    Row("blocks, MDAV and one seam", seams=1),
    Row("blocks, MDAV, moves, one seam", seams=1, refine=MOVES),
    Row("blocks, MDAV, moves, two seams", seams=2, refine=MOVES),
)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS, help="records of each table")
    parser.add_argument("--rows", type=int, help="records of a block; by default by kind of table")
    parser.add_argument("--kinds", nargs="+", choices=list(ROWS), default=list(ROWS))
    options = parser.parse_args()
    for kind in options.kinds:
        rows = options.rows or ROWS[kind]
        small = KINDS[kind](SMALL)
        for way in WAYS:
            _labels(small, way, SMALL // 4)
        _table(kind, KINDS[kind](options.records), rows)
    return 0


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure and print, and return the section of the page."""
    return f"## Scale\n\n{_PROSE}\n\n```\n{printed_by('benchmarks.scale')}\n```\n"


_PROSE = """`python -m benchmarks.scale` groups tables as a whole and in [blocks](spec.md#blocks).
IL is in per cent, with *k* = 5 and averages with all digits, also as a multiple of that of MDAV and
of that of MDAV with moves on the whole table; times are processor seconds."""


def _table(kind: str, x: Matrix, rows: int) -> None:
    _say(f"\n{kind}, {len(x):,} records, blocks of {rows:,}")
    _say(f"{'':32} {'IL':>8} {'/ MDAV':>8} {'/ moves':>8} {'CPU s':>8}")
    losses: list[float] = []
    for way in WAYS:
        started = time.process_time()
        labels = _labels(x, way, rows)
        seconds = time.process_time() - started
        losses.append(_il(x, labels))
        ratios = "".join(f" {losses[-1] / loss:>8.4f}" for loss in losses[:2])
        _say(f"{way.name:32} {losses[-1]:>8.4f}{ratios:18} {seconds:>8.1f}")


def _labels(x: Matrix, way: Row, rows: int) -> Labels:
    problem = Problem(x, K)
    how = How(K, "mdav", {}, False, way.refine, None, len(x))
    if way.seams is None:
        groups, _ = solved(how, problem)
    else:
        blocks = Blocks(rows, way.seams)
        groups, _ = grouped_in_blocks(how, problem, np.arange(len(x)), blocks)
    return groups.labels


def _il(x: Matrix, labels: Labels) -> float:
    lost = ((x - centroids_of(x, labels)[labels]) ** 2).sum()
    return float(100.0 * lost / ((x - x.mean(axis=0)) ** 2).sum())


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
