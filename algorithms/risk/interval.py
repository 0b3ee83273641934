"""Interval disclosure: how close published values are to their originals.

Labels, codes and missing values are close only if they are equal.
"""

from typing import Literal

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Mask

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")

NEAR = 0.05
"""Half the width of an interval: in standard deviations, or as a share of all ranks."""


def near_values(files: Comparison) -> Mask:
    """Mark the values within 0.05 standard deviations of their originals.

    The standard deviation is that of the published column, because an attacker knows it.
    """
    deviation = files.after.std(axis=0, ddof=1) if len(files.after) > 1 else np.zeros(1)
    near: Mask = np.abs(files.before - files.after) <= NEAR * deviation
    return _by_column(files, near)


def near_ranks(files: Comparison) -> Mask:
    """Mark the values that at most 5 % of all records separate from their originals."""
    near = np.empty(files.before.shape, dtype=bool)
    for j in files.lines:
        values = np.sort(files.before[:, j])
        below, upto = (np.searchsorted(values, files.after[:, j], side) for side in _SIDES)
        own_below, own_upto = (np.searchsorted(values, files.before[:, j], side) for side in _SIDES)
        # records strictly between the two values, in either order
        between = np.maximum(np.maximum(below - own_upto, own_below - upto), 0)
        near[:, j] = between <= NEAR * len(values)
    return _by_column(files, near)


def _by_column(files: Comparison, near: Mask) -> Mask:
    """Reduce coordinates to key columns; off the number lines, near values are equal values."""
    same = files.before == files.after
    same[:, files.lines] = near[:, files.lines]
    places = files.original.embedding.places
    return np.column_stack([same[:, place].all(axis=1) for place in places])


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
            "Share of records whose values all lie within 0.05 standard deviations of their "
            "originals; the standard deviation is that of the published column."
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
            "Share of values that lie within 0.05 standard deviations of their originals; the "
            "standard deviation is that of the published column."
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
            "Share of records in which at most 5 % of all records separate each value from its "
            "original."
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
        definition="Share of values that at most 5 % of all records separate from their originals.",
        paper="TM08",
        run=lambda files: _share(near_ranks(files), of_records=False),
        most=100.0,
    ),
)
