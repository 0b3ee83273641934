"""Recomputes the measures in a published folder that need no original."""

from algorithms.attributes import Number
from algorithms.comparison import Released
from algorithms.errors import IntegrityError
from algorithms.evaluation import evaluate_released
from algorithms.table import Codes, Table
from expectations.published.claims import agrees
from expectations.published.verifier import PACKAGE, Verification, silent_rows
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
    others = tuple(name for name in claims.of_role("other") if name in claims.known)
    keys = tuple(name for name in claims.known if name not in others)
    table = Table(
        attributes=tuple(Number(name) for name in keys),
        # measures of the published side compare values and never calculate with them
        keys=tuple(read_codes(verified.table[name]).values for name in keys),
        confidential=_codes(verified, claims.of_role("confidential")),
        other=_codes(verified, others),
        muted=silent_rows(verified.table, claims).to_numpy() if claims.muted else None,
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


def _codes(verified: Verification, names: tuple[str, ...]) -> dict[str, Codes]:
    return {name: read_codes(verified.table[name]) for name in names}
