"""Records in batches: cutting, counting and comparing tables that need not fit into memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ROWS = 2**16
"""Number of rows that are read, compared or counted at a time."""

COMBINATIONS = 2**19
"""Number of combinations that are counted at a time; if there are more, files are read again."""

LARGEST_K = 50
"""Largest number of records per combination that is reckoned with before they are counted."""

COUNT = "count"
"""The column of counts; the counted columns are called 0, 1, 2 and so on."""

Batches = Callable[[], Iterator[pa.Table]]
"""Reads the same records again at every call."""

ODD = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


def rebatched(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Cut a stream of tables into tables of ``rows`` rows; only the last may be shorter.

    Examples
    --------
    >>> parts = [pa.table({"a": [1]}), pa.table({"a": [2, 3, 4, 5, 6]})]
    >>> [part["a"].to_pylist() for part in rebatched(parts, 4)]
    [[1, 2, 3, 4], [5, 6]]
    """
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count < rows:
            continue
        joined = pa.concat_tables(waiting)
        # what was cut off is not kept while the next rows are read
        del table, waiting
        while count >= rows:
            head, joined, count = joined.slice(0, rows), joined.slice(rows), count - rows
            yield head
            del head
        waiting = [joined]
    if count:
        yield pa.concat_tables(waiting)


def tally(
    batches: Batches, names: Sequence[str], rows: int, k: int, distinct: str | None = None
) -> Iterator[pa.Table]:
    """Count the rows of each combination of some columns, exactly; missing counts as a value.

    Combinations are cut into parts by a hash, and counted part by part, so that memory does not
    grow with the number of rows.

    Parameters
    ----------
    batches : callable
        Reads the records; it is called once for each part.
    names : sequence of str
        The columns.
    rows : int
        Number of records.
    k : int
        Number of records that a combination is expected to have at least.
    distinct : str, optional
        A column of which the different values are counted in place of rows.

    Yields
    ------
    pyarrow.Table
        Combinations that occur in no other table: columns 0, 1, 2 and so on, and `COUNT`.
    """
    # whoever claims a larger k must not make memory grow
    parts = -(-rows // (min(k, LARGEST_K) * COMBINATIONS))
    # under names of our own: a column may be called as the count is
    columns = [*names] if distinct is None else [*names, distinct]
    numbers, keys = _numbered(len(columns)), _numbered(len(names))
    for part in range(parts):
        counts = _Counts(numbers)
        for batch in batches():
            numbered = batch.select(columns).rename_columns(numbers)
            if parts > 1:
                own = _hashes(numbered.select(keys)) % np.uint64(parts) == part
                numbered = numbered.filter(pa.array(own))
            counts.add(numbered)
        total = counts.total()
        yield total if distinct is None else _count(total, keys)


class _Counts:
    """Counts combinations, and adds counts up as often as memory asks for it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._counted = 0

    def add(self, table: pa.Table) -> None:
        counted = _count(table, self._names)
        self._waiting.append(counted)
        self._rows += counted.num_rows
        if self._rows > self._counted + COMBINATIONS // 2:
            self._waiting = [self.total()]
            self._rows = self._counted = self._waiting[0].num_rows

    def total(self) -> pa.Table:
        """Give all combinations with the number of their rows."""
        joined = pa.concat_tables(self._waiting)
        added = joined.group_by(self._names).aggregate([(COUNT, "sum")])
        return added.rename_columns([*self._names, COUNT])


def _count(table: pa.Table, names: list[str]) -> pa.Table:
    """Count the rows of each combination of some columns."""
    return table.group_by(names).aggregate([([], "count_all")]).rename_columns([*names, COUNT])


def _numbered(columns: int) -> list[str]:
    return [str(i) for i in range(columns)]


def _hashes(table: pa.Table) -> NDArray[np.uint64]:
    """Hash rows; equal rows have the same hash."""
    hashes = np.zeros(table.num_rows, dtype=np.uint64)
    for column in table.columns:
        hashes = (hashes ^ _bits(column)) * ODD
        hashes ^= hashes >> SHIFT
    return hashes


def _bits(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Give a number for each value; equal values have the same one."""
    kind = column.type
    if pa.types.is_floating(kind):
        floats = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
        # adding zero takes the sign off a zero
        return np.asarray(floats + 0.0).view(np.uint64)
    if pa.types.is_integer(kind):
        whole = pc.fill_null(column.cast(pa.int64(), safe=False), 0).to_numpy()
        return np.asarray(whole).view(np.uint64)
    codes = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    numbers = [hash(value) % 2**64 for value in codes.dictionary.to_pylist()]
    bits: NDArray[np.uint64] = np.array(numbers, dtype=np.uint64)[codes.indices.to_numpy()]
    return bits
