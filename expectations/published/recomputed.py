"""Recomputes the measures in a published folder that need no original."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from algorithms.comparison import PublishedFiles
from algorithms.errors import IntegrityError
from algorithms.evaluation import evaluate_released
from algorithms.table import Codes
from algorithms.types import Integers, Labels, Mask
from expectations.published.claims import agrees
from expectations.published.files import PACKAGE
from expectations.published.verifier import Verification, silent_rows
from expectations.tables import read_codes


def recompute(verified: Verification) -> dict[str, float]:
    """Recompute the measures of a verified folder that need no original.

    Only measures that the folder claims are recomputed: it may be older than some measures.

    Raises
    ------
    IntegrityError
        If a measure in the description of the folder differs or is unknown.
    """
    claims = verified.claims
    known = evaluate_released(_Published(verified, claims.k))
    faults = [
        f"{name} must be {value}; it is {known.get(name, 'no measure that this version knows')}"
        for name, value in claims.measures.items()
        if name not in known or not agrees(known[name], value)
    ]
    if faults:
        raise IntegrityError(f"the folder does not hold what {PACKAGE} says: {'; '.join(faults)}")
    return {name: known[name] for name in claims.measures}


@dataclass(frozen=True, eq=False)
class _Published(PublishedFiles):
    """Published files that are read column by column.

    Attributes
    ----------
    verified : Verification
        The files.
    k : int
        The promised size of the smallest group.
    """

    verified: Verification
    k: int

    @property
    def rows(self) -> int:
        """Number of published records."""
        return self.verified.rows

    @cached_property
    def classes(self) -> Labels:
        """Number of each record's combination of published values that are counted into k."""
        return _combinations(self.verified)

    @cached_property
    def sizes(self) -> Integers:
        """Number of records of each such combination."""
        return np.bincount(self.classes)

    @cached_property
    def silent(self) -> Mask | None:
        """The records that show nothing beside key columns and strata; None if none is muted."""
        return _silent(self.verified) if self.verified.claims.muted else None

    @property
    def confidential_names(self) -> Sequence[str]:
        """Names of the confidential columns."""
        return self.verified.claims.of_role("confidential")

    def confidential(self, name: str) -> Codes:
        """Read one confidential column; measures of the published side compare values only."""
        return replace(read_codes(self.verified.column(name)), numbers=None)


def _combinations(verified: Verification) -> Labels:
    """Assign numbers to combinations of the columns counted into k, one column at a time."""
    numbers: Labels = np.zeros(verified.rows, dtype=np.int64)
    for name in verified.claims.known:
        values = pd.Series(pd.arrays.ArrowExtensionArray(verified.column(name)))
        codes, distinct = pd.factorize(values, use_na_sentinel=False)
        numbers, _ = pd.factorize(numbers * len(distinct) + codes)
    return numbers


def _silent(verified: Verification) -> Mask:
    """Mark the rows in which every column that muting empties is empty."""
    claims = verified.claims
    rows = [silent_rows(batch, claims).to_numpy() for batch in verified.batches()]
    return np.concatenate(rows)
