"""Labels in files."""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from algorithms.attributes import Category, Values
from algorithms.attributes.category import ANY
from expectations.labels import read_labels
from expectations.suites.rules import Rule, rule

MOST_LABELS = 999
"""More would make distances slow to compute, and are usually codes in a tree."""


class CategoryKind:
    """Columns of labels."""

    def input_rules(self, attribute: Category) -> Iterator[Rule]:
        """Require few enough labels, none of which is the sign for any label."""
        name = attribute.name
        yield rule(
            "ExpectColumnToHaveFewLabels",
            f"{name!r} must have fewer than {MOST_LABELS + 1:,} labels, or be declared as a "
            "hierarchy (columns.hierarchies)",
            "is beyond that",
            "are beyond that",
            column=name,
            most=MOST_LABELS,
        )
        if attribute.published == "majority":
            yield rule(
                "ExpectColumnValuesNotToBe",
                f"{name!r} must not hold {ANY!r}, which is published for no majority",
                column=name,
                label=ANY,
            )

    def read(self, attribute: Category, column: pa.ChunkedArray) -> tuple[Category, Values]:
        """Read labels as their positions among the labels of the column."""
        labels, codes = read_labels(column)
        return replace(attribute, labels=labels), codes

    def output_rules(self, attribute: Category) -> Iterator[Rule]:
        """Require labels of the source."""
        any_label = [ANY] if attribute.published == "majority" else []
        yield rule(
            "ExpectColumnValuesToBeInLevels",
            f"{attribute.name!r} must hold labels of the source only",
            column=attribute.name,
            levels=[*attribute.labels, *any_label],
        )
