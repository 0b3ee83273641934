"""The page of an exploration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from algorithms.measures import MEASURES
from expectations.concerns import Concern, concerns
from expectations.request.limits import limits_in_words
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, best, front, proven
from tasks.explore.proposal import propose
from tasks.explore.recommendation import (
    measures_not_computed,
    methods_not_tried,
    orderings_not_tried,
    recommendation,
)
from tasks.explore.source import SourceFacts
from tasks.explore.table import measured_names
from tasks.reporting.page import MOST_CONCERNS, render
from tasks.reporting.pictures import Svg

MAIN = ("il", "il_over_bound", "category_error", "dld", "linked_known", "one_value")
"""Measures in the first table, if they apply; the second table has all that were computed."""


def map_page(
    cells: Sequence[Cell],
    spec: ReleaseSpec,
    pictures: Mapping[str, Svg],
    source: SourceFacts | None = None,
) -> str:
    """Write the page with the recommendation, the map and the tables."""
    recommended = best(cells)
    proposal = propose(cells, spec)
    measured = measured_names(cells)
    source = source or SourceFacts()
    return render(
        "map.html",
        spec=spec,
        cells=cells,
        measured=[cell for cell in cells if cell.evaluation is not None],
        recommended=recommended,
        recommendation=recommendation(cells, spec),
        source=source,
        warnings=(*_chosen(spec, recommended).warnings, *source.warnings),
        pictures=pictures,
        bounds=_bounds(cells, source),
        curve=source.curve,
        shortlist=_shortlist(cells),
        main_measures={name: MEASURES[name] for name in MAIN if name in measured},
        all_measures={name: MEASURES[name] for name in measured},
        limits=limits_in_words(spec.gate, spec.microaggregation.k),
        proposal=proposal,
        snippet="" if proposal is None else proposal.snippet(spec),
        concerns=_concerns(spec, recommended),
        left_out={
            "Methods not tried": methods_not_tried(cells),
            "Orderings not tried": orderings_not_tried(cells),
            "Measures not computed": measures_not_computed(cells),
        },
        shortened=[cell for cell in cells if cell.shortened],
    )


@dataclass(frozen=True)
class BoundRow:
    """The least possible IL at one k, and the measured choice that comes closest to it, if any."""

    k: int
    least: float
    closest: Cell | None


def _bounds(cells: Sequence[Cell], source: SourceFacts) -> tuple[BoundRow, ...]:
    """List the least possible IL by k."""
    known = proven(cells)
    rows = []
    for k, least in sorted({**known, **source.curve.least}.items()):
        at_k = [cell for cell in cells if cell.choice.k == k and cell.evaluation is not None]
        closest = min(at_k, key=lambda cell: (cell.measure("il"), cell.name), default=None)
        rows.append(BoundRow(k, least, closest))
    return tuple(rows)


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


def _concerns(spec: ReleaseSpec, recommended: Cell | None) -> tuple[Concern, ...]:
    """Rank the measures of the recommended choice that give cause for concern."""
    if recommended is None or recommended.evaluation is None:
        return ()
    limits = {**spec.gate.ceilings.all, **spec.gate.floors.all}
    ranked = concerns(recommended.evaluation.measures, recommended.choice.k, limits)
    return tuple(concern for concern in ranked if concern.level != "low")[:MOST_CONCERNS]
