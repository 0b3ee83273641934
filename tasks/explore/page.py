"""The page of an exploration."""

from collections.abc import Mapping, Sequence

from algorithms.measures import MEASURES
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, best, front, recommendation
from tasks.explore.table import measured_names
from tasks.reporting.page import render
from tasks.reporting.pictures import Svg

MAIN = ("il", "rounding", "dld", "within_records", "reidentified_best", "il_over_bound")
"""Measures in the first table; the second table has all measures."""


def map_page(cells: Sequence[Cell], spec: ReleaseSpec, pictures: Mapping[str, Svg]) -> str:
    """Write the page with the recommendation, the map and the tables."""
    recommended = best(cells)
    return render(
        "map.html",
        spec=spec,
        cells=cells,
        measured=[cell for cell in cells if cell.evaluation is not None],
        recommended=recommended,
        recommendation=recommendation(cells, spec),
        warnings=_chosen(spec, recommended).warnings,
        pictures=pictures,
        shortlist=_shortlist(cells),
        main_measures={name: MEASURES[name] for name in MAIN},
        all_measures={name: MEASURES[name] for name in measured_names(cells)},
        limits=_limits(spec),
    )


def _chosen(spec: ReleaseSpec, recommended: Cell | None) -> ReleaseSpec:
    """Put the recommended choice into the spec."""
    if recommended is None:
        return spec
    return spec.model_copy(update={"microaggregation": recommended.choice})


def _shortlist(cells: Sequence[Cell]) -> list[tuple[Cell, bool]]:
    """List the choices that meet all limits or lie on the Pareto front; True marks the front."""
    on_front = {id(cell) for cell in front(cells)}
    rows = [(cell, id(cell) in on_front) for cell in cells]
    return sorted(
        ((cell, is_on_front) for cell, is_on_front in rows if cell.admissible or is_on_front),
        key=lambda row: (not row[0].admissible, row[0].measure("il"), row[0].name),
    )


def _limits(spec: ReleaseSpec) -> list[str]:
    return [
        f"k at least {spec.microaggregation.k}",
        *(f"{MEASURES[n].title} at most {most:g}" for n, most in spec.gate.ceilings.all.items()),
        *(f"{MEASURES[n].title} at least {least:g}" for n, least in spec.gate.floors.all.items()),
    ]
