"""Releases in a row of small tables whose persons come, go, are absent and drift."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from algorithms.history import History, Past
from algorithms.masked import Masked
from algorithms.masking import Plan, mask
from algorithms.microaggregation import METHODS
from algorithms.series.cohorts import Cohorts
from algorithms.table import Table
from tests.tables import table_of

PLAN = Plan(k=3, method=METHODS["mdav"], cohorts=Cohorts())


def tables(
    releases: int, n: int = 40, d: int = 2, seed: int = 0, leaving: float = 0.1
) -> Iterator[Table]:
    """Draw tables of about ``n`` persons."""
    rng = np.random.default_rng(seed)
    x = rng.standard_t(4, (n, d))
    persons = np.arange(n)
    for _ in range(releases):
        here = rng.random(n) > 0.05
        yield replace(table_of(list(x[here].T)), persons=persons[here].copy())
        gone = rng.random(n) < leaving
        x = x + 0.05 * rng.normal(size=x.shape)
        x[gone] = rng.standard_t(4, (gone.sum(), d))
        persons[gone] = persons.max() + 1 + np.arange(gone.sum())


def past_of(masked: Masked, edition: str = "") -> Past:
    """Give what the vault keeps of a release."""
    (grouping,) = masked.groupings
    persons = masked.original.persons
    assert persons is not None
    muted = np.zeros(len(persons), dtype=bool) if grouping.muted is None else grouping.muted
    return Past(edition, masked.k, persons, grouping.partition.labels, ~muted)


def released(
    some: Iterator[Table], plan: Plan = PLAN, window: int | None = None
) -> list[tuple[Masked, Past]]:
    """Mask tables one after the other, each with regard to those before."""
    done: list[tuple[Masked, Past]] = []
    for t, table in enumerate(some):
        history = History(tuple(past for _, past in done), window)
        masked = mask(table, plan, history=history)
        done.append((masked, past_of(masked, f"release {t + 1}")))
    return done
