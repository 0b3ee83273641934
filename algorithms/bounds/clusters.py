"""Clusters: a set of rows holds no fraction of a group."""

import numpy as np

from algorithms.bounds.pairs import Pairs, place_of
from algorithms.jit import in_threads, kernel
from algorithms.types import Labels, Matrix

LARGEST = 5
"""Rows of the largest cluster, as a multiple of k."""

VIOLATED = 0.01
"""By how much a cluster that is added is violated, as a part of a group."""

ROWS_AT_ONCE = 64


class Clusters:
    """Clusters of rows and their prices.

    Let Z hold the share 1/m of each pair of rows in a group of m, and 0 for other pairs. A set of
    s rows, with r the remainder of s divided by k and r > 0, satisfies::

        sum of Z_ii + sum of all Z_ij / (k - r)  <=  floor(s / k) + s / (k - r)

    with sums over rows i and j of the set. A group of m rows, of which a are in the set, counts
    a / m + (a² / m - a) / (k - r) more on the left than a / (k - r). If a is less than k, this is
    largest for m = k, and then at most (a - r) / (k - r), and negative if a < r; for k <= a it is
    at most 1. That is never more than the function floor(a / k) + max(0, (a mod k) - r) / (k - r),
    which is superadditive: summed over the groups it is at most that of s, which is floor(s / k).

    So 12 records far from all others cannot form 1.2 groups of 10.

    Attributes
    ----------
    rows : Labels of shape (c, LARGEST k)
        Rows of each cluster, ascending; -1 where there are no more.
    sizes : Labels of shape (c,)
    prices : Matrix of shape (c,)
    """

    def __init__(self, k: int) -> None:
        self.k = k
        self.rows: Labels = np.zeros((0, LARGEST * k), dtype=np.int64)
        self.sizes: Labels = np.zeros(0, dtype=np.int64)
        self.prices: Matrix = np.zeros(0)

    def renew(self, pairs: Pairs, shares: Matrix) -> None:
        """Drop those without a price, and add those that shares violate most, around each row."""
        n = len(pairs.scale)
        found = np.full((n, LARGEST * self.k), -1, dtype=np.int64)
        counts = np.zeros(n, dtype=np.int64)
        in_threads(
            lambda first: _find(
                pairs.starts, pairs.others, pairs.itself, pairs.costs, shares, self.k,
                found, counts, first, min(first + ROWS_AT_ONCE, n),
            ),
            range(0, n, ROWS_AT_ONCE),
        )  # fmt: skip
        fresh = counts > 0
        kept = self.prices > 0.0
        rows = np.concatenate([self.rows[kept], found[fresh]])
        sizes = np.concatenate([self.sizes[kept], counts[fresh]])
        prices = np.concatenate([self.prices[kept], np.zeros(fresh.sum())])
        _, chosen = np.unique(rows, axis=0, return_index=True)
        self.rows, self.sizes, self.prices = rows[chosen], sizes[chosen], prices[chosen]

    def count(self, pairs: Pairs, uses: Labels) -> None:
        """Count in how many clusters each pair is."""
        _count(pairs.starts, pairs.others, self.rows, self.sizes, uses)

    def press(
        self, pairs: Pairs, shares: Matrix, stiffness: Matrix, uses: Labels, pace: float
    ) -> None:
        """Raise the prices of clusters that shares violate, and lower those of others."""
        _press(
            pairs.starts, pairs.others, self.rows, self.sizes, self.k,
            shares, stiffness, uses, pace, self.prices,
        )  # fmt: skip

    def charge(self, pairs: Pairs, charges: Matrix) -> None:
        """Add the prices to the costs of pairs."""
        _charge(pairs.starts, pairs.others, self.rows, self.sizes, self.k, self.prices, charges)

    def limits(self) -> Matrix:
        """Give the price of each cluster times what its left side may reach."""
        groups, rest = np.divmod(self.sizes, self.k)
        limits: Matrix = self.prices * (groups + self.sizes / (self.k - rest))
        return limits


@kernel
def _find(
    starts: Labels,
    others: Labels,
    itself: Labels,
    costs: Matrix,
    shares: Matrix,
    k: int,
    found: Labels,
    counts: Labels,
    first: int,
    last: int,
) -> None:
    """Find the most violated cluster around each of some rows.

    The row is joined by those that it shares most with, as long as all pairs are listed.
    """
    largest = found.shape[1]
    cluster = np.empty(largest, dtype=np.int64)
    for row in range(first, last):
        begin, end = starts[row], starts[row + 1]
        # of equal shares, the nearest first
        nearest = np.argsort(costs[begin:end], kind="mergesort")
        order = nearest[np.argsort(-shares[begin:end][nearest], kind="mergesort")]
        cluster[0] = row
        size = 1
        groups = shares[itself[row]]
        total = groups
        most, best = VIOLATED, 0
        for rank in order:
            joining = others[begin + rank]
            if joining == row:
                continue
            if size == largest:
                break
            listed = True
            added = shares[place_of(starts, others, joining, joining)]
            own = added
            for a in range(size):
                place = place_of(starts, others, cluster[a], joining)
                if place < 0:
                    listed = False
                    break
                added += 2.0 * shares[place]
            if not listed:
                continue
            cluster[size] = joining
            size += 1
            groups += own
            total += added
            rest = size % k
            if rest > 0:
                violation = groups - size // k + (total - size) / (k - rest)
                if violation > most:
                    most, best = violation, size
        if best > 0:
            counts[row] = best
            found[row, :best] = np.sort(cluster[:best])


@kernel
def _count(starts: Labels, others: Labels, rows: Labels, sizes: Labels, uses: Labels) -> None:
    for cluster in range(sizes.size):
        for a in range(sizes[cluster]):
            for b in range(sizes[cluster]):
                uses[place_of(starts, others, rows[cluster, a], rows[cluster, b])] += 1


@kernel
def _press(
    starts: Labels,
    others: Labels,
    rows: Labels,
    sizes: Labels,
    k: int,
    shares: Matrix,
    stiffness: Matrix,
    uses: Labels,
    pace: float,
    prices: Matrix,
) -> None:
    for cluster in range(sizes.size):
        size = sizes[cluster]
        link = 1.0 / (k - size % k)
        violation = -float(size // k) - link * size
        resistance = 0.0
        for a in range(size):
            for b in range(size):
                place = place_of(starts, others, rows[cluster, a], rows[cluster, b])
                coefficient = link + 1.0 if a == b else link
                violation += coefficient * shares[place]
                resistance += coefficient * coefficient * uses[place] / stiffness[place]
        prices[cluster] = max(prices[cluster] + pace * violation / resistance, 0.0)


@kernel
def _charge(
    starts: Labels,
    others: Labels,
    rows: Labels,
    sizes: Labels,
    k: int,
    prices: Matrix,
    charges: Matrix,
) -> None:
    for cluster in range(sizes.size):
        size = sizes[cluster]
        link = prices[cluster] / (k - size % k)
        for a in range(size):
            for b in range(size):
                place = place_of(starts, others, rows[cluster, a], rows[cluster, b])
                charges[place] += link + prices[cluster] if a == b else link
