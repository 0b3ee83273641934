"""Checks a spec and its source; runs nothing."""

from dataclasses import dataclass

from algorithms.risk.known import Exposure, unchanged_exposures
from algorithms.strata import settle
from expectations.data_warnings import source_warnings, table_warnings
from expectations.request.limits import limits_in_words
from expectations.request.spec import ReleaseSpec
from expectations.suites.require import plainly
from tasks.ingest import connection_warnings, ingest
from tasks.recall import recall
from tasks.store.predecessors import compare_with_earlier
from tasks.store.public_folder import check_places
from tasks.validate import validate


@dataclass(frozen=True)
class Checked:
    """A spec that is valid and whose source matches it.

    Attributes
    ----------
    records : int
        Records of the source.
    expectations : int
        Rules that the source meets.
    limits : tuple of str
        The limits of the gate in words, each with the worst value that its measure can take.
    missing_by_code : dict of str to int
        Cells that are missing because of a code, by column.
    withheld, merged : int
        Records that would be left out, and records whose stratum would be published as a wider one.
    exposures : tuple of Exposure
        Records that stand out by columns that are published unchanged.
    warnings : tuple of str
        Likely mistakes in the source or in its roles.
    """

    records: int
    expectations: int
    limits: tuple[str, ...]
    missing_by_code: dict[str, int]
    withheld: int
    merged: int
    exposures: tuple[Exposure, ...]
    warnings: tuple[str, ...]


def checked(spec: ReleaseSpec) -> Checked:
    """Check a spec whose period is known, and the source that it names.

    Raises
    ------
    ReleaseError
        If a release would end with this error before its records are grouped.
    """
    spec.check_repeatable()
    spec.check_reason()
    check_places(spec.publication)
    changes = compare_with_earlier(spec)
    source, facts = ingest.fn(spec)
    table, findings = validate.fn(source, spec, plainly)
    recalled = recall.fn(source, table, spec)
    k = spec.microaggregation.k
    settled = settle(table, k, spec.microaggregation.small_strata)
    return Checked(
        records=len(table),
        expectations=len(findings),
        limits=limits_in_words(spec.gate, k),
        missing_by_code=facts.missing_by_code,
        withheld=0 if settled.withheld is None else len(settled.withheld),
        merged=settled.merged,
        exposures=unchanged_exposures(table, k),
        warnings=(
            *changes,
            *connection_warnings(spec),
            *source_warnings(facts),
            *table_warnings(table, k),
            *recalled.warnings,
        ),
    )
