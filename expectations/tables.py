"""Converts tables of the algorithms from and to Arrow."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from algorithms.table import Codes, Table
from algorithms.types import Integers
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
        persons=read_persons(source.select(list(columns.identifiers))),
    )


def arrow_of(table: Table, names: Sequence[str]) -> pa.Table:
    """Convert columns of a table to the form of published files, in the order of ``names``."""
    keys = {
        attribute.name: pa.array(attribute.write(values))
        for attribute, values in zip(table.attributes, table.keys, strict=True)
    }
    return pa.table({name: keys.get(name, table.carried.get(name)) for name in names})


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
    return Codes(codes.astype("int64"), ordered=pd.api.types.is_numeric_dtype(values))


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
