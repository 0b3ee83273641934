"""Tables of plain numbers, and comparisons of them, for tests and examples."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

import numpy as np

from algorithms.attributes import Number, Values
from algorithms.comparison import Comparison
from algorithms.masked import Grouping, Masked
from algorithms.table import Codes, Table
from algorithms.types import Matrix, Partition


def table_of(
    columns: Sequence[Values],
    confidential: Mapping[str, Codes] | None = None,
    names: Sequence[str] = ascii_lowercase,
) -> Table:
    """Take columns of numbers as keys."""
    attributes = tuple(
        Number(name, *((0, True) if column.dtype.kind == "i" else ()))
        for name, column in zip(names, columns, strict=False)
    )
    return Table(attributes, tuple(columns), confidential=confidential or {})


def compare(
    original: Sequence[Values],
    published: Sequence[Values],
    k: int,
    averages: Sequence[Values] | None = None,
    confidential: Mapping[str, Codes] | None = None,
    names: Sequence[str] = ascii_lowercase,
) -> Comparison:
    """Compare columns before and after, whoever masked them."""
    before, after = (table_of(columns, confidential, names) for columns in (original, published))
    exact = before.embedding.embed(published if averages is None else averages)
    everyone = Partition(np.zeros(len(before), dtype=np.int64), 1)
    grouping = Grouping(tuple(range(len(original))), everyone)
    return Comparison(Masked(after, (grouping,), k, exact, before))


def compare_rows(
    original: Matrix,
    published: Matrix,
    k: int,
    averages: Matrix | None = None,
    confidential: Mapping[str, Codes] | None = None,
    names: Sequence[str] = ascii_lowercase,
) -> Comparison:
    """Compare matrices before and after."""
    exact = None if averages is None else list(averages.T)
    return compare(list(original.T), list(published.T), k, exact, confidential, names)


def rows_of(table: Table) -> Matrix:
    """Give the numbers of a table, one row per record."""
    return np.column_stack(table.keys)
