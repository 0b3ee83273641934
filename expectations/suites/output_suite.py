"""The suite for the table that would be published."""

from collections.abc import Mapping

from algorithms.table import Table
from expectations.request.spec import ReleaseSpec
from expectations.suites.kinds import kind_of
from expectations.suites.rules import Suite, rule

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
        Digest of each column that must be published unchanged.
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
            *(
                rule(
                    "ExpectColumnToHaveDigest",
                    f"{column!r} must be unchanged",
                    column=column,
                    digest=digest,
                )
                for column, digest in digests.items()
            ),
        ),
    )


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
