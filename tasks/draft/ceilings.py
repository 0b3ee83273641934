"""Proposes ceilings for a drafted spec, from a quick exploration."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from algorithms.local_search.search import default_iterations
from algorithms.types import Integers
from expectations.request.sections.gate import MANDATORY
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec import ReleaseSpec
from expectations.tables import read_persons, table_from_arrow
from tasks.explore.cell import Cell
from tasks.explore.proposal import propose
from tasks.listening import listener
from tasks.pipeline import mask_and_measure, plainly

MOST_RECORDS = 5_000
"""Of a larger table, a sample of this size is explored."""
MOST_ITERATIONS = 10_000
"""Some seconds on thousands of records; `best` gains less and less after that."""
SEED = 0


@dataclass(frozen=True)
class Ceilings:
    """Proposed ceilings, and the figures that they follow from.

    Attributes
    ----------
    proposed, measured : dict of str to float
        By the name of the measure.
    records : int
        How many records were explored.
    """

    proposed: dict[str, float]
    measured: dict[str, float]
    records: int

    @property
    def refused(self) -> tuple[str, ...]:
        """Measures for which no ceiling that can refuse allows the measured value."""
        return tuple(name for name, most in self.proposed.items() if self.measured[name] > most)


def iterations_for(records: int, k: int) -> int:
    """Choose a budget that suits the size of a table, as a round number.

    Examples
    --------
    >>> iterations_for(150, 5), iterations_for(2_000, 5), iterations_for(4, 2)
    (3600, 10000, 16)
    """
    wanted = min(default_iterations(records, k), MOST_ITERATIONS)
    step = int(10 ** max(len(str(wanted)) - 2, 0))
    return wanted // step * step


def quick_ceilings(source: pa.Table, spec: ReleaseSpec) -> Ceilings | None:
    """Mask a table, or a sample of it, as its spec says, and propose ceilings.

    Raises
    ------
    ReleaseError
        If the table cannot be masked, such as when a stratum is too small.
    """
    sample = source.take(pa.array(sampled(source, spec.columns.unit)))
    cells = list(_cells(sample, spec))
    proposal = propose(cells, spec)
    if proposal is None:
        return None
    measured = {name: proposal.basis.measure(name) for name in MANDATORY}
    return Ceilings(dict(proposal.ceilings), measured, sample.num_rows)


def sampled(source: pa.Table, unit: str | None, most: int = MOST_RECORDS) -> Integers:
    """Choose the records of a sample, in their order; records of one unit stay together."""
    records = source.num_rows
    if records <= most:
        return np.arange(records)
    owners = np.arange(records) if unit is None else read_persons(source.select([unit]))
    order = np.random.default_rng(SEED).permutation(int(owners.max()) + 1)
    sizes = np.bincount(owners)[order]
    chosen = order[np.cumsum(sizes) <= most]
    rows: Integers = np.flatnonzero(np.isin(owners, chosen))
    return rows


def _cells(sample: pa.Table, spec: ReleaseSpec) -> Iterator[Cell]:
    table = table_from_arrow(sample, spec.columns)
    own = spec.microaggregation
    quick = MicroaggregationSection(method="mdav", k=own.k, small_strata=own.small_strata)
    for choice in (quick, own):
        started = time.monotonic()
        changed = spec.model_copy(update={"microaggregation": choice})
        _, evaluation = mask_and_measure(table, changed, plainly, MANDATORY)
        cell = Cell(choice, evaluation, seconds=time.monotonic() - started)
        listener().cell_measured(cell, 2)
        yield cell
