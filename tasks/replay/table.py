"""All choices of a replay, and all of their releases, as rows."""

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

from tasks.replay.choice import ATTACKS, EACH, OVER_FRESH, Replayed

RELEASE = ("method", "window", "il_over_fresh", "period", OVER_FRESH, *EACH, *ATTACKS)
"""Columns of the table of releases."""


def rows_of(replays: Iterable[Replayed]) -> list[dict[str, Any]]:
    """List every release of every choice; measures that do not apply are empty."""
    return [
        {
            "method": each.choice.method,
            "window": each.choice.window or "",
            "il_over_fresh": each.choice.il_over_fresh or "",
            "period": step.period,
            OVER_FRESH: _shown(step.over_fresh),
            **{name: _shown(step.measure(name)) for name in (*EACH, *ATTACKS)},
        }
        for each in replays
        for step in each.steps
    ]


def _shown(value: float) -> float | str:
    return "" if math.isnan(value) else round(value, 4)


def csv_of(replays: Iterable[Replayed]) -> str:
    """Write the rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, RELEASE, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(replays))
    return text.getvalue()
