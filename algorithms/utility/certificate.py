"""How much better anyone could do."""

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Matrix
from algorithms.utility.bounds import neighbour_bound, weighted_bound
from algorithms.utility.il import information_loss


def least_loss(files: Comparison) -> float | None:
    """Bound from below what any partition into groups of at least k must lose, in per cent."""
    _, _, sst = files.once(information_loss, files.before, files.after)
    if sst == 0.0:
        return None
    return 100.0 * files.once(_bound, files.before, files.k, files.bound_rounds) / sst


def _bound(x: Matrix, k: int, rounds: int) -> float:
    return weighted_bound(x, k, rounds=rounds) if rounds else neighbour_bound(x, k)


def _ratio(files: Comparison) -> float | None:
    bound = least_loss(files)
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
        "where the spec grants rounds for it.",
        "LM09",
        least_loss,
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
