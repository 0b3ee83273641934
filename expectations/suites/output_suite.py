"""Of the file we would publish.

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


def output_suite(
    spec: ReleaseSpec, original: Table, digests: Mapping[str, str]
) -> gx.ExpectationSuite:
    """Build the suite for the published form of a table, row by row.

    Parameters
    ----------
    spec : ReleaseSpec
        The request.
    original : Table
        The table before masking.
    digests : mapping of str to str
        Digest of each column that must be published as it is.
    """
    columns, k = spec.columns, spec.microaggregation.k
    return gx.ExpectationSuite(
        name="output",
        expectations=[
            gxe.ExpectTableColumnsToMatchOrderedList(
                column_list=list(columns.published),
                meta=rule("published columns must be those the spec says, and no identifier"),
            ),
            gxe.ExpectTableRowCountToEqual(
                value=len(original), meta=rule("there must be as many rows as in the input")
            ),
            custom.ExpectEveryCombinationAtLeastKTimes(
                column_list=list(columns.quasi_identifiers),
                k=k,
                meta=rule(f"every combination of quasi-identifiers must stand in {k} rows or more"),
            ),
            *(check for one in original.attributes for check in kind_of(one).output_rules(one)),
            *(
                custom.ExpectColumnToHaveDigest(
                    column=column,
                    digest=digest,
                    meta=rule(f"{column!r} must be untouched"),
                )
                for column, digest in digests.items()
            ),
        ],
    )
