"""Reads numbers in text and columns: one grammar, exactly or not at all.

A column is an Arrow array. A missing cell is not a number.
"""

from dataclasses import astuple, dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from algorithms.rounding.centroids import to_places
from algorithms.types import Integers, Mask

Column: TypeAlias = pa.Array | pa.ChunkedArray

MANTISSA = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
INFINITY = r"(?i:inf(?:inity)?)"
NUMBER = rf"^\s*[+-]?(?:{MANTISSA}{EXPONENT}|{INFINITY})\s*$"
"""The grammar of numbers. It includes infinity, so that a separate rule can refuse it."""

SPACES = r"\s"
PLUS = r"^\+"
LEADING_ZEROS = r"^-?0[0-9]"
BARE_POINT = r"^-?\.|\.(?:$|[eE])"
LARGE_EXPONENT = r"[eE][+-]?[0-9]{3}"
CHANGED_BY_READING = "|".join(
    (SPACES, PLUS, LEADING_ZEROS, BARE_POINT, LARGE_EXPONENT, INFINITY),
)
"""Parts of a number that may be lost when it is read and written: '007' may be a code."""

WHOLE = r"^-?[0-9]{1,18}$"
"""Whole numbers that certainly fit into 64 bits."""

LARGEST_INTEGER = 2**63 - 1
LARGEST_REAL = 2.0**53
"""Below this, 64-bit real numbers represent every whole number exactly."""

CERTAIN_DIGITS = 15
"""Numbers with at most this many significant digits keep their value as real numbers."""

MOST_PLACES = 15


def is_number(column: Column) -> Mask:
    """Mark the cells that are numbers."""
    values = _plain(column)
    if pa.types.is_string(values.type):
        return _mask(pc.match_substring_regex(values, NUMBER))
    if pa.types.is_floating(values.type):
        return _mask(pc.invert(pc.is_nan(values)))
    if pa.types.is_integer(values.type) or pa.types.is_decimal(values.type):
        return _mask(pc.is_valid(values))
    return np.zeros(len(values), dtype=bool)


def is_finite(column: Column) -> Mask:
    """Mark the cells that are finite numbers."""
    return np.isfinite(to_floats(column))


def is_positive(column: Column) -> Mask:
    """Mark the cells that are finite numbers above zero."""
    values = to_floats(column)
    positive: Mask = np.isfinite(values) & (values > 0.0)
    return positive


def is_whole(column: Column) -> Mask:
    """Mark the cells that are exactly a whole number of at most 64 bits.

    A real number of 2**53 or more is not marked: it may represent several whole numbers.
    """
    return _integers(_plain(column))[1]


def is_exact(column: Column) -> Mask:
    """Mark the cells that keep their value as real numbers: all but large ones with many digits.

    Fractions are rounded to the 15 digits that every real number keeps, and no measurement has
    more. A number of 2**53 or more with more digits may be a code and must not change.
    """
    exact = np.ones(len(column), dtype=bool)
    if pa.types.is_floating(column.type):
        return exact
    floats = to_floats(column)
    large = np.flatnonzero(np.isfinite(floats) & (np.abs(floats) >= LARGEST_REAL))
    if large.size:
        cells = _written(_plain(column)).take(pa.array(large)).to_pylist()
        exact[large] = [Decimal(cell) == Decimal(repr(float(cell))) for cell in cells]
    return exact


def has_places(column: Column, places: int) -> Mask:
    """Mark the cells that are numbers with at most ``places`` decimals."""
    values = to_floats(column)
    short: Mask = np.isfinite(values)
    short[short] = to_places(values[short], places) == values[short]
    return short


@dataclass(frozen=True)
class Decimals:
    """How many decimals the cells of a column have, as they are written and without final zeros.

    Attributes
    ----------
    places, shortest_places : int
        Largest number of decimals of a cell.
    digits, shortest_digits : int
        Largest number of significant digits of a cell.
    """

    places: int = 0
    digits: int = 0
    shortest_places: int = 0
    shortest_digits: int = 0

    def __or__(self, other: "Decimals") -> "Decimals":
        """Count the decimals of two parts of a column together."""
        return Decimals(*map(max, astuple(self), astuple(other)))

    @property
    def kept(self) -> int | None:
        """The decimals that averages are published with; None if a count would be meaningless."""
        written = _meaningful(self.places, self.digits)
        return (
            _meaningful(self.shortest_places, self.shortest_digits) if written is None else written
        )


def decimals_of(column: Column) -> Decimals:
    """Count the decimals and the digits of a column of finite numbers."""
    text = _written(_plain(column))
    return Decimals(*_counted(text), *_counted(_without_final_zeros(text)))


def places_of(column: Column) -> int | None:
    """Count the decimals of a column of finite numbers: the largest count of any cell.

    Returns
    -------
    int or None
        None if the count would be meaningless: a cell has more digits than every real number
        keeps, or more than 15 decimals.

    Examples
    --------
    >>> places_of(pa.array(["12.50", "3", "1e-1"]))
    2
    >>> places_of(pa.array([0.25, 1 / 3])) is None
    True
    """
    text = _written(_plain(column))
    places = _meaningful(*_counted(text))
    return _meaningful(*_counted(_without_final_zeros(text))) if places is None else places


