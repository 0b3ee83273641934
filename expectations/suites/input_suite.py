"""Of the file we are given.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

import great_expectations as gx
import great_expectations.expectations as gxe

from expectations.request.spec import ReleaseSpec
from expectations.suites import custom
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
    keys = spec.columns.quasi_identifiers
    return gx.ExpectationSuite(
        name="input",
        expectations=[
            *(
                gxe.ExpectColumnValuesToNotBeNull(
                    column=column, meta=rule(f"{column!r} must have no missing values")
                )
                for column in (*spec.columns.identifiers, *keys)
            ),
            *(
                gxe.ExpectColumnValuesToBeUnique(
                    column=column,
                    meta=rule(f"{column!r} is an identifier and must be unique"),
                )
                for column in spec.columns.identifiers
            ),
            *(
                custom.ExpectColumnValuesToBeNumbers(
                    column=column, meta=rule(f"{column!r} must be numeric")
                )
                for column in keys
            ),
            *(
                custom.ExpectColumnValuesToBeFinite(
                    column=column, meta=rule(f"{column!r} must be finite")
                )
                for column in keys
            ),
            *(
                custom.ExpectColumnValuesToBeWhole(
                    column=column,
                    meta=rule(
                        f"{column!r} is declared integer and must hold whole numbers of at most 64 "
                        "bits (of 53 where the file has real numbers)"
                    ),
                )
                for column in spec.columns.integers
            ),
            *(
                custom.ExpectColumnValuesToBeExact(
                    column=column,
                    meta=rule(
                        f"{column!r} must hold numbers that keep their digits as real numbers; "
                        "large whole numbers must be declared in columns.integers"
                    ),
                )
                for column in keys
                if column not in spec.columns.integers
            ),
        ],
    )
