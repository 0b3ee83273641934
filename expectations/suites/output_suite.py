"""Of the file we would publish.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

import great_expectations as gx
import great_expectations.expectations as gxe

from algorithms.table import Table
from expectations.digest import digest_of
from expectations.kinds import kind_of
from expectations.request.spec import ReleaseSpec
from expectations.suites import custom
from expectations.suites.require import rule
from expectations.tables import arrow_of, frame_of


def output_suite(spec: ReleaseSpec, original: Table) -> gx.ExpectationSuite:
    """Build the suite for what is made of ``original``, row by row."""
    columns, k = spec.columns, spec.microaggregation.k
    carried = frame_of(arrow_of(original, columns.untouched))
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
                    digest=digest_of(carried[[column]]),
                    meta=rule(f"{column!r} must be untouched"),
                )
                for column in columns.untouched
            ),
        ],
    )
