"""Counts the records that are alone with their values in one column or two."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations as pairs

import numpy as np
import pyarrow as pa

from algorithms.table import combinations
from algorithms.types import Integers
from expectations.tables import read_codes

MOST_SHOWN = 4
MOST_COLUMNS = 25
"""Columns of which all pairs are counted: those that distinguish least."""
MOST_CELLS = 30_000_000
"""Records times pairs that are counted: some seconds."""
TELLING = 0.1
"""Share of unique records above which a column alone says enough, and its pairs say no more."""


@dataclass(frozen=True)
class Alone:
    """Records that share their values in some columns with no other record.

    Attributes
    ----------
    columns : tuple of str
        One or two columns.
    records : int
        How many records are alone.
    """

    columns: tuple[str, ...]
    records: int


def uniqueness(table: pa.Table, names: Sequence[str]) -> tuple[list[Alone], list[Alone]]:
    """Find the columns and the pairs of columns by which most records are alone, the worst first.

    Columns that leave hardly a record alone are paired; the others need no help.
    """
    codes = {name: read_codes(table[name]).values for name in names}
    single = {name: _alone([column]) for name, column in codes.items()}
    few = [name for name in names if single[name] <= TELLING * table.num_rows]
    most = min(MOST_COLUMNS, int((2 * MOST_CELLS / table.num_rows) ** 0.5))
    paired = sorted(few, key=lambda name: single[name])[:most]
    twos: dict[tuple[str, ...], int] = {
        (a, b): _alone([codes[a], codes[b]]) for a, b in pairs(paired, 2)
    }
    return (
        list(_worst({(name,): count for name, count in single.items()})),
        list(_worst(twos)),
    )


def _alone(codes: Sequence[Integers]) -> int:
    return int((np.bincount(combinations(codes)) == 1).sum())


def _worst(counts: dict[tuple[str, ...], int]) -> Iterator[Alone]:
    found = sorted(counts.items(), key=lambda each: -each[1])
    for columns, count in found[:MOST_SHOWN]:
        if count:
            yield Alone(columns, count)
