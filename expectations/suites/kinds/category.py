"""Labels in files."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from algorithms.attributes import Category, Values
from algorithms.attributes.category import ANY
from expectations.labels import read_labels
from expectations.suites.require import rule

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

MOST_LABELS = 999
"""More would make distances slow to compute, and are usually codes in a tree."""


class CategoryKind:
    """Columns of labels; Great Expectations is imported when rules are listed."""

    def input_rules(self, attribute: Category) -> "Iterator[Expectation]":
        """Require few enough labels, none of which is the sign for any label."""
        from expectations.suites import custom

        name = attribute.name
        yield custom.ExpectColumnToHaveFewLabels(
            column=name,
            most=MOST_LABELS,
            meta=rule(
                f"{name!r} must have fewer than {MOST_LABELS + 1:,} labels, or be declared as a "
                "hierarchy (columns.hierarchies)",
                "is beyond that",
                "are beyond that",
            ),
        )
        if attribute.published == "majority":
            yield custom.ExpectColumnValuesNotToBe(
                column=name,
                label=ANY,
                meta=rule(f"{name!r} must not hold {ANY!r}, which is published for no majority"),
            )

    def read(self, attribute: Category, column: pa.ChunkedArray) -> tuple[Category, Values]:
        """Read labels as their positions among the labels of the column."""
        labels, codes = read_labels(column)
        return replace(attribute, labels=labels), codes

    def output_rules(self, attribute: Category) -> "Iterator[Expectation]":
        """Require labels of the source."""
        from expectations.suites import custom

        any_label = [ANY] if attribute.published == "majority" else []
        yield custom.ExpectColumnValuesToBeInLevels(
            column=attribute.name,
            levels=[*attribute.labels, *any_label],
            meta=rule(f"{attribute.name!r} must hold labels of the source only"),
        )
