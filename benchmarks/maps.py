"""Draws the risk-utility maps of the benchmark sets, and writes docs/maps.md.

Run it with ``MICRORELEASE_BENCHMARK_DATA`` naming the folder of the benchmark sets:
``python -m benchmarks.maps``. It tries all methods, along two paths if they cut one, for k from 2
to 15, with the same code as ``microrelease explore``, and takes about half an hour on two cores.
"""

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from algorithms.microaggregation import METHODS
from algorithms.utility.bound_curve import BoundCurve, ks_between
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import load
from tasks.bound import bound
from tasks.explore.cell import Cell, bounded, choices, front, proven
from tasks.explore.pictures import loss_by_k, risk_utility_map
from tasks.explore.recommendation import recommendation
from tasks.explore.workers import working
from tasks.ingest import ingest
from tasks.reporting.pictures import as_png
from tasks.validate import validate
from tests.reference.printed import VARIABLE, columns_used

DOCS = Path(__file__).parents[1] / "docs"
ORDERINGS_TRIED = ("npn", "tsp")
CEILINGS = {"tarragona": (30.0, 40.0), "census": (12.0, 40.0), "eia": (3.0, 40.0)}
"""Ceilings of IL and DLD that are drawn as a box; examples that nobody has approved."""

TITLES = {"tarragona": "Tarragona", "census": "Census", "eia": "EIA"}


def main() -> int:
    """Draw the maps and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maps", description=__doc__)
    parser.add_argument("--k", type=int, nargs="+", default=list(range(2, 16)))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of one choice")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if not os.environ.get(VARIABLE):
        sys.stderr.write(
            f"{VARIABLE} must name the folder with the benchmark sets; it is not set\n"
        )
        return 1
    (DOCS / "maps").mkdir(exist_ok=True)
    parts = [INTRODUCTION]
    for name in CEILINGS:
        with tempfile.TemporaryDirectory() as folder:
            spec = _spec(name, Path(folder))
            cells, curve = _tried(spec, options)
        for picture, drawing in (
            ("map", risk_utility_map(cells, spec)),
            ("il-by-k", loss_by_k(cells, spec, curve)),
        ):
            (DOCS / "maps" / f"{name}-{picture}.png").write_bytes(as_png(drawing, scale=1.5))
        parts.append(_section(name, cells, spec))
        sys.stdout.write(f"{name}: {recommendation(cells, spec)}\n")
    (DOCS / "maps.md").write_text("\n".join(parts), encoding="utf-8")
    return 0


def _spec(name: str, folder: Path) -> ReleaseSpec:
    """Write a spec for a benchmark set, with all columns that the papers use."""
    source = Path(os.environ[VARIABLE]) / f"{name}.csv"
    with source.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    used = columns_used(name, list(rows[0]))
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, used, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    il, dld = CEILINGS[name]
    content = {
        "release": {"name": name, "period": "benchmark", "title": TITLES[name], "licence": "none"},
        "source": {"path": f"{name}.csv"},
        "columns": {"quasi_identifiers": used},
        "microaggregation": {"method": "mdav", "k": 5},
        "gate": {"ceilings": {"il": il, "dld": dld}},
        "publication": {"public_folder": "public", "register_folder": "register"},
    }
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return load(path)


def _tried(spec: ReleaseSpec, options: argparse.Namespace) -> tuple[Sequence[Cell], BoundCurve]:
    source, _ = ingest.fn(spec)
    table, _ = validate.fn(source, spec)
    wanted = choices(spec, options.methods, ORDERINGS_TRIED, options.k)
    with (
        working((table, spec), options.workers, options.seconds) as workers,
        ThreadPoolExecutor(options.workers) as threads,
    ):
        cells = []
        for cell in threads.map(workers.run, wanted):
            sys.stderr.write(
                f"{spec.release.name} {cell.name}: {cell.seconds:.1f} s {cell.fault}\n"
            )
            cells.append(cell)
    curve = bound.fn(table, spec, ks_between(options.k), proven(cells))
    return bounded(cells, curve), curve


def _section(name: str, cells: Sequence[Cell], spec: ReleaseSpec) -> str:
    rows = "\n".join(
        f"| {cell.name} | {cell.measure('il'):.4f} | {cell.measure('dld'):.4f} | "
        f"{cell.measure('within_records'):.2f} | {cell.measure('il_over_bound'):.2f} |"
        for cell in front(cells)
    )
    failed = [cell for cell in cells if cell.fault]
    without = (
        f" Without a result: {', '.join(f'{c.name} ({c.fault})' for c in failed)}."
        if failed
        else ""
    )
    return f"""
## {TITLES[name]}

![Risk-utility map of {TITLES[name]}](maps/{name}-map.png)

![IL by k on {TITLES[name]}](maps/{name}-il-by-k.png)

{recommendation(cells, spec)}{without}

The front, of {len(cells)} choices:

| choice | IL, % | DLD, % | records within 0.05 sd, % | IL over its lower bound |
|---|---|---|---|---|
{rows}
"""


INTRODUCTION = """# Maps

Risk-utility maps of the benchmark sets: every method, for *k* from 2 to 15; methods that cut a path are tried along
two paths. `python -m benchmarks.maps` draws them with the code of `microrelease explore`, which draws the same maps for
your own table; all figures are computed. The boxes are examples of ceilings. Grey curves are methods that are neither
on the front nor close to it."""

if __name__ == "__main__":
    sys.exit(main())
