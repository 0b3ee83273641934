"""How much better anyone could do."""

from algorithms.bounds.column_generation import LARGEST_TABLE, group_bound
from algorithms.bounds.distances import neighbour_bound, weighted_bound
from algorithms.comparison import Comparison
from algorithms.measure import Certified, Measure
from algorithms.utility.il import information_loss

CERTIFY_ROUNDS = 400
"""Rounds of the weighted bound if the spec asks for column generation only, which may fail."""


def least_loss(files: Comparison) -> float | Certified | None:
    """Bound from below what any partition into groups of at least k must lose, in per cent."""
    _, _, sst = files.once(information_loss, files.before, files.after)
    if sst == 0.0:
        return None
    bound, how = files.once(_bound, files)
    return Certified(100.0 * bound / sst, how) if how else 100.0 * bound / sst


def _bound(files: Comparison) -> tuple[float, str]:
    """Prove the bound that the spec grants time for, and say how if that depends on the time."""
    x, k, rounds = files.before, files.k, files.bound_rounds
    if files.certify_seconds and not rounds:
        rounds = CERTIFY_ROUNDS
    bound = weighted_bound(x, k, rounds=rounds) if rounds else neighbour_bound(x, k)
    if not files.certify_seconds:
        return bound, ""
    if len(x) > LARGEST_TABLE:
        return bound, (
            f"by weighted distances; column generation takes at most {LARGEST_TABLE:,} records"
        )
    certified, made = group_bound(x, k, files.classes, files.certify_seconds)
    if certified < bound:
        return bound, (
            f"by weighted distances; column generation reached no better bound in {made} rounds"
        )
    return certified, f"by column generation, in {made} rounds"


def _ratio(files: Comparison) -> float | None:
    found = least_loss(files)
    bound = found.value if isinstance(found, Certified) else found
    loss, _, _ = files.once(information_loss, files.before, files.after)
    return loss / bound if bound else None


MEASURES = (
    Measure(
        "il_bound",
        "least possible IL",
        "utility",
        "%",
        "lower",
        "Proven: no partition into groups of at least k loses less. Each record's squared "
        "distances to its k - 1 nearest others, over 2k, added up and divided by SST; stronger "
        "where the spec grants rounds or seconds for it.",
        "LM09",
        least_loss,
        worst=100.0,
    ),
    Measure(
        "il_over_bound",
        "IL over the least possible",
        "utility",
        "times",
        "lower",
        "IL over the proven least; what is published loses at most so many times the optimum.",
        "LM09",
        _ratio,
    ),
)
