"""Hashes of values that are the same in every part of a table, and in every process."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from algorithms.random_numbers import mixed
from algorithms.types import Integers

Hashes = NDArray[np.uint64]

KEYS = ("microrelease:one", "microrelease:two")
"""Two hashes of 64 bits: values that differ and agree in both are out of the question."""


def hashed(column: pa.ChunkedArray, key: str) -> Hashes:
    """Hash the values of a column; missing is a value.

    Examples
    --------
    >>> first, second, third = hashed(pa.chunked_array([["a", None, "a"]]), KEYS[0]).tolist()
    >>> first == third, first == second
    (True, False)
    """
    start = pd.util.hash_array(np.array([key, f"{key}:missing"], dtype=object))
    missing = np.asarray(pc.is_null(column))
    if pa.types.is_floating(column.type):
        # adding zero takes the sign off a zero
        bits = (pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy() + 0.0).view(np.uint64)
    elif pa.types.is_integer(column.type):
        bits = pc.fill_null(column.cast(pa.int64(), safe=False), 0).to_numpy().view(np.uint64)
    else:
        codes = pc.dictionary_encode(column.cast(pa.string())).combine_chunks()
        values = np.array(codes.dictionary.to_pylist(), dtype=object)
        of_value = pd.util.hash_array(values, hash_key=key, categorize=False)
        places = pc.fill_null(codes.indices, 0).to_numpy()
        bits = of_value[places] if values.size else np.zeros(len(places), dtype=np.uint64)
    return np.where(missing, start[1], mixed(bits ^ start[0]))


def hashed_rows(columns: Sequence[pa.ChunkedArray], key: str) -> Hashes:
    """Hash the combination of values of each row."""
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        hashes = mixed(hashes ^ hashed(column, key))
    return hashes


@dataclass(frozen=True)
class RowSums:
    """Number of some rows, and sums of two hashes of each: the same for any order of the rows."""

    rows: int = 0
    one: int = 0
    two: int = 0

    def __add__(self, other: "RowSums") -> "RowSums":
        return RowSums(
            self.rows + other.rows, (self.one + other.one) % 2**64, (self.two + other.two) % 2**64
        )

    @property
    def digest(self) -> str:
        """Digest of all three."""
        return hashlib.sha256(f"{self.rows} {self.one} {self.two}".encode()).hexdigest()


def row_sums(table: pa.Table) -> RowSums:
    """Count and hash the rows of a table."""
    one, two = (int(hashed_rows(table.columns, key).sum()) for key in KEYS)
    return RowSums(table.num_rows, one, two)


def traces_of(rows: Integers, table: pa.Table, names: Sequence[str]) -> tuple[int, ...]:
    """Add up a hash of the row number and the value of each record, for each of some columns.

    The sum is the same for any order of the records, and another if a value is put elsewhere.
    """
    numbers = mixed(rows.astype(np.uint64))
    return tuple(int(mixed(hashed(table[name], KEYS[0]) ^ numbers).sum()) for name in names)
