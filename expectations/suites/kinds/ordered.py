"""Levels in files."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from algorithms.attributes import Ordered, Values
from expectations.labels import read_labels
from expectations.suites.require import rule

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation


class OrderedKind:
    """Columns of levels; Great Expectations is imported when rules are listed."""

    def input_rules(self, attribute: Ordered) -> "Iterator[Expectation]":
        """Require levels that the spec lists."""
        from expectations.suites import custom

        name = attribute.name
        yield custom.ExpectColumnValuesToBeInLevels(
            column=name,
            levels=list(attribute.levels),
            meta=rule(f"{name!r} must hold the levels the spec lists", "is another", "are others"),
        )

    def read(self, attribute: Ordered, column: pa.ChunkedArray) -> tuple[Ordered, Values]:
        """Read levels as their positions."""
        labels, codes = read_labels(column)
        place = {level: i for i, level in enumerate(attribute.levels)}
        return attribute, np.array([place[label] for label in labels], dtype=np.int64)[codes]

    def output_rules(self, attribute: Ordered) -> "Iterator[Expectation]":
        """Require levels that the spec lists."""
        return self.input_rules(attribute)
