"""Ordering along a space-filling curve."""

import numpy as np
from numpy.typing import NDArray

from algorithms.jit import kernel
from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order

BITS = 16
"""Digits of a coordinate that decide on the place along the curve."""

WORD = 64


def hilbert(x: Matrix) -> Order:
    """Order the records along a Hilbert curve through their space; ties go to the lowest row.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    Notes
    -----
    Time O(n d + n log n): for tables too large for `npn` or `tsp`. What is near on the curve is
    near in space, but not the other way round, and the less so the more attributes there are. All
    attributes are divided into steps of one size, so that distances keep their proportions. Places
    are found as in [SKI04]_.

    Examples
    --------
    >>> hilbert(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    array([0, 1, 3, 2])
    """
    low = x.min(axis=0)
    width = float((x.max(axis=0) - low).max()) or 1.0
    steps = np.rint((x - low) * ((2**BITS - 1) / width)).astype(np.uint64)
    words = -(-x.shape[1] * BITS // WORD)
    places = np.zeros((words, len(x)), dtype=np.uint64)
    find_places(steps, places)
    return np.lexsort(places[::-1])


@kernel
def find_places(points: NDArray[np.uint64], places: NDArray[np.uint64]) -> None:
    """Find the place of each point along the curve, as words of bits; ``points`` are used up."""
    one = np.uint64(1)
    d = points.shape[1]
    for row in range(len(points)):
        point = points[row]
        # undo the turns of the curve, from the largest cube to the smallest
        for bit in range(BITS - 1, 0, -1):
            high = one << np.uint64(bit)
            below = high - one
            for j in range(d):
                if point[j] & high:
                    point[0] ^= below
                else:
                    swapped = (point[0] ^ point[j]) & below
                    point[0] ^= swapped
                    point[j] ^= swapped
        # Gray code
        for j in range(1, d):
            point[j] ^= point[j - 1]
        flips = np.uint64(0)
        for bit in range(BITS - 1, 0, -1):
            high = one << np.uint64(bit)
            if point[d - 1] & high:
                flips ^= high - one
        for j in range(d):
            point[j] ^= flips
        # the highest digits of all coordinates come first
        for bit in range(BITS):
            for j in range(d):
                digit = (point[j] >> np.uint64(BITS - 1 - bit)) & one
                place = bit * d + j
                places[place // WORD, row] |= digit << np.uint64(WORD - 1 - place % WORD)


ORDERING = Ordering(
    run=hilbert,
    summary=(
        "The path follows a curve that fills the space of the averaged columns, so that "
        "neighbours on the path are alike."
    ),
    paper="SKI04",
)
