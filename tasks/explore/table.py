"""All choices of an exploration, as rows."""

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from algorithms.measure import figure
from algorithms.measures import MEASURES
from tasks.explore.cell import Cell, front

HEADINGS = (
    "method", "ordering", "k", "admissible", "on_front", "seconds", "iterations", "least_il", "gap",
    "fault",
)  # fmt: skip


def rows_of(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """List all choices with their measures; measures that do not apply are empty.

    ``least_il`` is the least possible IL at the k of the choice, and ``gap`` how far the choice is
    above the optimum at most, both in per cent.
    """
    on_front = {id(cell) for cell in front(cells)}
    return [
        {
            "method": cell.choice.method,
            "ordering": cell.choice.ordering or "",
            "k": cell.choice.k,
            "admissible": cell.admissible,
            "on_front": id(cell) in on_front,
            "seconds": round(cell.seconds, 3),
            "iterations": "" if cell.iterations is None else cell.iterations,
            "least_il": _written(cell.least),
            "gap": _written(cell.gap),
            "fault": cell.fault,
            **{
                heading: cell.evaluation.measures.get(name, "") if cell.evaluation else ""
                for name, heading in _headings(cells).items()
            },
        }
        for cell in cells
    ]


def _written(value: float) -> float | str:
    """Write a figure; empty if there is none."""
    return figure(value) if math.isfinite(value) else ""


def measured_names(cells: Sequence[Cell]) -> list[str]:
    """List the measures that at least one choice has."""
    known = {name for cell in cells if cell.evaluation for name in cell.evaluation.measures}
    return [name for name in MEASURES if name in known]


def _headings(cells: Sequence[Cell]) -> dict[str, str]:
    """Name the columns of measures; k is the request, k_found the size of the smallest group."""
    return {name: "k_found" if name == "k" else name for name in measured_names(cells)}


def csv_of(cells: Sequence[Cell]) -> str:
    """Write the rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*HEADINGS, *_headings(cells).values()], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(cells))
    return text.getvalue()
