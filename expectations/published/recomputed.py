"""Of the figures in a published folder: those that need no original, computed again."""

from algorithms.attributes import Number
from algorithms.comparison import Released
from algorithms.errors import IntegrityError
from algorithms.evaluation import evaluate_released
from algorithms.table import Table
from expectations.published.claims import agrees
from expectations.published.verifier import PACKAGE, Verification
from expectations.tables import read_codes


def recompute(verified: Verification) -> dict[str, float]:
    """Compute the measures that a verified folder names and that need no original.

    A measure that a later version added is not demanded of what was published before.

    Raises
    ------
    IntegrityError
        If a figure in the folder's description is another, or unknown.
    """
    claims = verified.claims
    keys = claims.quasi_identifiers
    table = Table(
        attributes=tuple(Number(name) for name in keys),
        # measures of this side compare values and never calculate with them
        keys=tuple(read_codes(verified.table[name]).values for name in keys),
        confidential={
            name: read_codes(verified.table[name])
            for name, role in claims.roles.items()
            if role == "confidential"
        },
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
