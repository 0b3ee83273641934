"""Measures lower bounds beside the groups of ``best``, on the benchmark sets and on long tables.

``python -m benchmarks.bounds`` proves bounds for Tarragona, Census and EIA, in the folder that
``MICRORELEASE_BENCHMARK_DATA`` names, prints tables and draws
``docs/benchmarks/bounds-against-time.png``. All times are processor seconds of all threads, after a
first run on a small table that compiles the kernels. Budgets in rounds give the same groups and
bounds on any machine. Bounds by column generation are read from ``tests/reference/lower_bounds.csv``,
and proven again only with ``--column-seconds``, since they need minutes of an idle machine.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from algorithms.bounds.column_generation import group_bound
from algorithms.bounds.semidefinite import CHECK_EVERY, Ascent
from algorithms.local_search.search import loss_of
from algorithms.microaggregation import METHODS
from algorithms.problem import Budget, Problem
from algorithms.types import Labels, Matrix
from algorithms.utility.il import sum_of_squares
from benchmarks.printing import printed_by
from tasks.reporting.pictures import as_png, style
from tests.reference.printed import VARIABLE, dataset, printed

TITLE = "## Lower bounds"
PICTURES = Path(__file__).parents[1] / "docs" / "benchmarks"
PICTURE = "bounds-against-time.png"
TITLES = {"tarragona": "Tarragona", "census": "Census", "eia": "EIA"}
CELLS = tuple((name, k) for name in TITLES for k in (3, 4, 5, 10))
BETWEEN = tuple((name, k) for name in ("tarragona", "census") for k in (6, 8))
BUDGETS = (100_000, 300_000, 1_000_000, 3_000_000)
"""Rounds of ruin and recreate in ``best``, times the square of the group size."""
RECORDED_SECONDS, ENOUGH = 250, 1.0
"""Seconds of the recorded bounds by column generation, and the gap in per cent beyond which the
semidefinite bound is computed as well."""
ROUNDS, FEWER_ROUNDS = 480, 160
"""Rounds of the semidefinite bound where it stands alone, and after column generation."""
COLOURS = ("#08519c", "#5e9fd0", "#f1a340", "#b35806")

Point = tuple[float, float]
"""Processor seconds, and IL or a bound on it in per cent."""


@dataclass(frozen=True)
class Cell:
    """What was found and proven on one set for one group size.

    Attributes
    ----------
    name, k : str and int
        The set and the group size.
    best : tuple of Point
        IL of ``best``, one point for each budget.
    semidefinite : tuple of Point
        The semidefinite bound as it rises; empty if it was not tried.
    rounds : int
        Rounds of the semidefinite bound.
    columns : Point, optional
        The bound by column generation.
    recorded : bool
        Whether the bound by column generation is a recorded one; its seconds are by the clock.
    """

    name: str
    k: int
    best: tuple[Point, ...]
    semidefinite: tuple[Point, ...]
    rounds: int
    columns: Point | None = None
    recorded: bool = False

    @property
    def il(self) -> Point:
        """The lowest IL."""
        return min(self.best, key=lambda point: point[1])

    @property
    def bound(self) -> Point:
        """The larger bound."""
        ends = [*self.semidefinite[-1:], *([self.columns] if self.columns else [])]
        return max(ends, key=lambda point: point[1])

    @property
    def proof(self) -> str:
        """How the larger bound was proven."""
        if self.bound == self.columns:
            return "columns, recorded" if self.recorded else "columns"
        return f"semidefinite, {self.rounds} rounds"

    @property
    def gap(self) -> float:
        """How far the IL is above the bound, in per cent of it."""
        return 100.0 * (self.il[1] / self.bound[1] - 1.0)


def main() -> int:
    """Measure, print the tables and draw the picture."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bounds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--column-seconds",
        type=float,
        default=0.0,
        help="seconds of column generation for each cell with a recorded bound (default 0)",
    )
    options = parser.parse_args()
    if not os.environ.get(VARIABLE):
        sys.stderr.write(
            f"{VARIABLE} must name the folder with the benchmark sets; it is not set\n"
        )
        return 1
    PICTURES.mkdir(exist_ok=True)
    sys.stdout.write(section(PICTURES, options.column_seconds))
    return 0


def section(pictures: Path, column_seconds: float = 0.0) -> str:
    """Measure, draw the picture, and write the part of the page."""
    if not os.environ.get(VARIABLE):
        return f"{TITLE}\n\nNot measured: {VARIABLE} names no folder with the benchmark sets.\n"
    cells, between = measured(CELLS, column_seconds), measured(BETWEEN)
    return written(cells, between, printed_by("benchmarks.long_bounds"), pictures)


