"""Guesses groups that cost less than the prices of their rows."""

import numpy as np

from algorithms.bounds.pricing import TINY
from algorithms.jit import kernel
from algorithms.types import Labels, Matrix

STARTS = 8
"""Neighbours that a row begins a group with, one at a time."""


@kernel
def all_squares(x: Matrix) -> Matrix:
    """Measure the squared distances of all pairs."""
    n, d = x.shape
    squares = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = 0.0
            for c in range(d):
                difference = x[i, c] - x[j, c]
                total += difference * difference
            squares[i, j] = total
            squares[j, i] = total
    return squares


@kernel
def guess(
    squares: Matrix, near: Labels, prices: Matrix, k: int, members: Labels, sizes: Labels
) -> None:
    """Form groups around each row, and keep the one that falls short of its prices most.

    A group begins with the row and one of its neighbours, and takes the row that adds least, one
    after the other. It is written to ``members``, and its size, or 0 if none falls short, to
    ``sizes``.
    """
    n, width = near.shape
    cross = np.empty(width)
    taken = np.empty(width, dtype=np.bool_)
    group = np.empty(2 * k - 1, dtype=np.int64)
    for root in range(n):
        least = -TINY
        sizes[root] = 0
        for size in range(k, min(2 * k - 1, width + 1) + 1):
            for start in range(min(width, STARTS)):
                for i in range(width):
                    cross[i] = squares[root, near[root, i]]
                    taken[i] = False
                group[0] = root
                cost = -prices[root]
                place = start
                for t in range(1, size):
                    row = near[root, place]
                    cost += cross[place] / size - prices[row]
                    group[t] = row
                    taken[place] = True
                    low = np.inf
                    for i in range(width):
                        other = near[root, i]
                        cross[i] += squares[row, other]
                        value = cross[i] / size - prices[other]
                        if not taken[i] and value < low:
                            low = value
                            place = i
                if cost < least:
                    least = cost
                    sizes[root] = size
                    members[root, :size] = group[:size]
