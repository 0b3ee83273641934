"""Interval disclosure: how near the truth published values are."""

from typing import Literal

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Mask

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")

NEAR = 0.05
"""Half the width of an interval: in standard deviations, or as a share of all ranks."""


def near_values(files: Comparison) -> Mask:
    """Mark the values within a twentieth of a standard deviation of the truth.

    The standard deviation is that of the published column, which is the one an attacker knows.
    """
    deviation = files.after.std(axis=0, ddof=1) if len(files.after) > 1 else np.zeros(1)
    near: Mask = np.abs(files.before - files.after) <= NEAR * deviation
    return near


def near_ranks(files: Comparison) -> Mask:
    """Mark the values that fewer than a twentieth of all records separate from the truth."""
    near = np.empty(files.before.shape, dtype=bool)
    for j in range(files.before.shape[1]):
        values = np.sort(files.before[:, j])
        below, upto = (np.searchsorted(values, files.after[:, j], side) for side in _SIDES)
        own_below, own_upto = (np.searchsorted(values, files.before[:, j], side) for side in _SIDES)
        # records strictly between the two values, whichever is the larger
        between = np.maximum(np.maximum(below - own_upto, own_below - upto), 0)
        near[:, j] = between <= NEAR * len(values)
    return near


def _share(near: Mask, of_records: bool) -> float:
    return float(100.0 * (near.all(axis=1) if of_records else near).mean())


MEASURES = (
    Measure(
        name="within_records",
        title="records within 0.05 sd",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Records all of whose values lie within 0.05 standard deviations, of the published "
            "column, of their originals."
        ),
        paper="TM08",
        run=lambda files: _share(near_values(files), of_records=True),
        most=100.0,
    ),
    Measure(
        name="within_values",
        title="values within 0.05 sd",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Values that lie within 0.05 standard deviations, of the published column, of their "
            "originals."
        ),
        paper="TM08",
        run=lambda files: _share(near_values(files), of_records=False),
        most=100.0,
    ),
    Measure(
        name="within_ranks_records",
        title="records within 5 % of ranks",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Records none of whose values is separated from its original by more than 5 % of all "
            "records."
        ),
        paper="TM08",
        run=lambda files: _share(near_ranks(files), of_records=True),
        most=100.0,
    ),
    Measure(
        name="within_ranks_values",
        title="values within 5 % of ranks",
        kind="risk",
        unit="%",
        better="lower",
        definition="Values that are separated from their originals by at most 5 % of all records.",
        paper="TM08",
        run=lambda files: _share(near_ranks(files), of_records=False),
        most=100.0,
    ),
)
