"""Sizes of the classes of records that share all published values that are counted into k."""

from algorithms.comparison import PublishedFiles
from algorithms.measure import Measure


def _below(files: PublishedFiles) -> float:
    return float((files.sizes < files.k).sum())


MEASURES = (
    Measure(
        name="k",
        title="k",
        kind="risk",
        unit="",
        better="higher",
        definition=(
            "Number of records that share the rarest combination of published values that are "
            "counted into k: those of all columns but the confidential ones."
        ),
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
            "Number of combinations of published values counted into k that occur in fewer than k "
            "records."
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
            "Share of records re-identified by an attacker who knows the group of each record and "
            "picks one of its records at random."
        ),
        paper="DT01",
        run=lambda files: 100.0 * files.sizes.size / files.rows,
        needs_original=False,
        most=100.0,
        over_k=True,
    ),
)
