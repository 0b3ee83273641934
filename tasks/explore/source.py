"""What an exploration tells of its source, whatever is chosen."""

from dataclasses import dataclass, field

from algorithms.risk.known import Exposure, unchanged_exposures
from algorithms.table import Table
from algorithms.utility.bound_curve import BoundCurve
from expectations.data_warnings import table_warnings


@dataclass(frozen=True)
class SourceFacts:
    """Counts of the source table that no choice of a method changes.

    Attributes
    ----------
    records : int
        Records of the table.
    exposures : tuple of Exposure
        Records that stand out by columns that are published unchanged.
    warnings : tuple of str
        Likely mistakes in the table.
    curve : BoundCurve
        The least possible IL by k, whatever the method.
    """

    records: int = 0
    exposures: tuple[Exposure, ...] = ()
    warnings: tuple[str, ...] = ()
    curve: BoundCurve = field(default_factory=BoundCurve)


def source_facts(table: Table, k: int, warnings: tuple[str, ...] = ()) -> SourceFacts:
    """Look at a source table before it is masked; add to warnings that reading it gave."""
    return SourceFacts(
        len(table), unchanged_exposures(table, k), (*warnings, *table_warnings(table, k))
    )
