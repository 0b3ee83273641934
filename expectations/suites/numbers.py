"""Which cells of a column are numbers, finite, whole; and the column as numbers."""

from decimal import Decimal, InvalidOperation

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from algorithms.rounding.centroids import to_places
from algorithms.types import Integers, Mask

NUMBER = r"(?i)^\s*[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)\s*$"
"""Text that is a number, infinite ones included: they get a sentence of their own."""

LARGEST_INTEGER = 2**63 - 1
LARGEST_REAL = 2.0**53
"""Below this a real number holds every whole number."""

CERTAIN_DIGITS = 15
"""So many significant digits survive the way through a real number and back."""

MOST_PLACES = 15


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
    """Mark the cells that are whole numbers of at most 64 bits, and exactly so.

    A real number of 2**53 or more is not one of them: it may stand for several whole numbers.
    """
    return _integers(column)[1]


def is_exact(column: pd.Series) -> Mask:
    """Mark the cells that a real number holds: all but large numbers with too many digits.

    Fractions are rounded to the 15 digits that a real number holds at least, which no measurement
    exceeds. A number beyond 2**53 with more digits may be a code, and must not change.
    """
    exact = np.ones(len(column), dtype=bool)
    floats = _floats(column)
    large = np.flatnonzero(np.isfinite(floats) & (np.abs(floats) >= LARGEST_REAL))
    if large.size and not pa.types.is_floating(_arrow(column).type):
        for row, cell in zip(large, _text(column).take(pa.array(large)).to_pylist(), strict=True):
            exact[row] = Decimal(cell) == Decimal(repr(float(cell)))
    return exact


def has_places(column: pd.Series, places: int) -> Mask:
    """Mark the cells that are numbers with at most so many decimals."""
    values = _floats(column)
    kept: Mask = np.isfinite(values)
    kept[kept] = to_places(values[kept], places) == values[kept]
    return kept


def places_of(column: pd.Series) -> int | None:
    """Count the decimals that a column of finite numbers is written with, at most.

    Returns
    -------
    int or None
        None where that says nothing: a cell has more digits than a real number surely holds, or
        more than 15 decimals.

    Examples
    --------
    >>> places_of(pd.Series(["12.50", "3", "1e-1"]))
    2
    >>> places_of(pd.Series([0.25, 1 / 3])) is None
    True
    """
    text = _text(column)
    for written in (text, pc.replace_substring_regex(text, r"(\.[0-9]*?)0+($|[eE])", r"\1\2")):
        digits = pc.replace_substring_regex(written, r"[eE].*$|^-?0*\.?0*|\.", "")
        fraction = pc.replace_substring_regex(written, r"^[^.]*\.?|[eE].*$", "")
        exponent = pc.replace_substring_regex(written, r"^[^eE]*[eE]?\+?", "")
        exponent = pc.replace_substring_regex(exponent, r"[0-9]{7,}", "9999999")
        shift = pc.cast(pc.if_else(pc.equal(exponent, ""), "0", exponent), pa.int64())
        places = int(pc.max(pc.subtract(pc.utf8_length(fraction), shift)).as_py())
        longest = pc.max(pc.utf8_length(digits)).as_py()
        if longest <= CERTAIN_DIGITS and places <= MOST_PLACES:
            return max(places, 0)
    return None


def to_floats(column: pd.Series) -> pd.Series:
    """Read a column of finite numbers as real numbers."""
    return pd.Series(_floats(column), index=column.index, name=column.name)


def to_integers(column: pd.Series) -> pd.Series:
    """Read a column of whole numbers exactly, beyond the 53 bits of a real number too."""
    return pd.Series(_integers(column)[0], index=column.index, name=column.name)


def _integers(column: pd.Series) -> tuple[Integers, Mask]:
    """Read the cells that are whole numbers of 64 bits, and mark them; the others become 0."""
    values = _arrow(column)
    if is_text(column) or pa.types.is_decimal(values.type):
        return _written_integers(column)
    known = is_number(column)
    if pa.types.is_uint64(values.type):
        largest = pa.scalar(LARGEST_INTEGER, pa.uint64())
        known &= _mask(pc.fill_null(pc.less_equal(values, largest), False))
    elif not pa.types.is_integer(values.type):
        floats = _floats(column)
        with np.errstate(invalid="ignore"):
            known &= (np.floor(floats) == floats) & (np.abs(floats) < LARGEST_REAL)
    if not known.any():
        return np.zeros(len(column), dtype=np.int64), known
    return _numpy(pc.cast(pc.if_else(pa.array(known), values, None), pa.int64())), known


def _written_integers(column: pd.Series) -> tuple[Integers, Mask]:
    """Read whole numbers that are written in digits, in whatever form."""
    text = _text(column)
    bare = pc.replace_substring_regex(text, r"\.0*$", "")
    plain = pc.fill_null(pc.match_substring_regex(bare, r"^-?[0-9]{1,18}$"), False)
    integers = _numpy(pc.cast(pc.if_else(plain, bare, None), pa.int64()))
    known = _mask(plain)
    for row in np.flatnonzero(is_finite(column) & ~known):
        whole = _whole(text[row].as_py())
        if whole is not None:
            integers[row], known[row] = whole, True
    return integers, known


def _whole(text: str) -> int | None:
    """Read a finite number as a whole one of 64 bits, if it is one."""
    try:
        number = Decimal(text)
    except InvalidOperation:  # the exponent is out of all bounds
        return None
    if number and number.adjusted() >= len(str(LARGEST_INTEGER)):
        return None  # before it is written out: an exponent may ask for gigabytes
    whole = int(number)
    return whole if whole == number and -LARGEST_INTEGER - 1 <= whole <= LARGEST_INTEGER else None


def _floats(column: pd.Series) -> NDArray[np.float64]:
    """Read the cells that are numbers; the others become NaN."""
    known = is_number(column)
    if not known.any():
        return np.full(len(column), np.nan)
    values = _text(column) if is_text(column) else _arrow(column)
    floats = pc.cast(pc.if_else(pa.array(known), values, None), pa.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def _text(column: pd.Series) -> pa.Array:
    """Write the cells of a column as they stand in a file, or as shortly as they can be written."""
    values = _arrow(column)
    if pa.types.is_float16(values.type):
        values = pc.cast(values, pa.float32())
    trimmed = pc.utf8_trim_whitespace(pc.cast(values, pa.string()))
    # the parser of numbers knows no leading plus
    return pc.replace_substring_regex(trimmed, r"^\+", "")


def _arrow(column: pd.Series) -> pa.Array:
    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _mask(array: pa.Array) -> Mask:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)


def _numpy(integers: pa.Array) -> Integers:
    return np.array(pc.fill_null(integers, 0), dtype=np.int64)
