"""Which cells of a column are numbers, finite, whole; and the column as numbers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from algorithms.types import Mask

NUMBER = r"(?i)^\s*[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)\s*$"
"""Text that is a number, infinite ones included: they get a sentence of their own."""

LARGEST_WHOLE = 2.0**63
LARGEST_FRACTION = 2.0**52


def is_text(column: pd.Series) -> bool:
    """Tell whether a column holds text, as every column of a CSV file does."""
    kind = _arrow(column).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(column: pd.Series) -> Mask:
    """Mark the cells that are numbers; a missing one is not."""
    values = _arrow(column)
    if is_text(column):
        matches = pc.match_substring_regex(values, NUMBER)
        return _mask(pc.fill_null(matches, False))
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _mask(pc.is_valid(values))
    return np.zeros(len(column), dtype=bool)


def is_finite(column: pd.Series) -> Mask:
    """Mark the cells that are finite numbers."""
    return np.isfinite(_floats(column))


def is_whole(column: pd.Series) -> Mask:
    """Mark the cells that are whole numbers of at most 64 bits."""
    values = _floats(column)
    with np.errstate(invalid="ignore"):
        whole: Mask = (np.floor(values) == values) & (np.abs(values) < LARGEST_WHOLE)
    return whole


def has_places(column: pd.Series, places: int) -> Mask:
    """Mark the cells that are numbers with at most so many decimals."""
    values = _floats(column)
    small = np.abs(values) < LARGEST_FRACTION
    kept: Mask = ~small | (np.round(np.where(small, values, 0.0), places) == values)
    return kept & np.isfinite(values)


def to_floats(column: pd.Series) -> pd.Series:
    """Read a column of finite numbers as real numbers."""
    return pd.Series(_floats(column), index=column.index, name=column.name)


def to_integers(column: pd.Series) -> pd.Series:
    """Read a column of whole numbers exactly, beyond the 53 bits of a real number too."""
    values = _arrow(column)
    if is_text(column):
        trimmed = pc.utf8_trim_whitespace(values)
        plain = _mask(pc.match_substring_regex(trimmed, r"^-?[0-9]+$"))
        if plain.all():
            return _series(pc.cast(trimmed, pa.int64()), column)
    elif pa.types.is_integer(values.type):
        return _series(pc.cast(values, pa.int64()), column)
    return pd.Series(_floats(column).astype(np.int64), index=column.index, name=column.name)


def _floats(column: pd.Series) -> NDArray[np.float64]:
    """Read the cells that are numbers; the others become NaN."""
    values = _arrow(column)
    known = is_number(column)
    if is_text(column):
        trimmed = pc.utf8_trim_whitespace(values)
        # the parser knows no leading plus
        bare = pc.replace_substring_regex(trimmed, r"^\+", "")
        values = pc.cast(pc.if_else(pa.array(known), bare, None), pa.float64())
    elif not known.any():
        return np.full(len(column), np.nan)
    floats = pc.cast(values, pa.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def _arrow(column: pd.Series) -> pa.Array:
    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _mask(array: pa.Array) -> Mask:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)


def _series(array: pa.Array, column: pd.Series) -> pd.Series:
    return pd.Series(array.to_numpy(), index=column.index, name=column.name)
