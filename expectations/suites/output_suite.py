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


def output_suite(
    spec: ReleaseSpec, original: Table, digests: Mapping[str, str]
) -> gx.ExpectationSuite:
    """Build the suite for the published form of a table.

    Parameters
    ----------
    spec : ReleaseSpec
        The spec of the release.
    original : Table
        The table before masking.
    digests : mapping of str to str
        Digest of each column that must be published unchanged.
    """
    columns, k = spec.columns, spec.microaggregation.k
    return gx.ExpectationSuite(
        name="output",
        expectations=[
            gxe.ExpectTableColumnsToMatchOrderedList(
                column_list=list(columns.published),
                meta=rule("the published columns must be those of the spec, without identifiers"),
            ),
            gxe.ExpectTableRowCountToEqual(
                value=len(original),
                meta=rule("the published table must have as many rows as the input"),
            ),
            custom.ExpectEveryCombinationAtLeastKTimes(
                column_list=list(columns.quasi_identifiers),
                k=k,
                meta=rule(
                    f"every combination of quasi-identifiers must occur in at least {k} rows"
                ),
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
