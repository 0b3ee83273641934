"""Triangles: a row that shares a group with two others makes these share it too."""

import numpy as np

from algorithms.bounds.pairs import Pairs, place_of
from algorithms.jit import in_threads, kernel
from algorithms.types import Labels, Matrix

MOST_OF_A_ROW = 30
"""Triangles of one row that are added at a time."""

SUPPORT, VIOLATED = 0.05, 0.05
"""The least shares that are looked at, and by how much an added triangle is violated; both as parts
of the row's own share."""

ROWS_AT_ONCE = 256

OWN, FIRST, SECOND, ACROSS = range(4)
"""The places of a triangle."""


class Triangles:
    """Triangles and their prices.

    If Z holds the share 1/m of each pair of rows in a group of m, and 0 for other pairs, then
    Z_ij + Z_il - Z_jl is at most Z_ii: at most one of the pairs ij and il can be together if j and
    l are apart. That costs nothing to state: with a price p >= 0, p times the left side less the
    right side may be added to the loss of any partition, and only lowers it.

    Attributes
    ----------
    places : Labels of shape (t, 4)
        Places of the pairs ii, ij, il and jl.
    prices : Matrix of shape (t,)
    """

    def __init__(self) -> None:
        self.places: Labels = np.zeros((0, 4), dtype=np.int64)
        self.prices: Matrix = np.zeros(0)

    def renew(self, pairs: Pairs, shares: Matrix) -> None:
        """Drop those without a price, and add those that shares violate most."""
        n = len(pairs.scale)
        found = np.empty((n, MOST_OF_A_ROW, 4), dtype=np.int64)
        counts = np.zeros(n, dtype=np.int64)
        in_threads(
            lambda first: _find(
                pairs.starts, pairs.others, pairs.itself, shares, found, counts,
                first, min(first + ROWS_AT_ONCE, n),
            ),
            range(0, n, ROWS_AT_ONCE),
        )  # fmt: skip
        fresh = found[np.arange(MOST_OF_A_ROW) < counts[:, np.newaxis]]
        kept = self.prices > 0.0
        places = np.concatenate([self.places[kept], fresh])
        prices = np.concatenate([self.prices[kept], np.zeros(len(fresh))])
        keys = places[:, FIRST] * pairs.costs.size + places[:, SECOND]
        _, chosen = np.unique(keys, return_index=True)
        self.places, self.prices = places[chosen], prices[chosen]

    def count(self, uses: Labels) -> None:
        """Count in how many triangles each pair is."""
        np.add.at(uses, self.places.ravel(), 1)

    def press(self, shares: Matrix, stiffness: Matrix, uses: Labels, pace: float) -> None:
        """Raise the prices of triangles that shares violate, and lower those of others."""
        violation = shares[self.places] @ np.array([-1.0, 1.0, 1.0, -1.0])
        resistance = (uses[self.places] / stiffness[self.places]).sum(axis=1)
        self.prices = np.maximum(self.prices + pace * violation / resistance, 0.0)

    def charge(self, pairs: Pairs, charges: Matrix) -> None:
        """Add the prices to the costs of pairs, the same to both orders of a pair."""
        _charge(self.places, self.prices, pairs.mirror, charges)


@kernel
def _find(
    starts: Labels,
    others: Labels,
    itself: Labels,
    shares: Matrix,
    found: Labels,
    counts: Labels,
    first: int,
    last: int,
) -> None:
    """Find the triangles of some rows that are violated most."""
    violations = np.empty(MOST_OF_A_ROW)
    for row in range(first, last):
        own = shares[itself[row]]
        support = np.empty(starts[row + 1] - starts[row], dtype=np.int64)
        size = 0
        for place in range(starts[row], starts[row + 1]):
            if others[place] != row and shares[place] > SUPPORT * own:
                support[size] = place
                size += 1
        violations[:] = VIOLATED * own
        for a in range(size):
            for b in range(a):
                violation = shares[support[a]] + shares[support[b]] - own
                if violation <= violations[-1]:
                    continue
                across = place_of(starts, others, others[support[a]], others[support[b]])
                if across < 0:
                    continue
                violation -= shares[across]
                if violation <= violations[-1]:
                    continue
                slot = MOST_OF_A_ROW - 1
                while slot > 0 and violations[slot - 1] < violation:
                    violations[slot] = violations[slot - 1]
                    found[row, slot] = found[row, slot - 1]
                    slot -= 1
                violations[slot] = violation
                found[row, slot, OWN] = itself[row]
                found[row, slot, FIRST] = support[a]
                found[row, slot, SECOND] = support[b]
                found[row, slot, ACROSS] = across
                counts[row] = min(counts[row] + 1, MOST_OF_A_ROW)


@kernel
def _charge(places: Labels, prices: Matrix, mirror: Labels, charges: Matrix) -> None:
    for triangle in range(prices.size):
        own, first, second, across = places[triangle]
        half = prices[triangle] / 2.0
        charges[own] -= prices[triangle]
        charges[first] += half
        charges[mirror[first]] += half
        charges[second] += half
        charges[mirror[second]] += half
        charges[across] -= half
        charges[mirror[across]] -= half
