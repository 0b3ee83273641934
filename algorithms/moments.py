"""Exact moments of a column: the same for any order of the records and any cut of the file."""

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from algorithms.errors import ContractError
from algorithms.jit import kernel
from algorithms.types import Integers, Matrix

EXPONENTS = 2047
"""Exponents of finite numbers."""

SMALLEST = 1074
"""Every finite number is a whole multiple of two to the power of minus this."""

HALF = 27
"""Bits in the lower part of a significand of 53 bits; the square of either part fits 64 bits."""

LIMB = 32
"""Bits in the lower part of an accumulator; its upper part has room for 2**31 values."""

PARTS = 4
"""Sums per exponent: significands, and the three products of their halves."""

MOST_AT_A_TIME = 2**30
"""Most values that one run of the kernel adds up."""

ROOT_BITS = 128
"""Bits with which a variance is divided before its root is taken, more than a number keeps."""


@dataclass(frozen=True)
class Moments:
    """The count, sum, sum of squares, minimum and maximum of some finite numbers.

    Sums are exact, so that ``a + b`` has the moments of both, however the numbers were divided.

    Attributes
    ----------
    count : int
        How many numbers there are.
    total : int
        Their sum, in units of ``2**-1074``.
    squares : int
        The sum of their squares, in units of ``2**-2148``.
    least, most : float
        The smallest and the largest of them.

    Examples
    --------
    >>> a, b = moments_of(np.array([1.0, 2.0])), moments_of(np.array([6.0]))
    >>> (a + b).mean, (a + b).deviation == 7**0.5
    (3.0, True)
    """

    count: int = 0
    total: int = 0
    squares: int = 0
    least: float = math.inf
    most: float = -math.inf

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            min(self.least, other.least),
            max(self.most, other.most),
        )

    @property
    def mean(self) -> float:
        """The mean, rounded once."""
        return self.total / (self.count << SMALLEST)

    @property
    def deviation(self) -> float:
        """The standard deviation with ``n - 1`` in the denominator, rounded once.

        It is 1 for a constant column, which then has no weight.
        """
        if self.least == self.most:
            return 1.0
        spread = self.count * self.squares - self.total**2
        shares = self.count * (self.count - 1)
        shift = max(ROOT_BITS - spread.bit_length() + shares.bit_length(), 0)
        shift += shift % 2
        quotient, rest = divmod(spread << shift, shares)
        root = math.isqrt(quotient)
        # a last bit that says whether the root goes on, so that rounding is right
        root = 2 * root + (rest > 0 or root**2 < quotient)
        return root / (1 << (SMALLEST + shift // 2 + 1)) or 1.0


def moments_of(values: Matrix) -> Moments:
    """Compute the exact moments of finite numbers.

    Parameters
    ----------
    values : Matrix of shape (n,)
        Some of the numbers of a column.

    Raises
    ------
    ContractError
        If a number is not finite.

    Examples
    --------
    >>> moments_of(np.array([0.1, 0.2, 0.3])).mean
    0.2
    """
    parts = [
        _moments(np.ascontiguousarray(values[start : start + MOST_AT_A_TIME]))
        for start in range(0, len(values), MOST_AT_A_TIME)
    ]
    return reduce(Moments.__add__, parts, Moments())


def _moments(values: Matrix) -> Moments:
    sums = np.zeros((EXPONENTS, 2 * PARTS), dtype=np.int64)
    if not _add(values.view(np.int64), sums):
        raise ContractError("moments are those of finite numbers")
    total = squares = 0
    for exponent in np.flatnonzero(sums.any(axis=1)).tolist():
        significands, high, mixed, low = (
            (int(sums[exponent, 2 * part + 1]) << LIMB) + int(sums[exponent, 2 * part])
            for part in range(PARTS)
        )
        shift = max(exponent - 1, 0)
        total += significands << shift
        square = (high << 2 * HALF) + (mixed << (HALF + 1)) + low
        squares += square << 2 * shift
    return Moments(len(values), total, squares, float(values.min()), float(values.max()))


@kernel
def _add(bits: Integers, sums: Integers) -> bool:
    """Add numbers, given as their bits, to the sums of their exponents; False if one is infinite.

    Each sum has two parts, of which the lower one takes 32 bits of each value.
    """
    for i in range(bits.size):
        exponent = (bits[i] >> 52) & 2047
        if exponent == EXPONENTS:
            return False
        significand = bits[i] & 4503599627370495
        if exponent > 0:
            significand |= 4503599627370496
        upper, lower = significand >> HALF, significand & 134217727
        own = sums[exponent]
        if bits[i] < 0:
            significand = -significand
        _accumulate(own, 0, significand)
        _accumulate(own, 2, upper * upper)
        _accumulate(own, 4, upper * lower)
        _accumulate(own, 6, lower * lower)
    return True


@kernel
def _accumulate(sums: Integers, place: int, value: int) -> None:
    sums[place] += value & 4294967295
    sums[place + 1] += value >> LIMB
