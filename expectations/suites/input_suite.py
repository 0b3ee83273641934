"""Of the file we are given.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

import great_expectations as gx
import great_expectations.expectations as gxe

from expectations.request.spec import ReleaseSpec
from expectations.suites.kinds import kind_of
from expectations.suites.require import rule


def shape_suite(spec: ReleaseSpec) -> gx.ExpectationSuite:
    """Build the suite for the outline of the file a spec names: its columns and its length."""
    k = spec.microaggregation.k
    return gx.ExpectationSuite(
        name="input-shape",
        expectations=[
            gxe.ExpectTableColumnsToMatchSet(
                column_set=list(spec.columns.all),
                meta=rule("the columns of the file must be those the spec gives a role"),
            ),
            gxe.ExpectTableRowCountToBeBetween(
                min_value=k, meta=rule(f"the file must have at least k={k} rows")
            ),
        ],
    )


def input_suite(spec: ReleaseSpec) -> gx.ExpectationSuite:
    """Build the suite for the values of the file a spec names."""
    return gx.ExpectationSuite(
        name="input",
        expectations=[
            *(
                gxe.ExpectColumnValuesToNotBeNull(
                    column=column, meta=rule(f"{column!r} must have no missing values")
                )
                for column in (*spec.columns.identifiers, *spec.columns.quasi_identifiers)
            ),
            *(
                gxe.ExpectColumnValuesToBeUnique(
                    column=column,
                    meta=rule(f"{column!r} is an identifier and must be unique"),
                )
                for column in spec.columns.identifiers
            ),
            *(check for one in spec.columns.attributes for check in kind_of(one).input_rules(one)),
        ],
    )
