"""Simulated panels: tables whose persons enter, leave, are absent once and drift.

In each period 5 % of the persons leave and as many enter, 2 % more are absent for one period and
return. Persons of the enterprise survey change as its generator has it; in Tarragona and Census
each value drifts by 2 % of the deviation of its column, and newcomers lie between two neighbours.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from algorithms.enterprise_survey import survey
from algorithms.types import Integers, Matrix
from tests.reference.printed import dataset

Period = tuple[Integers, Matrix]
"""The persons of a period, and their values."""

COLUMNS = (
    "employees", "hours_worked", "turnover", "wages", "exports", "investment", "research",
    "inventories", "energy_mwh", "freight_tonnes",
)  # fmt: skip
LEAVING, ABSENT, DRIFT = 0.05, 0.02, 0.02
NEAREST = 5
"""Neighbours of a person, between one of whom and the person a newcomer lies."""


def panel(name: str, periods: int, seed: int, rows: int = 1200) -> Iterator[Period]:
    """Draw a panel: a benchmark set, ``example``, or ``moving``, in which half of all change."""
    if name in ("example", "moving"):
        moving = 0.5 if name == "moving" else 0.0
        for quarter in survey(rows, periods, seed, leaving=LEAVING, absent=ABSENT, moving=moving):
            # enterprises that do not state their exports count as without any
            columns = [np.maximum(quarter[column], 0) for column in COLUMNS]
            yield quarter["company"], np.column_stack(columns).astype(np.float64)
    else:
        yield from _drifting(dataset(name), periods, np.random.default_rng(seed))


def _drifting(x: Matrix, periods: int, rng: np.random.Generator) -> Iterator[Period]:
    deviations = x.std(axis=0, ddof=1)
    persons = np.arange(len(x))
    for period in range(periods):
        if period:
            leaving = rng.random(len(x)) < LEAVING
            newcomers = _between_neighbours(x[~leaving], deviations, leaving.sum(), rng)
            x = x + DRIFT * deviations * rng.normal(size=x.shape)
            x[leaving] = newcomers
            persons = persons.copy()
            persons[leaving] = persons.max() + 1 + np.arange(leaving.sum())
        here = rng.random(len(x)) >= ABSENT
        yield persons[here], x[here]


def _between_neighbours(
    x: Matrix, deviations: Matrix, count: int, rng: np.random.Generator
) -> Matrix:
    tree = cKDTree(x / deviations)
    chosen = rng.integers(0, len(x), count)
    _, near = tree.query(x[chosen] / deviations, k=NEAREST + 1)
    other = near[np.arange(count), rng.integers(1, NEAREST + 1, count)]
    share = rng.random((count, 1))
    return share * x[chosen] + (1.0 - share) * x[other]
