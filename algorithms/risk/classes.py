"""How many records share what is published."""

from algorithms.comparison import Released
from algorithms.measure import Measure


def _below(files: Released) -> float:
    return float((files.sizes < files.k).sum())


MEASURES = (
    Measure(
        name="k",
        title="k",
        kind="risk",
        unit="",
        better="higher",
        definition="Records in the rarest combination of published quasi-identifiers.",
        paper="SWE02",
        run=lambda files: float(files.sizes.min()),
        needs_original=False,
        least=1.0,
    ),
    Measure(
        name="below_k",
        title="classes below k",
        kind="risk",
        unit="",
        better="lower",
        definition=(
            "Combinations of published quasi-identifiers that stand in fewer than k records."
        ),
        paper="SWE02",
        run=_below,
        needs_original=False,
    ),
    Measure(
        name="reidentified_random",
        title="re-identified at random",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Records that are re-identified by an attacker who knows the group of each, and picks"
            " a record of it at random."
        ),
        paper="DT01",
        run=lambda files: 100.0 * files.sizes.size / len(files.table),
        needs_original=False,
        most=100.0,
        over_k=True,
    ),
)
