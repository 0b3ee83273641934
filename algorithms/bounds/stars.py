"""Stars: a row shares its group with others only if these share it with each other too."""

import numpy as np

from algorithms.bounds.pairs import Pairs, Places, place_of
from algorithms.jit import in_threads, kernel
from algorithms.types import Labels, Matrix

MOST_OF_A_ROW = 30
"""Stars of one row that are added at a time."""

SUPPORT, VIOLATED = 0.05, 0.05
"""The least shares that are looked at, and by how much an added star is violated; both as parts of
the row's own share."""

ROWS_AT_ONCE = 256

OWN, ARMS = 0, 1
"""The place of the centre's own share, and the first place of an arm."""


class Stars:
    """Stars with the same number of arms, and their prices.

    Let Z hold the share 1/m of each pair of rows in a group of m, and 0 for other pairs. Any row i,
    the centre, and any set T of other rows, its arms, satisfy::

        sum of Z_ij over T  -  sum of Z_jl over pairs of T  <=  Z_ii

    Only the arms in a group count. If a of them are in the group of the centre, the left side is
    (a - a (a - 1) / 2) / m, and the bracket is 0, 1, 1, 0 or negative for a = 0, 1, 2, 3 or more.
    In other groups nothing is added. With a price p >= 0, p times the left side less the right side
    may therefore be added to the loss of any partition, and only lowers it. A star with two arms
    says that at most one of them shares the centre's group if they are apart.

    Parameters
    ----------
    arms : int
        Rows of T, at least 2.

    Attributes
    ----------
    places : Places of shape (s, 1 + arms + arms (arms - 1) / 2)
        Places of the pairs: the centre with itself, with each arm, and the pairs of arms.
    prices : Matrix of shape (s,)
    """

    def __init__(self, arms: int) -> None:
        self.arms = arms
        across = arms * (arms - 1) // 2
        self._signs = np.repeat([-1.0, 1.0, -1.0], [1, arms, across])
        self.places: Places = np.zeros((0, self._signs.size), dtype=np.int32)
        self.prices: Matrix = np.zeros(0)

    def renew(self, pairs: Pairs, shares: Matrix) -> None:
        """Drop those without a price, and add those that shares violate most."""
        n = len(pairs.scale)
        found = np.empty((n, MOST_OF_A_ROW, self._signs.size), dtype=np.int32)
        counts = np.zeros(n, dtype=np.int64)
        in_threads(
            lambda first: _find(
                pairs.starts, pairs.others, pairs.itself, shares, self.arms, found, counts,
                first, min(first + ROWS_AT_ONCE, n),
            ),
            range(0, n, ROWS_AT_ONCE),
        )  # fmt: skip
        fresh = found[np.arange(MOST_OF_A_ROW) < counts[:, np.newaxis]]
        kept = self.prices > 0.0
        places = np.concatenate([self.places[kept], fresh])
        prices = np.concatenate([self.prices[kept], np.zeros(len(fresh))])
        # the same arms have the same key; of two stars with one key by chance, one is left out
        keys = np.zeros(len(places), dtype=np.uint64)
        for arm in places[:, ARMS : ARMS + self.arms].T:
            keys = keys * np.uint64(0x9E3779B97F4A7C15) + arm.astype(np.uint64)
        _, chosen = np.unique(keys, return_index=True)
        self.places, self.prices = places[chosen], prices[chosen]

    def count(self, uses: Labels) -> None:
        """Count in how many stars each pair is."""
        uses += np.bincount(self.places.ravel(), minlength=uses.size)

    def press(self, shares: Matrix, stiffness: Matrix, uses: Labels, pace: float) -> None:
        """Raise the prices of stars that shares violate, and lower those of others."""
        _press(self.places, self._signs, shares, uses / stiffness, pace, self.prices)

    def charge(self, pairs: Pairs, charges: Matrix) -> None:
        """Add the prices to the costs of pairs, the same to both orders of a pair."""
        _charge(self.places, self._signs, self.prices, pairs.mirror, charges)


