"""Counts the values and the rows of a table that break a rule.

Great Expectations calls these functions by way of `expectations.suites.custom`. Its own
expectations have twins here, so that `microrelease check` need not wait for its import; a test
compares the two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from algorithms.attributes.tree import ListedPaths, PrefixPaths, Tree
from algorithms.types import Mask
from expectations.digest import digest_of
from expectations.labels import as_text, is_date, is_level, read_labels
from expectations.numbers import (
    has_places,
    is_exact,
    is_finite,
    is_number,
    is_positive,
    is_whole,
)


@dataclass(frozen=True)
class Count:
    """Whether a rule is met, and how many rows and distinct values break it, if these are counted.

    It holds no value of the table.
    """

    met: bool
    rows: int | None = None
    distinct: int | None = None


CELLS: dict[str, Callable[..., Mask]] = {
    "ExpectColumnValuesToBeNumbers": is_number,
    # other rules count the cells that are no numbers at all, or not finite
    "ExpectColumnValuesToBeFinite": lambda column: is_finite(column) | ~is_number(column),
    "ExpectColumnValuesToBeWhole": lambda column: is_whole(column) | ~is_finite(column),
    "ExpectColumnValuesToBeExact": is_exact,
    "ExpectColumnValuesToHavePlaces": has_places,
}
"""Conditions on each cell that is not missing."""


def broken(column: pa.Array, met: Mask) -> tuple[int, int]:
    """Count the distinct values and the cells that do not meet a condition."""
    cells = as_text(column).filter(pa.array(~met))
    return len(cells.unique()), len(cells)


def beyond(column: pa.Array, most: int) -> tuple[int, int]:
    """Count the labels beyond a number of labels, the rarest first, and their rows."""
    counts = as_text(column).value_counts()
    by_size = sorted(counts.field("counts").to_pylist(), reverse=True)[most:]
    return len(by_size), sum(by_size)


def group_names(
    column: pa.Array, prefixes: list[int], paths: dict[str, list[str]]
) -> tuple[int, int]:
    """Count the values, and their rows, that are also names of groups of codes."""
    labels, codes = read_labels(column)
    rule = PrefixPaths(tuple(prefixes)) if prefixes else ListedPaths(paths)
    clashes = Tree.of([path for path in map(rule.to, labels) if path is not None]).clashes()
    clashing = np.array([label in clashes for label in labels], dtype=bool)
    return int(clashing.sum()), int(clashing[codes].sum())


VALUES: dict[str, Callable[..., tuple[int, int]]] = {
    "ExpectColumnValuesToBeInLevels": lambda c, levels: broken(c, is_level(c, levels)),
    "ExpectColumnValuesToStandInHierarchy": lambda c, codes: broken(c, is_level(c, codes)),
    "ExpectColumnValuesNotToNameGroups": group_names,
    "ExpectColumnValuesToBeDates": lambda c, unit: broken(c, is_date(c, unit)),
    "ExpectColumnValuesToBePositive": lambda c: broken(c, is_positive(c)),
    "ExpectColumnValuesNotToBe": lambda c, label: broken(c, ~is_level(c, [label])),
    "ExpectColumnToHaveFewLabels": beyond,
}
"""Values and rows of a column, without missing cells, that break a condition."""


def rows_in_small_groups(frame: pd.DataFrame, column_list: list[str], k: int) -> int:
    """Count the rows whose combination of values occurs in fewer than ``k`` rows."""
    sizes = frame.groupby(list(column_list), dropna=False).size()
    return int(sizes[sizes < k].sum())


def rows_of_few_units(frame: pd.DataFrame, column_list: list[str], unit: str, k: int) -> int:
    """Count the rows whose combination of values belongs to fewer than ``k`` units."""
    groups = frame.groupby(list(column_list), dropna=False)[unit]
    return int(groups.size()[groups.nunique() < k].sum())


ROWS: dict[str, Callable[..., int]] = {
    "ExpectEveryCombinationAtLeastKTimes": rows_in_small_groups,
    "ExpectEveryCombinationOfAtLeastKUnits": rows_of_few_units,
    "ExpectColumnValuesToNotBeNull": lambda frame, column: int(frame[column].isna().sum()),
    "ExpectColumnValuesToBeNull": lambda frame, column: int(frame[column].notna().sum()),
    "ExpectColumnValuesToBeUnique": lambda frame, column: int(
        frame[column].dropna().duplicated(keep=False).sum()
    ),
}
"""Rows of a table that break a rule."""

MET: dict[str, Callable[..., bool]] = {
    "ExpectColumnToHaveDigest": lambda frame, column, digest: digest_of(frame[[column]]) == digest,
    "ExpectTableColumnsToMatchSet": lambda frame, column_set: set(frame) == set(column_set),
    "ExpectTableColumnsToMatchOrderedList": lambda frame, column_list: list(frame) == column_list,
    "ExpectTableRowCountToBeBetween": lambda frame, min_value: len(frame) >= min_value,
    "ExpectTableRowCountToEqual": lambda frame, value: len(frame) == value,
}
"""Rules of a whole table."""


def present(frame: pd.DataFrame, column: str) -> pa.Array:
    """Take the cells of a column that are not missing."""
    return pa.array(frame[column].dropna(), from_pandas=True)


def count(expectation: str, frame: pd.DataFrame, **given: Any) -> Count:
    """Count what breaks an expectation."""
    if expectation in MET:
        return Count(MET[expectation](frame, **given))
    if expectation in ROWS:
        rows = ROWS[expectation](frame, **given)
        return Count(rows == 0, rows)
    column = present(frame, given.pop("column"))
    if expectation in CELLS:
        rows = int((~CELLS[expectation](column, **given)).sum())
        return Count(rows == 0, rows)
    values, rows = VALUES[expectation](column, **given)
    return Count(rows == 0, rows, values)
