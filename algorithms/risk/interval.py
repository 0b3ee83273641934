"""Interval disclosure: how close published values are to their originals.

Labels, codes and missing values are close only if they are equal.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algorithms.comparison import Files
from algorithms.measure import Measure
from algorithms.types import Integers, Mask, Matrix

NEAR = 0.05
"""Half the width of an interval: in standard deviations, or as a share of all ranks."""


@dataclass(frozen=True)
class Near:
    """How many values are near their originals, in per cent.

    Attributes
    ----------
    records : float
        Share of records whose values are all near.
    values : float
        Share of values that are near.
    """

    records: float
    values: float


Rule = Callable[[Matrix, Matrix], Mask]
"""Marks the values of a number line, given before and after, that are near their originals."""


def near_values(before: Matrix, after: Matrix) -> Mask:
    """Mark the values within 0.05 standard deviations of their originals.

    The standard deviation is that of the published column, because an attacker knows it.
    """
    deviation = float(after.std(ddof=1)) if after.size > 1 else 0.0
    near: Mask = np.abs(before - after) <= NEAR * deviation
    return near


def near_ranks(before: Matrix, after: Matrix) -> Mask:
    """Mark the values that at most 5 % of all records separate from their originals."""
    values = np.sort(before)
    own_below, own_upto = _ranks(values, before)
    below, upto = _ranks(values, after)
    # records strictly between the two values, in either order
    between = np.maximum(np.maximum(below - own_upto, own_below - upto), 0)
    near: Mask = between <= NEAR * len(values)
    return near


def _ranks(values: Matrix, asked: Matrix) -> tuple[Integers, Integers]:
    """Count the sorted values that are smaller than each asked one, and those that are not larger.

    Questions are asked in ascending order, which is many times as fast as any other order.
    """
    order = np.argsort(asked)
    questions = asked[order]
    below, upto = np.empty_like(order), np.empty_like(order)
    below[order] = np.searchsorted(values, questions, "left")
    upto[order] = np.searchsorted(values, questions, "right")
    return below, upto


def near(files: Files, rule: Rule) -> Near:
    """Count the values that are near their originals by a rule, column by column, only once."""
    return files.once(_counted, rule)


def _counted(files: Files, rule: Rule) -> Near:
    every, values = np.ones(files.rows, dtype=bool), 0
    for place in files.places:
        column = np.ones(files.rows, dtype=bool)
        for coordinate in range(place.start, place.stop):
            before, after = files.column(coordinate)
            column &= rule(before, after) if coordinate in files.lines else before == after
        every &= column
        values += int(column.sum())
    return Near(
        records=100.0 * float(every.mean()),
        values=100.0 * values / (files.rows * len(files.places)),
    )


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
        run=lambda files: near(files, near_values).records,
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
        run=lambda files: near(files, near_values).values,
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
        run=lambda files: near(files, near_ranks).records,
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
        run=lambda files: near(files, near_ranks).values,
        most=100.0,
    ),
)