def written(
    cells: Sequence[Cell], between: Sequence[Cell], long_tables: str, pictures: Path
) -> str:
    """Draw the picture, and write the part of the page."""
    (pictures / PICTURE).write_bytes(as_png(_picture(cells), scale=1.5))
    within = {limit: sum(cell.gap <= limit for cell in cells) for limit in (1.0, 8.0)}
    return f"""{TITLE}

`python -m benchmarks.bounds`. No partition into groups of at least *k* records has a smaller IL than the bound, so
the gap says how far, at most, the groups are from the best ones. IL is that of [best](methods/best.md) with
{BUDGETS[-1]:,} / *k*² rounds of ruin and recreate. *Columns* is column generation with cuts, for *k* up to 5; *recorded* bounds
were proven in up to {RECORDED_SECONDS} seconds by the clock each, in an earlier run, and are read from `tests/reference/lower_bounds.csv`.
If they leave a gap of more than {ENOUGH:g} %, the semidefinite bound is computed in {FEWER_ROUNDS} rounds as well, and the larger bound counts.
For larger *k* it is the semidefinite bound in {ROUNDS} rounds. IL and bound are in per cent, rounded. All other times are
processor seconds of all threads, and those of a bound do not include `best`. The machine was busy with other work; budgets
in rounds give the same results on any machine.

{_table(cells)}

{within[1.0]} of {len(cells)} cells are proven within 1 %, {within[8.0]} within 8 %.

![IL and bounds against time](benchmarks/bounds-against-time.png)

Circles are IL of `best`, lines are semidefinite bounds, computed after every {CHECK_EVERY} rounds, and squares are bounds of column
generation, at {RECORDED_SECONDS} seconds if they are recorded ones. The least IL lies between. The table above this section has IL of
`best` with more time.

Between *k* = 5 and 10:

{_table(between)}

Long tables of three kinds, *k* = 5, by `python -m benchmarks.long_bounds`, each in a process of its own. IL is that of MDAV
followed by the moves of `best` without ruin and recreate. The ratios are IL divided by the neighbour bound
and by the strongest one, so that 1 would be proven optimal. Peak memory is that of the whole process, in GB.

{long_tables}
"""


def _table(cells: Sequence[Cell]) -> str:
    lines = [
        "| set | k | IL | bound | proven by | gap | seconds of `best` | seconds of the bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {TITLES[cell.name]} | {cell.k} | {cell.il[1]:.4f} | {cell.bound[1]:.4f} | "
        f"{cell.proof} | {cell.gap:.2f} % | {cell.il[0]:.1f} | {_seconds(cell)} |"
        for cell in cells
    ]
    return "\n".join(lines)


def _seconds(cell: Cell) -> str:
    if cell.recorded and cell.bound == cell.columns:
        return f"up to {RECORDED_SECONDS}"
    return f"{cell.bound[0]:.1f}"


def measured(cells: Sequence[tuple[str, int]], column_seconds: float = 0.0) -> list[Cell]:
    """Find groups and prove bounds for pairs of a set and a group size."""
    few = dataset("census")[:200]
    labels = _best(few, 3, 50)[1]
    if column_seconds:
        _column_point(few, 3, labels, 1.0)
    rising(few, 5, 60)
    return [_measured(name, k, column_seconds) for name, k in cells]


def _measured(name: str, k: int, column_seconds: float) -> Cell:
    x = dataset(name)
    runs = [_best(x, k, budget // k**2) for budget in BUDGETS]
    best = tuple(point for point, _ in runs)
    columns, recorded = None, recorded_bounds().get((name, k))
    if recorded and column_seconds:
        columns = _column_point(x, k, runs[-1][1], column_seconds)
    old = bool(recorded and (columns is None or columns[1] < recorded))
    if recorded and old:
        columns = (float(RECORDED_SECONDS), recorded)
    cell = Cell(name, k, best, (), 0, columns, old)
    if columns is None or cell.gap > ENOUGH:
        rounds = FEWER_ROUNDS if columns else ROUNDS
        cell = Cell(name, k, best, rising(x, k, rounds), rounds, columns, old)
    sys.stderr.write(f"{cell}: gap {cell.gap:.2f} %\n")
    return cell


def recorded_bounds() -> dict[tuple[str, int], float]:
    """Read the bounds that column generation proved."""
    return {
        (row["dataset"], int(row["k"])): float(row["group_bound"])
        for row in printed("lower_bounds.csv")
        if row["group_bound"]
    }


def _best(x: Matrix, k: int, rounds: int) -> tuple[Point, Labels]:
    start = time.process_time()
    labels = METHODS["best"].solve(Problem(x, k, budget=Budget(rounds))).labels
    taken = time.process_time() - start
    return (taken, 100.0 * loss_of(x, labels) / sum_of_squares(x)), labels


def _column_point(x: Matrix, k: int, labels: Labels, seconds: float) -> Point:
    start = time.process_time()
    found = group_bound(x, k, labels, seconds)
    taken = time.process_time() - start
    return taken, 100.0 * found.value / sum_of_squares(x)


def rising(x: Matrix, k: int, rounds: int) -> tuple[Point, ...]:
    """Follow the semidefinite bound: the best so far at each computation of it."""
    start = time.process_time()
    ascent = Ascent(np.ascontiguousarray(x), k)
    per_cent, best = 100.0 / sum_of_squares(x), 0.0
    points = []
    while ascent.rounds < rounds:
        ascent.advance()
        if ascent.rounds % CHECK_EVERY == 0 or ascent.rounds == rounds:
            best = max(best, per_cent * ascent.bound())
            points.append((time.process_time() - start, best))
    return tuple(points)


@style()
def _picture(cells: Sequence[Cell]) -> Figure:
    """Draw IL and bounds against time, one panel for each set and one colour for each group size."""
    drawing = Figure(figsize=(12.5, 4.6), layout="constrained")
    panels = drawing.subplots(1, len(TITLES))
    for axes, name in zip(panels, TITLES, strict=True):
        here = [cell for cell in cells if cell.name == name]
        for cell, colour in zip(here, COLOURS, strict=False):
            axes.plot(
                *zip(*cell.best, strict=True),
                "o-",
                color=colour,
                markersize=4,
                label=f"k = {cell.k}",
            )
            if cell.semidefinite:
                axes.plot(*zip(*cell.semidefinite, strict=True), color=colour)
            if cell.columns:
                axes.plot(*cell.columns, "s", color=colour, markersize=5)
        axes.set(xscale="log", yscale="log", title=TITLES[name], xlabel="seconds")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
    panels[0].set_ylabel("IL and bounds, %")
    drawing.legend(*panels[0].get_legend_handles_labels(), loc="outside center right")
    return drawing


if __name__ == "__main__":
    sys.exit(main())
