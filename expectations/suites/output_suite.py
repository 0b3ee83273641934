"""The suite for the table that would be published."""

from collections.abc import Iterable, Iterator, Mapping

from algorithms.table import Table
from expectations.request.spec import ReleaseSpec
from expectations.suites.kinds import kind_of
from expectations.suites.rules import Rule, Suite, rule

UNIT = "microrelease:unit"
"""Name of the column of units in the frame that is checked; no column of a file has it."""


def output_suite(
    spec: ReleaseSpec, original: Table, withheld: int, digests: Mapping[str, str]
) -> Suite:
    """Build the suite for the published form of a table.

    Parameters
    ----------
    spec : ReleaseSpec
        The spec of the release.
    original : Table
        The table before masking, without withheld records.
    withheld : int
        Number of records that are not published.
    digests : mapping of str to str
        Digest of each column that must be published unchanged in all records.
    """
    columns, k = spec.columns, spec.microaggregation.k
    return Suite(
        name="output",
        rules=(
            rule(
                "ExpectTableColumnsToMatchOrderedList",
                "the published columns must be those of the spec, without identifiers",
                column_list=list(columns.public),
            ),
            rule(
                "ExpectTableRowCountToEqual",
                "the published table must have as many rows as the input"
                + (f", less {withheld} that are withheld" if withheld else ""),
                value=len(original),
            ),
            rule(
                "ExpectEveryCombinationAtLeastKTimes",
                "every combination of all columns but the confidential ones must occur in at "
                f"least {k} rows",
                column_list=list(columns.known),
                k=k,
            ),
            *(
                rule(
                    "ExpectColumnValuesToNotBeNull",
                    f"{name!r} must have no missing values",
                    column=name,
                )
                for name in columns.quasi_identifiers
                if columns.missing.get(name, "refuse") == "refuse"
            ),
            *(
                each_rule
                for attribute in original.attributes
                for each_rule in kind_of(attribute).output_rules(attribute)
            ),
            *_unchanged(digests, "must be unchanged"),
        ),
    )


def visible_suite(digests: Mapping[str, str]) -> Suite:
    """Build the suite for the records that are not muted.

    Parameters
    ----------
    digests : mapping of str to str
        Digest of each column that muting empties, in these records before masking.
    """
    words = "must be unchanged in records that are not muted"
    return Suite(name="output-visible", rules=tuple(_unchanged(digests, words)))


def muted_suite(columns: Iterable[str]) -> Suite:
    """Build the suite for muted records; ``columns`` are those that muting empties."""
    return Suite(
        name="output-muted",
        rules=tuple(
            rule(
                "ExpectColumnValuesToBeNull",
                f"{name!r} must be empty in muted records",
                column=name,
            )
            for name in columns
        ),
    )


def _unchanged(digests: Mapping[str, str], words: str) -> Iterator[Rule]:
    for column, digest in digests.items():
        yield rule("ExpectColumnToHaveDigest", f"{column!r} {words}", column=column, digest=digest)


def unit_suite(spec: ReleaseSpec) -> Suite:
    """Build the suite for the published form of a table, with the unit of each record."""
    columns, k = spec.columns, spec.microaggregation.k
    return Suite(
        name="output-units",
        rules=(
            rule(
                "ExpectEveryCombinationOfAtLeastKUnits",
                "the rows of every combination of all columns but the confidential ones must "
                f"belong to at least {k} different values of {columns.unit!r}",
                column_list=list(columns.known),
                unit=UNIT,
                k=k,
            ),
        ),
    )
