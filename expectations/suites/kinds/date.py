"""Dates in files."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from algorithms.attributes import Date, Values
from expectations.labels import read_dates
from expectations.suites.require import rule

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

EXAMPLES = {"day": "2026-03-09", "month": "2026-03", "year": "2026"}


class DateKind:
    """Columns of dates; Great Expectations is imported when rules are listed."""

    def input_rules(self, attribute: Date) -> "Iterator[Expectation]":
        """Require dates of the calendar."""
        from expectations.suites import custom

        name, unit = attribute.name, attribute.unit
        yield custom.ExpectColumnValuesToBeDates(
            column=name,
            unit=unit,
            meta=rule(f"{name!r} must hold dates as {EXAMPLES[unit]}", "is not", "are not"),
        )

    def read(self, attribute: Date, column: pa.ChunkedArray) -> tuple[Date, Values]:
        """Read dates."""
        return attribute, read_dates(column, attribute.unit)

    def output_rules(self, attribute: Date) -> "Iterator[Expectation]":
        """Require that dates are published in their unit."""
        return self.input_rules(attribute)
