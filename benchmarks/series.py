"""Measures what groups that last cost on simulated panels, and what attackers get of them.

``python -m benchmarks.series`` takes about ten minutes. Tarragona and Census are in the folder that
``MICRORELEASE_BENCHMARK_DATA`` names; without it they are left out. ``--long`` groups 5,000 and
100,000 enterprises in two releases instead.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from algorithms.comparison import Comparison
from algorithms.evaluation import evaluate
from algorithms.history import History, Past
from algorithms.masking import Plan, mask
from algorithms.microaggregation import METHODS
from algorithms.series.cohorts import Cohorts
from benchmarks.printing import printed_by
from tests.cohorts import past_of
from tests.panels import Period, panel
from tests.reference.printed import VARIABLE
from tests.tables import table_of

CASES = (
    ("example", 5, 1, 5, None), ("example", 5, 2, 5, None),
    ("example", 12, 1, 5, None), ("example", 12, 2, 5, None),
    ("tarragona", 5, 1, 5, None), ("tarragona", 5, 2, 5, None),
    ("census", 5, 1, 5, None), ("census", 5, 2, 5, None),
    ("census", 12, 1, 5, 4), ("census", 12, 2, 5, 4), ("census", 12, 1, 5, None),
    ("census", 5, 1, 3, None), ("census", 5, 1, 10, None),
    ("moving", 5, 1, 5, None),
)  # fmt: skip
"""Panel, releases, seed, k and window."""
MEASURED = (
    "il_over_fresh", "muted", "candidates_min", "singled_out", "under_k_across", "lone_changes",
)  # fmt: skip
HEADER = (
    "panel      releases seed  k window   IL over fresh      muted, per cent   "
    "fewest      singled  below  lone     seconds of CPU\n"
    "                                      most   mean   mean   most   last   "
    "candidates  out      k      changes  per release\n"
)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.series", description=__doc__)
    parser.add_argument("--long", action="store_true", help="two releases of long tables")
    options = parser.parse_args()
    cases = CASES if VARIABLE in os.environ else tuple(case for case in CASES if case[0] in OWN)
    released(panel("example", 2, 1, rows=200), 5, None)  # kernels are compiled first
    sys.stdout.write(HEADER)
    if options.long:
        for rows in (5_000, 100_000):
            _print(f"{rows:,}", 2, 1, 5, None, released(panel("example", 2, 1, rows), 5, None))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            sys.stdout.write(f"peak memory {peak:.2f} GiB\n")
        return 0
    for name, periods, seed, k, window in cases:
        figures = released(panel(name, periods, seed), k, window)
        _print(name, periods, seed, k, window, figures)
    return 0


OWN = ("example", "moving")
"""Panels that need no benchmark set."""


def released(periods: Iterable[Period], k: int, window: int | None) -> list[dict[str, float]]:
    """Release the periods of a panel one after the other; give the figures of each."""
    past: list[Past] = []
    figures = []
    plan = Plan(k=k, method=METHODS["mdav"], cohorts=Cohorts())
    for persons, x in periods:
        table = replace(table_of(list(x.T)), persons=persons)
        history = History(tuple(past), window)
        started = time.process_time()
        masked = mask(table, plan, history=history)
        seconds = time.process_time() - started
        past.append(past_of(masked))
        measures = evaluate(Comparison(masked, history), MEASURED).exact
        figures.append({**measures, "seconds": seconds})
    return figures


def _print(
    name: str,
    periods: int,
    seed: int,
    k: int,
    window: int | None,
    figures: list[dict[str, float]],
) -> None:
    columns = {key: np.array([each[key] for each in figures]) for key in figures[0]}
    ratio, muted = columns["il_over_fresh"], columns["muted"]
    sys.stdout.write(
        f"{name:10} {periods:8} {seed:4} {k:2} {window or 'all':>6}  {ratio.max():6.3f} "
        f"{ratio.mean():6.3f} {muted.mean():6.2f} {muted.max():6.2f} {muted[-1]:6.2f}   "
        f"{columns['candidates_min'].min():10.0f}  {columns['singled_out'].max():7.2f}  "
        f"{columns['under_k_across'].max():5.2f}  {columns['lone_changes'].sum():7.0f}  "
        f"{columns['seconds'].mean():8.1f}\n"
    )
    sys.stdout.flush()


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure and print, and return the section of the page."""
    tables = "\n\n".join(printed_by("benchmarks.series", *more) for more in ((), ("--long",)))
    return f"## Groups that last\n\n{_PROSE}\n\n```\n{tables}\n```\n"


_PROSE = """`python -m benchmarks.series` releases simulated panels, each release with regard to all
earlier ones. In each period 5 % of the persons leave and as many enter, 2 % are absent and return,
and all drift; in `moving` half of the enterprises change altogether. Losses are compared with those
of fresh groups of `mdav`, and may be at most 1.25 times as large. Candidates, persons singled out
or below *k*, and lone changes are counted over all releases, or over the window, by code that
shares nothing with the search."""


if __name__ == "__main__":
    raise SystemExit(main())
