"""Dates in files."""

from collections.abc import Iterator

import pyarrow as pa

from algorithms.attributes import Date, Values
from expectations.labels import read_dates
from expectations.suites.rules import Rule, rule

EXAMPLES = {"day": "2026-03-09", "month": "2026-03", "year": "2026"}


class DateKind:
    """Columns of dates."""

    def input_rules(self, attribute: Date) -> Iterator[Rule]:
        """Require dates of the calendar."""
        name, unit = attribute.name, attribute.unit
        yield rule(
            "ExpectColumnValuesToBeDates",
            f"{name!r} must hold dates as {EXAMPLES[unit]}",
            "is not",
            "are not",
            column=name,
            unit=unit,
        )

    def read(self, attribute: Date, column: pa.ChunkedArray) -> tuple[Date, Values]:
        """Read dates."""
        return attribute, read_dates(column, attribute.unit)

    def output_rules(self, attribute: Date) -> Iterator[Rule]:
        """Require that dates are published in their unit."""
        return self.input_rules(attribute)
