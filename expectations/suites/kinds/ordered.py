"""Levels in files."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from algorithms.attributes import Ordered, Values
from expectations.labels import read_labels
from expectations.suites.rules import Rule, rule


class OrderedKind:
    """Columns of levels."""

    def input_rules(self, attribute: Ordered) -> Iterator[Rule]:
        """Require levels that the spec lists."""
        name = attribute.name
        yield rule(
            "ExpectColumnValuesToBeInLevels",
            f"{name!r} must hold the levels the spec lists",
            "is another",
            "are others",
            column=name,
            levels=list(attribute.levels),
        )

    def read(self, attribute: Ordered, column: pa.ChunkedArray) -> tuple[Ordered, Values]:
        """Read levels as their positions."""
        labels, codes = read_labels(column)
        place = {level: i for i, level in enumerate(attribute.levels)}
        return attribute, np.array([place[label] for label in labels], dtype=np.int64)[codes]

    def output_rules(self, attribute: Ordered) -> Iterator[Rule]:
        """Require levels that the spec lists."""
        return self.input_rules(attribute)
