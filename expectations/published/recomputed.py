"""Of the figures in a published folder: those that need no original, computed again."""

import pandas as pd

from algorithms.errors import IntegrityError
from algorithms.evaluation import evaluate_published
from expectations.codes import codes_of
from expectations.published.claims import agrees
from expectations.published.verifier import PACKAGE, Verification


def recompute(verified: Verification) -> dict[str, float]:
    """Compute the measures that a verified folder names and that need no original.

    A measure that a later version added is not demanded of what was published before.

    Raises
    ------
    IntegrityError
        If a figure in the folder's description is another, or unknown.
    """
    claims = verified.claims
    frame = verified.table.to_pandas(types_mapper=pd.ArrowDtype)
    known = evaluate_published(
        frame[list(claims.quasi_identifiers)].to_numpy(dtype="float64"),
        claims.k,
        {
            name: codes_of(frame[name])
            for name, role in claims.roles.items()
            if role == "confidential"
        },
    )
    faults = [
        f"{name} must be {value}; it is {known.get(name, 'no measure that this version knows')}"
        for name, value in claims.measures.items()
        if name not in known or not agrees(known[name], value)
    ]
    if faults:
        raise IntegrityError(f"the folder does not hold what {PACKAGE} says: {'; '.join(faults)}")
    return {name: known[name] for name in claims.measures}
