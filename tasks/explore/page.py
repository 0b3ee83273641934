"""The map as a page."""

from collections.abc import Mapping, Sequence

from algorithms.measures import MEASURES
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, best, front, recommendation
from tasks.explore.table import measured_names
from tasks.reporting import page

MAIN = ("il", "rounding", "dld", "within_records", "reidentified_best", "il_over_bound")
"""Measures in the first table; all are in the second."""


def map_page(cells: Sequence[Cell], spec: ReleaseSpec, pictures: Mapping[str, page.Html]) -> str:
    """Put the recommendation, the map and the tables on one page."""
    names = measured_names(cells)
    pick = best(cells)
    kind, heading = _verdict(cells, pick)
    return page.page(
        "Risk-utility map",
        page.together(
            [
                page.notice(
                    kind,
                    heading,
                    page.paragraph(recommendation(cells, spec)),
                    *(
                        page.paragraph(page.strong("Warning:"), text)
                        for text in _chosen(spec, pick).warnings
                    ),
                ),
                page.figure(
                    pictures["map"],
                    "Information loss against linkage risk. One curve per method, each point one "
                    "k; the box holds what the ceilings allow, and the recommended choice has a "
                    "ring. Methods that are neither on the front nor near it are grey.",
                ),
                page.figure(
                    pictures["il-by-k"],
                    "Information loss by k. Below the dashed line no method can go, whatever it "
                    "does.",
                ),
                page.section("Choices worth a look", _choices(cells)),
                page.section("Every choice, every measure", _everything(cells, names)),
                page.section("What the measures mean", page.definitions(_meanings(names))),
                page.section("How this was made", page.definitions(_made(cells, spec))),
            ]
        ),
        about=f"{spec.release.title}, {spec.release.period}",
    )


def _verdict(cells: Sequence[Cell], pick: Cell | None) -> tuple[str, str]:
    """Say in a few words what was recommended, and how sure that is."""
    if pick is None:
        return "bad", "No choice keeps all limits"
    measured = sum(cell.evaluation is not None for cell in cells)
    if measured < len(cells):
        return "caution", f"Best of the {measured} of {len(cells)} choices measured: {pick.name}"
    return "good", f"Recommended: {pick.name}"


def _chosen(spec: ReleaseSpec, pick: Cell | None) -> ReleaseSpec:
    """Put the recommended choice into the spec."""
    return spec if pick is None else spec.model_copy(update={"microaggregation": pick.choice})


def _meanings(names: Sequence[str]) -> list[tuple[str, str]]:
    return [
        (
            MEASURES[name].title + (f" ({MEASURES[name].unit})" if MEASURES[name].unit else ""),
            f"{MEASURES[name].definition} {MEASURES[name].better.capitalize()} is better.",
        )
        for name in names
    ]


def _choices(cells: Sequence[Cell]) -> page.Html:
    on_front = {id(cell) for cell in front(cells)}
    pick = best(cells)
    shown = sorted(
        (c for c in cells if c.evaluation and (c.admissible or id(c) in on_front)),
        key=lambda cell: (not cell.admissible, cell.measure("il"), cell.name),
    )
    return page.table(
        ["choice", *(MEASURES[name].title for name in MAIN), "limits", "front"],
        [
            [
                cell.name + (" ← recommended" if cell is pick else ""),
                *(_shown(cell, name) for name in MAIN),
                page.verdict(
                    cell.admissible, ("kept", "k below the spec's" if cell.below else "not kept")
                ),
                "yes" if id(cell) in on_front else "",
            ]
            for cell in shown
        ],
        caption="Choices that keep all limits, and those on the front, by IL",
        numbers=range(1, len(MAIN) + 1),
    )


def _everything(cells: Sequence[Cell], names: Sequence[str]) -> page.Html:
    return page.table(
        ["choice", "seconds", *(MEASURES[name].title for name in names)],
        [
            [
                cell.name,
                f"{cell.seconds:.2f}",
                *(
                    [_shown(cell, name) for name in names]
                    if cell.evaluation
                    else [cell.fault, *[""] * (len(names) - 1)]
                ),
            ]
            for cell in cells
        ],
        caption="All choices that were tried",
        numbers=range(1, len(names) + 2),
    )


def _shown(cell: Cell, name: str) -> str:
    found = cell.evaluation.measures.get(name) if cell.evaluation else None
    return "" if found is None else MEASURES[name].shown(found)


def _made(cells: Sequence[Cell], spec: ReleaseSpec) -> list[tuple[str, str]]:
    failed = [cell for cell in cells if cell.fault]
    records = next((cell.evaluation.records for cell in cells if cell.evaluation), 0)
    limits = [
        f"k at least {spec.microaggregation.k}",
        *(f"{MEASURES[n].title} at most {most:g}" for n, most in spec.gate.ceilings.all.items()),
        *(f"{MEASURES[n].title} at least {least:g}" for n, least in spec.gate.floors.all.items()),
    ]
    return [
        ("Table", f"{spec.release.name} {spec.release.period}, {records} records"),
        ("Quasi-identifiers", ", ".join(spec.columns.quasi_identifiers)),
        ("Limits", "; ".join(limits)),
        ("Choices", f"{len(cells)} tried, {len(failed)} without a result"),
        ("Published", "nothing: a map only measures"),
    ]
