"""Recomputes the measures in a published folder that need no original."""

import numpy as np
import pandas as pd

from algorithms.attributes import Number
from algorithms.comparison import Released
from algorithms.errors import IntegrityError
from algorithms.evaluation import evaluate_released
from algorithms.table import Codes, Table
from algorithms.types import Labels, Mask
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
    table = Table(
        # measures of the published side compare combinations and never calculate with values
        attributes=(Number("combination"),),
        keys=(_combinations(verified),),
        confidential=_codes(verified, claims.of_role("confidential")),
        # muted records are found by them
        other=_codes(verified, claims.of_role("other")) if claims.muted else {},
        muted=_silent(verified) if claims.muted else None,
    )
    known = evaluate_released(Released(table, claims.k))
    faults = [
        f"{name} must be {value}; it is {known.get(name, 'no measure that this version knows')}"
        for name, value in claims.measures.items()
        if name not in known or not agrees(known[name], value)
    ]
    if faults:
        raise IntegrityError(f"the folder does not hold what {PACKAGE} says: {'; '.join(faults)}")
    return {name: known[name] for name in claims.measures}


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


def _codes(verified: Verification, names: tuple[str, ...]) -> dict[str, Codes]:
    return {name: read_codes(verified.column(name)) for name in names}
