"""Facts about one column of a table, from its distinct values and their counts."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from algorithms.attributes.date import DateUnit
from algorithms.attributes.tree import PrefixPaths, Tree
from algorithms.types import Integers
from expectations.labels import as_text, is_date
from expectations.numbers import is_exact, is_number, is_positive, is_whole, to_floats
from expectations.suites.kinds.category import MOST_LABELS
from expectations.suites.kinds.hierarchy import MOST_NODES

FIRST_YEAR, LAST_YEAR = 1850, 2100

CODE = re.compile(r"[A-Za-z]{0,3}[0-9][0-9A-Za-z.\-/]*")
LONGEST_CODE = 12
LONGEST_PREFIX = 6
FEWER = 1.5
"""A prefix helps if it has so many times more groups than a shorter one, and so many times fewer
than there are codes."""

FREE_WORDS = 5
"""Words from which on the average cell is free text."""

WRITTEN_DATE = re.compile(
    r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?:[T ].*)?|\d{4}[./]\d{1,2}[./]\d{1,2}(?:[T ].*)?"
    r"|\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}.*"
)
"""Dates that the reader of dates does not accept."""


@dataclass(frozen=True, eq=False)
class Facts:
    """A column as its distinct values.

    Attributes
    ----------
    name : str
        Name of the column.
    records, missing : int
        Number of all records, and of those without a value.
    values : pyarrow.Array
        The distinct values.
    counts : Integers
        Records of each distinct value.
    """

    name: str
    records: int
    missing: int
    values: pa.Array
    counts: Integers

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return len(self.values)

    @property
    def present(self) -> int:
        """Number of records that have a value."""
        return self.records - self.missing

    @property
    def unique(self) -> bool:
        """Whether every record has a value of its own."""
        return self.missing == 0 and self.distinct == self.records

    @property
    def is_truth(self) -> bool:
        """Whether the file holds truth values."""
        return bool(pa.types.is_boolean(self.values.type))

    @property
    def is_text(self) -> bool:
        """Whether the column is read as text that is not only numbers."""
        return pa.types.is_string(self.values.type) and not self.numeric

    @property
    def is_real(self) -> bool:
        """Whether the column is read as real numbers, of whose text nothing is known."""
        kind = self.values.type
        return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    @cached_property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return self.distinct > 0 and bool(is_number(self.values).all())

    @cached_property
    def finite(self) -> bool:
        """Whether all numbers are finite, and keep their digits as whole or real numbers."""
        return bool(np.isfinite(to_floats(self.values)).all()) and (
            self.whole or bool(is_exact(self.values).all())
        )

    @cached_property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.numeric and bool(is_whole(self.values).all())

    @cached_property
    def positive(self) -> bool:
        """Whether all values are numbers above zero."""
        return self.numeric and bool(is_positive(self.values).all())

    @cached_property
    def labels(self) -> list[str]:
        """The distinct values as text."""
        labels: list[str] = as_text(self.values).to_pylist()
        return labels

    @cached_property
    def largest(self) -> float:
        """The largest number, whatever its sign."""
        return float(np.abs(to_floats(self.values)).max())

    @cached_property
    def consecutive(self) -> bool:
        """Whether whole numbers count the records: none is left out, none repeated."""
        if not (self.unique and self.whole):
            return False
        floats = to_floats(self.values)
        return bool(floats.max() - floats.min() == self.records - 1)

    @cached_property
    def digits(self) -> int | None:
        """Number of digits, if all cells are digits only and equally many."""
        if self.is_real:
            return None
        lengths = {
            len(label) if label.isascii() and label.isdigit() else 0 for label in self.labels
        }
        return lengths.pop() if len(lengths) == 1 and 0 not in lengths else None

    @cached_property
    def zeros(self) -> bool:
        """Whether some cells have leading zeros, as codes have and numbers do not."""
        return any(re.fullmatch(r"0[0-9]+", label) for label in self.labels)

    @cached_property
    def date(self) -> DateUnit | None:
        """The unit of dates, if all values are dates that can be read."""
        if pa.types.is_date(self.values.type) or pa.types.is_timestamp(self.values.type):
            return "day"
        if self.distinct == 0 or not pa.types.is_string(self.values.type):
            return None
        lengths = {len(label) for label in self.labels}
        unit: DateUnit
        for unit, length in (("day", 10), ("month", 7)):
            if lengths == {length} and is_date(self.values, unit).all():
                return unit
        return None

    @cached_property
    def year(self) -> bool:
        """Whether all values are years of recent centuries, written with four digits."""
        if not self.whole or self.digits != 4:
            return False
        floats = to_floats(self.values)
        return bool(floats.min() >= FIRST_YEAR and floats.max() <= LAST_YEAR)

    @cached_property
    def written_date(self) -> bool:
        """Whether all values are dates in a form that cannot be read."""
        return self.is_text and all(WRITTEN_DATE.fullmatch(label) for label in self.labels)

    @cached_property
    def mostly_numbers(self) -> int:
        """Number of records without a number, if there are numbers in most of them; or else 0."""
        strays = int(self.counts[~is_number(self.values)].sum())
        return strays if self.is_text and 0 < strays < self.present / 2 else 0

    @cached_property
    def free(self) -> bool:
        """Whether the average cell has as many words as free text."""
        words = sum(len(label.split()) for label in self.labels)
        return self.is_text and words >= FREE_WORDS * self.distinct

    @cached_property
    def coded(self) -> bool:
        """Whether all values look like codes of a classification."""
        return not self.is_real and all(
            len(label) <= LONGEST_CODE and CODE.fullmatch(label) for label in self.labels
        )

    @cached_property
    def prefixes(self) -> tuple[int, ...]:
        """Lengths of prefixes that divide the values into fewer and fewer groups; often none."""
        if self.distinct > MOST_NODES:
            return ()
        longest = min(max(map(len, self.labels), default=0) - 1, LONGEST_PREFIX)
        groups = {
            length: len({label[:length] for label in self.labels})
            for length in range(1, longest + 1)
        }
        kept: list[int] = []
        for length, count in groups.items():
            before = groups[kept[-1]] if kept else 1
            helps = FEWER * before <= count and FEWER * count <= self.distinct
            if helps and not self._clashes((*kept, length)):
                kept.append(length)
        return tuple(kept)

    def _clashes(self, prefixes: tuple[int, ...]) -> bool:
        """Check whether a value could be taken for a group of values."""
        paths = (PrefixPaths(prefixes).to(label) for label in self.labels)
        return bool(Tree.of([path for path in paths if path is not None]).clashes())

    @property
    def few(self) -> bool:
        """Whether there are few enough values for labels."""
        return self.distinct <= MOST_LABELS

    def rare(self, k: int) -> int:
        """Count the values that stand for fewer than k records."""
        return int((self.counts < k).sum())


def facts_of(name: str, column: pa.ChunkedArray) -> Facts:
    """Look at a column of a table."""
    encoded = column.drop_null().combine_chunks().dictionary_encode()
    counts = np.bincount(np.asarray(encoded.indices), minlength=len(encoded.dictionary))
    return Facts(name, len(column), column.null_count, encoded.dictionary, counts.astype(np.int64))
