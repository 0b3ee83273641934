"""Suites for the source file.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

import great_expectations as gx
import great_expectations.expectations as gxe

from expectations.request.spec import ReleaseSpec
from expectations.suites.kinds import kind_of
from expectations.suites.require import rule


def shape_suite(spec: ReleaseSpec) -> gx.ExpectationSuite:
    """Build the suite for the shape of the source: its columns and its number of rows."""
    k = spec.microaggregation.k
    return gx.ExpectationSuite(
        name="input-shape",
        expectations=[
            gxe.ExpectTableColumnsToMatchSet(
                column_set=list(spec.columns.all),
                meta=rule("the file must have exactly the columns to which the spec gives a role"),
            ),
            gxe.ExpectTableRowCountToBeBetween(
                min_value=k, meta=rule(f"the file must have at least k={k} rows")
            ),
        ],
    )


def input_suite(spec: ReleaseSpec) -> gx.ExpectationSuite:
    """Build the suite for the values of the source."""
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
            *(
                expectation
                for attribute in spec.columns.attributes
                for expectation in kind_of(attribute).input_rules(attribute)
            ),
        ],
    )
