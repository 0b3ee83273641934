"""Converts tables of the algorithms from and to Arrow."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from algorithms.attributes import Attribute, Values, WithMissing, is_missing
from algorithms.table import Codes, Stratum, Table
from algorithms.types import Integers
from expectations.labels import grow_tree
from expectations.numbers import to_floats
from expectations.request.sections.columns import ColumnsSection
from expectations.suites.kinds import kind_of


def table_from_arrow(source: pa.Table, columns: ColumnsSection) -> Table:
    """Convert a checked source to a table with the kinds and roles that the spec declares."""
    keys = [
        kind_of(attribute).read(attribute, source[attribute.name])
        for attribute in columns.attributes
    ]
    return Table(
        attributes=tuple(attribute for attribute, _ in keys),
        keys=tuple(values for _, values in keys),
        carried={name: source[name] for name in columns.untouched},
        confidential={name: read_codes(source[name]) for name in columns.confidential},
        other={name: read_codes(source[name]) for name in columns.other},
        persons=read_persons(source.select(list(columns.identifiers))),
        strata=tuple(_stratum(name, source[name], columns) for name in columns.strata),
        units=None if columns.unit is None else read_persons(source.select([columns.unit])),
        weights=None if columns.weight is None else to_floats(source[columns.weight]),
        importance=tuple(columns.importance.get(name, 1.0) for name in columns.quasi_identifiers)
        if columns.importance
        else (),
        tokens={
            name: read_tokens(source[name])
            for name in (*columns.strata, *columns.confidential, *columns.other)
        },
    )


def _stratum(name: str, column: pa.ChunkedArray, columns: ColumnsSection) -> Stratum:
    if name not in columns.hierarchies:
        return Stratum(name, read_codes(column).values)
    tree, nodes = grow_tree(column, columns.hierarchies[name].paths)
    return Stratum(name, nodes, tree)


def arrow_of(table: Table, columns: ColumnsSection, names: Sequence[str] | None = None) -> pa.Table:
    """Convert columns of a table to the form of published files, by default all public ones."""
    written = {
        attribute.name: _written(attribute, values)
        for attribute, values in zip(table.attributes, table.keys, strict=True)
    }
    for stratum in table.strata:
        if stratum.tree is not None:
            nodes = pa.array(stratum.tree.names, pa.string())
            written[stratum.name] = nodes.take(pa.array(stratum.values))
    if table.weights is not None and columns.weight is not None:
        written[columns.weight] = pa.array(table.weights)
    if table.muted is not None:
        shown = pa.array(np.arange(len(table)), mask=table.muted)
        for name in (*table.confidential, *table.other):
            written[name] = table.carried[name].take(shown)
    wanted = columns.public if names is None else names
    return pa.table({name: written.get(name, table.carried.get(name)) for name in wanted})


def _written(attribute: Attribute, values: Values) -> pa.Array:
    cells = attribute.write(values)
    kind = pa.string() if cells.dtype == object else None
    missing = is_missing(values) if isinstance(attribute, WithMissing) else None
    return pa.array(cells, kind, mask=missing)


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Convert an Arrow table to the form that Great Expectations reads, with the same types."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def read_codes(column: pa.ChunkedArray) -> Codes:
    """Assign numbers to the distinct values of a column in their order; missing is one of them.

    Examples
    --------
    >>> read_codes(pa.chunked_array([[20, 10, None, 20]])).values
    array([1, 0, 2, 1])
    """
    values = pd.Series(pd.arrays.ArrowExtensionArray(column))
    codes, _ = pd.factorize(values, sort=True, use_na_sentinel=False)
    is_numeric = pd.api.types.is_numeric_dtype(values)
    return Codes(
        codes.astype("int64"),
        ordered=is_numeric,
        numbers=to_floats(column) if is_numeric else None,
        missing=int(codes.max()) if column.null_count else None,
    )


def read_tokens(column: pa.ChunkedArray) -> Integers:
    """Compute a number for each value that is the same in every table; missing is a value.

    A number is its own token, bit by bit. Any other value is hashed to 64 bits, so that two
    values are taken for one in a table of a million with a chance of one in ten million.

    Examples
    --------
    >>> north, south, again = read_tokens(pa.chunked_array([["north", "south", "north"]])).tolist()
    >>> north == again, north == south
    (True, False)
    """
    values = pd.Series(pd.arrays.ArrowExtensionArray(column))
    if pd.api.types.is_numeric_dtype(values):
        # adding zero takes the sign off a zero
        return (to_floats(column) + 0.0).view(np.int64)
    codes, distinct = pd.factorize(values)
    hashed = pd.util.hash_array(np.array([str(each) for each in distinct], dtype=object))
    return np.where(codes < 0, 0, np.append(hashed, np.uint64(0)).view(np.int64)[codes])


def read_persons(identifiers: pa.Table) -> Integers:
    """Compute a token for the person of each record: the number of its combination of identifiers.

    Without identifiers, each record counts as a different person.

    Examples
    --------
    >>> read_persons(pa.table({"id": ["x", "y", "x"]}))
    array([0, 1, 0])
    """
    if not identifiers.column_names:
        return np.arange(identifiers.num_rows)
    groups = frame_of(identifiers).groupby(identifiers.column_names, sort=False, dropna=False)
    return np.asarray(groups.ngroup(), dtype=np.int64)