@kernel
def _find(
    starts: Labels,
    others: Labels,
    itself: Labels,
    shares: Matrix,
    arms: int,
    found: Places,
    counts: Labels,
    first: int,
    last: int,
) -> None:
    """Find the stars of some rows that are violated most.

    Any two arms are joined by those that add most.
    """
    violations = np.empty(MOST_OF_A_ROW)
    chosen = np.empty(arms, dtype=np.int64)
    for row in range(first, last):
        own = shares[itself[row]]
        support = np.empty(starts[row + 1] - starts[row], dtype=np.int64)
        size = 0
        for place in range(starts[row], starts[row + 1]):
            if others[place] != row and shares[place] > SUPPORT * own:
                support[size] = place
                size += 1
        support = support[:size]
        across = np.empty((size, size), dtype=np.int64)
        for a in range(size):
            for b in range(size):
                across[a, b] = place_of(starts, others, others[support[a]], others[support[b]])
        violations[:] = VIOLATED * own
        for a in range(size):
            for b in range(a):
                if across[a, b] < 0:
                    continue
                chosen[0], chosen[1] = a, b
                if not _grow(support, across, shares, chosen):
                    continue
                ordered = np.sort(chosen)
                violation = _left_side(support, across, shares, ordered) - own
                if violation <= violations[-1]:
                    continue
                if _is_known(found[row, : counts[row]], support, ordered):
                    continue
                slot = MOST_OF_A_ROW - 1
                while slot > 0 and violations[slot - 1] < violation:
                    violations[slot] = violations[slot - 1]
                    found[row, slot] = found[row, slot - 1]
                    slot -= 1
                violations[slot] = violation
                star = found[row, slot]
                star[OWN] = itself[row]
                place = ARMS + arms
                for arm in range(arms):
                    star[ARMS + arm] = support[ordered[arm]]
                    for other in range(arm):
                        star[place] = across[ordered[arm], ordered[other]]
                        place += 1
                counts[row] = min(counts[row] + 1, MOST_OF_A_ROW)


@kernel
def _grow(support: Labels, across: Labels, shares: Matrix, chosen: Labels) -> bool:
    """Add the arm that adds most to two arms, and so on; false if there are not enough."""
    for count in range(2, chosen.size):
        most, best = -np.inf, -1
        for candidate in range(support.size):
            added = shares[support[candidate]]
            for arm in chosen[:count]:
                if arm == candidate or across[arm, candidate] < 0:
                    added = -np.inf
                    break
                added -= shares[across[arm, candidate]]
            if added > most:
                most, best = added, candidate
        if best < 0:
            return False
        chosen[count] = best
    return True


@kernel
def _left_side(support: Labels, across: Labels, shares: Matrix, chosen: Labels) -> float:
    """Compute the left side of a star."""
    total = 0.0
    for arm in range(chosen.size):
        total += shares[support[chosen[arm]]]
        for other in range(arm):
            total -= shares[across[chosen[arm], chosen[other]]]
    return total


@kernel
def _is_known(found: Places, support: Labels, chosen: Labels) -> bool:
    """Say whether a star with the same arms was found before."""
    for star in range(len(found)):
        same = 0
        for arm in range(chosen.size):
            if found[star, ARMS + arm] == support[chosen[arm]]:
                same += 1
        if same == chosen.size:
            return True
    return False


@kernel
def _press(
    places: Places, signs: Matrix, shares: Matrix, yielding: Matrix, pace: float, prices: Matrix
) -> None:
    for star in range(prices.size):
        violation, resistance = 0.0, 0.0
        for place in range(signs.size):
            violation += signs[place] * shares[places[star, place]]
            resistance += yielding[places[star, place]]
        prices[star] = max(prices[star] + pace * violation / resistance, 0.0)


@kernel
def _charge(places: Places, signs: Matrix, prices: Matrix, mirror: Labels, charges: Matrix) -> None:
    for star in range(prices.size):
        charges[places[star, OWN]] -= prices[star]
        for place in range(ARMS, signs.size):
            half = signs[place] * prices[star] / 2.0
            charges[places[star, place]] += half
            charges[mirror[places[star, place]]] += half
