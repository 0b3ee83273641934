"""The suite for the table that would be published.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

from collections.abc import Mapping

import great_expectations as gx
import great_expectations.expectations as gxe

from algorithms.table import Table
from expectations.request.spec import ReleaseSpec
from expectations.suites import custom
from expectations.suites.kinds import kind_of
from expectations.suites.require import rule

UNIT = "microrelease:unit"
"""Name of the column of units in the frame that is checked; no column of a file has it."""


def output_suite(
    spec: ReleaseSpec, original: Table, withheld: int, digests: Mapping[str, str]
) -> gx.ExpectationSuite:
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
    return gx.ExpectationSuite(
        name="output",
        expectations=[
            gxe.ExpectTableColumnsToMatchOrderedList(
                column_list=list(columns.public),
                meta=rule("the published columns must be those of the spec, without identifiers"),
            ),
            gxe.ExpectTableRowCountToEqual(
                value=len(original),
                meta=rule(
                    "the published table must have as many rows as the input"
                    + (f", less {withheld} that are withheld" if withheld else "")
                ),
            ),
            custom.ExpectEveryCombinationAtLeastKTimes(
                column_list=list(columns.known),
                k=k,
                meta=rule(
                    "every combination of all columns but the confidential ones must occur in at "
                    f"least {k} rows"
                ),
            ),
            *(
                gxe.ExpectColumnValuesToNotBeNull(
                    column=name, meta=rule(f"{name!r} must have no missing values")
                )
                for name in columns.quasi_identifiers
                if columns.missing.get(name, "refuse") == "refuse"
            ),
            *(
                expectation
                for attribute in original.attributes
                for expectation in kind_of(attribute).output_rules(attribute)
            ),
            *(
                custom.ExpectColumnToHaveDigest(
                    column=column,
                    digest=digest,
                    meta=rule(f"{column!r} must be unchanged"),
                )
                for column, digest in digests.items()
            ),
        ],
    )


def unit_suite(spec: ReleaseSpec) -> gx.ExpectationSuite:
    """Build the suite for the published form of a table, with the unit of each record."""
    columns, k = spec.columns, spec.microaggregation.k
    return gx.ExpectationSuite(
        name="output-units",
        expectations=[
            custom.ExpectEveryCombinationOfAtLeastKUnits(
                column_list=list(columns.known),
                unit=UNIT,
                k=k,
                meta=rule(
                    "the rows of every combination of all columns but the confidential ones must "
                    f"belong to at least {k} different values of {columns.unit!r}"
                ),
            )
        ],
    )
