"""Every choice that was tried, as rows."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from algorithms.measures import MEASURES
from tasks.explore.cell import Cell, front

HEADINGS = ("method", "ordering", "k", "admissible", "on_front", "seconds", "fault")
MEASURED = {name: "k_found" if name == "k" else name for name in MEASURES}
"""Headings of measures; k is the one asked for, and k_found that of the smallest group."""


def rows_of(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """List what is known of each choice; measures that do not apply are empty."""
    best = {id(cell) for cell in front(cells)}
    return [
        {
            "method": cell.choice.method,
            "ordering": cell.choice.ordering or "",
            "k": cell.choice.k,
            "admissible": cell.admissible,
            "on_front": id(cell) in best,
            "seconds": round(cell.seconds, 3),
            "fault": cell.fault,
            **{
                heading: cell.evaluation.measures.get(name, "") if cell.evaluation else ""
                for name, heading in MEASURED.items()
            },
        }
        for cell in cells
    ]


def measured_names(cells: Sequence[Cell]) -> list[str]:
    """List the measures that some choice has."""
    known = {name for cell in cells if cell.evaluation for name in cell.evaluation.measures}
    return [name for name in MEASURES if name in known]


def csv_of(cells: Sequence[Cell]) -> str:
    """Write the rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*HEADINGS, *MEASURED.values()], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(cells))
    return text.getvalue()
