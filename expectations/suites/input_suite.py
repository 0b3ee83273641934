"""Suites for the source file.

This module imports Great Expectations, which takes seconds: import it where a suite is run.
"""

from collections.abc import Iterator

import great_expectations as gx
import great_expectations.expectations as gxe
from great_expectations.expectations.expectation import Expectation

from algorithms.attributes import Hierarchy
from algorithms.attributes.tree import Tree
from expectations.request.sections.columns import ColumnsSection
from expectations.request.spec import ReleaseSpec
from expectations.suites import custom
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
            *_complete(spec.columns),
            *(
                gxe.ExpectColumnValuesToBeUnique(
                    column=column,
                    meta=rule(
                        f"{column!r} is an identifier and must be unique (if several records "
                        "belong to one person, household or company, name it in columns.unit)"
                    ),
                )
                for column in spec.columns.identifiers
            ),
            *_weights(spec.columns),
            *_strata(spec.columns),
            *(
                expectation
                for attribute in spec.columns.attributes
                for expectation in kind_of(attribute).input_rules(attribute)
            ),
        ],
    )


def _complete(columns: ColumnsSection) -> Iterator[Expectation]:
    """Require values in columns where none may be missing."""
    needed = [*columns.identifiers, *columns.strata]
    needed += [name for name in (columns.unit, columns.weight) if name is not None]
    for name in needed:
        yield gxe.ExpectColumnValuesToNotBeNull(
            column=name, meta=rule(f"{name!r} must have no missing values")
        )
    for name in columns.quasi_identifiers:
        if columns.missing.get(name, "refuse") == "refuse":
            yield gxe.ExpectColumnValuesToNotBeNull(
                column=name,
                meta=rule(
                    f"{name!r} must have no missing values, or columns.missing must say how they "
                    "are treated"
                ),
            )


def _weights(columns: ColumnsSection) -> Iterator[Expectation]:
    if columns.weight is not None:
        yield custom.ExpectColumnValuesToBePositive(
            column=columns.weight,
            meta=rule(f"{columns.weight!r} must be positive and finite", "is not", "are not"),
        )


def _strata(columns: ColumnsSection) -> Iterator[Expectation]:
    """Require strata that may be merged to have a place in their hierarchy."""
    for name in columns.strata:
        if name in columns.hierarchies:
            declared = Hierarchy(name, Tree.of([]), paths=columns.hierarchies[name].paths)
            yield from kind_of(declared).input_rules(declared)
