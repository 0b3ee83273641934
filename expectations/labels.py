"""Reads labels and dates in columns: text as it is, exactly."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from algorithms.attributes.date import DateUnit
from algorithms.attributes.tree import Paths, Tree
from algorithms.types import Integers, Mask
from expectations.numbers import Column

DATE = {
    "day": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "month": r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?",
    "year": r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?",
}
"""Dates as text; one that is more exact than what is published is fine."""

FIRST_OF = {4: "-01-01", 7: "-01", 10: ""}
"""What makes a day of a date of so many characters."""


def as_text(column: Column) -> pa.Array:
    """Write cells as text: text as it is, other types in their shortest form."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array if pa.types.is_string(array.type) else pc.cast(array, pa.string())


def read_labels(column: Column) -> tuple[tuple[str, ...], Integers]:
    """Give the distinct labels of a column without missing values, sorted, and their positions.

    Examples
    --------
    >>> read_labels(pa.array(["b", "a", "b"]))
    (('a', 'b'), array([1, 0, 1]))
    """
    encoded = as_text(column).dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    order = sorted(range(len(labels)), key=labels.__getitem__)
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    codes = np.asarray(encoded.indices, dtype=np.int64)
    return tuple(labels[i] for i in order), rank[codes]


def grow_tree(column: Column, paths: Paths) -> tuple[Tree, Integers]:
    """Build the tree of the codes of a column without missing values, and look the codes up."""
    labels, codes = read_labels(column)
    tree = Tree.of([path for path in map(paths.to, labels) if path is not None])
    leaves = tree.leaves
    return tree, np.array([leaves[label] for label in labels], dtype=np.int64)[codes]


def is_level(column: Column, levels: list[str]) -> Mask:
    """Mark the cells that are one of the levels."""
    return np.asarray(
        pc.is_in(as_text(column), pa.array(levels, pa.string())).to_numpy(zero_copy_only=False),
        dtype=bool,
    )


def is_date(column: Column, unit: DateUnit) -> Mask:
    """Mark the cells that are dates of the calendar, in the years 1 to 9999."""
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), dtype=bool)
    text = as_text(column).to_pylist()
    pattern = re.compile(DATE[unit])
    return np.array(
        [bool(cell and pattern.fullmatch(cell) and _exists(cell)) for cell in text], dtype=bool
    )


def _exists(cell: str) -> bool:
    try:
        np.datetime64(cell + FIRST_OF[len(cell)], "D")
    except ValueError:
        return False
    return not cell.startswith("0000")


def read_dates(column: Column, unit: DateUnit) -> Integers:
    """Count days, months or years since the beginning of 1970, of cells that are dates.

    Examples
    --------
    >>> read_dates(pa.array(["1970-03-09"]), "month"), read_dates(pa.array(["1972"]), "year")
    (array([2]), array([2]))
    """
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        days = pc.cast(column, pa.date32(), safe=False)
        dates = np.asarray(days.to_numpy(), dtype="datetime64[D]")
    else:
        cells: list[Any] = as_text(column).to_pylist()
        dates = np.array([cell + FIRST_OF[len(cell)] for cell in cells], dtype="datetime64[D]")
    return dates.astype(f"datetime64[{unit[0].upper()}]").astype(np.int64)
