"""How many records share what is published."""

from algorithms.comparison import Comparison
from algorithms.measure import Measure


def _below(files: Comparison) -> float:
    return float((files.sizes < files.k).sum())


MEASURES = (
    Measure(
        "k",
        "k",
        "risk",
        "",
        "higher",
        "Records in the rarest combination of published quasi-identifiers.",
        "SWE02",
        lambda files: float(files.sizes.min()),
        needs_original=False,
    ),
    Measure(
        "below_k",
        "classes below k",
        "risk",
        "",
        "lower",
        "Combinations of published quasi-identifiers that stand in fewer than k records.",
        "SWE02",
        _below,
        needs_original=False,
    ),
    Measure(
        "reidentified_random",
        "re-identified at random",
        "risk",
        "%",
        "lower",
        "Records that are re-identified by an attacker who knows the group of each, and picks a "
        "record of it at random.",
        "DT01",
        lambda files: 100.0 * files.sizes.size / len(files.published),
        needs_original=False,
        worst=100.0,
        over_k=True,
    ),
)