def _counted(written: pa.Array) -> tuple[int, int]:
    """Count the decimals, and the significant digits, of the cells that have most of them."""
    fraction = pc.replace_substring_regex(written, r"^[^.]*\.?|[eE].*$", "")
    exponent = pc.replace_substring_regex(written, r"^[^eE]*[eE]?\+?", "")
    exponent = pc.replace_substring_regex(exponent, r"[0-9]{7,}", "9999999")
    shift = pc.cast(pc.if_else(pc.equal(exponent, ""), "0", exponent), pa.int64())
    places = pc.max(pc.subtract(pc.utf8_length(fraction), shift)).as_py()
    return int(places), int(pc.max(_significant_digits(written)).as_py())


def _without_final_zeros(written: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(written, r"(\.[0-9]*?)0+($|[eE])", r"\1\2")


def _meaningful(places: int, digits: int) -> int | None:
    """Give a number of decimals; None if a cell has more digits than every real number keeps."""
    return max(places, 0) if digits <= CERTAIN_DIGITS and places <= MOST_PLACES else None


def to_floats(column: Column) -> NDArray[np.float64]:
    """Read the cells that are numbers as real numbers; the others become NaN."""
    values = _plain(column)
    known = is_number(values)
    if not known.any():
        return np.full(len(values), np.nan)
    if pa.types.is_string(values.type):
        values = _written(values)
    floats = pc.cast(pc.if_else(pa.array(known), values, None), pa.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def to_integers(column: Column) -> Integers:
    """Read the cells that are whole numbers of 64 bits, to the last digit; the others become 0."""
    return _integers(_plain(column))[0]


def lossless(text: Column) -> Column | None:
    """Read text as numbers if no cell changes.

    Returns
    -------
    pyarrow.Array, pyarrow.ChunkedArray or None
        Whole or real numbers. None if any cell is not a number or would change: '007', '+5' and
        numbers with too many digits must stay text.

    Examples
    --------
    >>> lossless(pa.array(["1", None])).type, lossless(pa.array(["1", "2.50"])).type
    (DataType(int64), DataType(double))
    >>> lossless(pa.array(["1", "007"])) is None
    True
    """
    changed = pc.match_substring_regex(text, CHANGED_BY_READING)
    unchanged = pc.and_not(pc.match_substring_regex(text, NUMBER), changed)
    if text.null_count == len(text) or not _all(unchanged):
        return None
    # a whole number has no negative zero
    whole = pc.and_not(pc.match_substring_regex(text, WHOLE), pc.equal(text, "-0"))
    if _all(whole):
        return text.cast(pa.int64())
    numbers = text.cast(pa.float64())
    certain = pc.less_equal(_significant_digits(text), CERTAIN_DIGITS)
    same = pc.equal(numbers.cast(pa.string()), text)
    return numbers if _all(pc.or_(certain, same)) else None


def _integers(values: pa.Array) -> tuple[Integers, Mask]:
    """Read the cells that are whole numbers of 64 bits, and mark them; the others become 0."""
    if pa.types.is_string(values.type) or pa.types.is_decimal(values.type):
        return _written_integers(values)
    known = is_number(values)
    if pa.types.is_uint64(values.type):
        known &= _mask(pc.less_equal(values, pa.scalar(LARGEST_INTEGER, pa.uint64())))
    elif pa.types.is_floating(values.type):
        floats = to_floats(values)
        with np.errstate(invalid="ignore"):
            known &= (np.floor(floats) == floats) & (np.abs(floats) < LARGEST_REAL)
    if not known.any():
        return np.zeros(len(values), dtype=np.int64), known
    return _int64(pc.cast(pc.if_else(pa.array(known), values, None), pa.int64())), known


def _written_integers(values: pa.Array) -> tuple[Integers, Mask]:
    """Read whole numbers from text or decimals, in any form of the grammar."""
    text = _written(values)
    bare = pc.replace_substring_regex(text, r"\.0*$", "")
    plain = pc.fill_null(pc.match_substring_regex(bare, WHOLE), False)
    integers = _int64(pc.cast(pc.if_else(plain, bare, None), pa.int64()))
    known = _mask(plain)
    for row in np.flatnonzero(is_finite(values) & ~known):
        whole = _whole(text[row].as_py())
        if whole is not None:
            integers[row], known[row] = whole, True
    return integers, known


def _whole(text: str) -> int | None:
    """Read a finite number as a whole one of 64 bits, if it is one."""
    try:
        number = Decimal(text)
    except InvalidOperation:  # the exponent is too large
        return None
    if number and number.adjusted() >= len(str(LARGEST_INTEGER)):
        return None  # writing out a large exponent could take gigabytes
    whole = int(number)
    return whole if whole == number and -LARGEST_INTEGER - 1 <= whole <= LARGEST_INTEGER else None


def _significant_digits(text: Column) -> Column:
    """Count the digits from the first that is not 0, in numbers without spaces and plus sign."""
    return pc.utf8_length(pc.replace_substring_regex(text, r"[eE].*$|^-?0*\.?0*|\.", ""))


def _written(values: pa.Array) -> pa.Array:
    """Write cells as text: as they are in a file, or in the shortest form."""
    trimmed = pc.utf8_trim_whitespace(pc.cast(values, pa.string()))
    # the parser of numbers accepts no leading plus
    return pc.replace_substring_regex(trimmed, PLUS, "")


def _plain(column: Column) -> pa.Array:
    """Convert a column to one array of a type that all functions here accept."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    wider = {pa.large_string(): pa.string(), pa.float16(): pa.float32()}
    return array.cast(wider[array.type]) if array.type in wider else array


def _all(array: Any) -> bool:
    """Check whether all cells that are not missing are true."""
    return bool(pc.all(array).as_py())


def _mask(array: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), dtype=bool)


def _int64(integers: pa.Array) -> Integers:
    return np.array(pc.fill_null(integers, 0), dtype=np.int64)
