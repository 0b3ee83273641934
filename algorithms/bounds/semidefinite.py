"""A lower bound for any k, from pairs of rows and a positive semidefinite part."""

import math

import numpy as np

from algorithms.bounds.clusters import Clusters
from algorithms.bounds.eigen import EPSILON, negative_part
from algorithms.bounds.pairs import Places, near_pairs
from algorithms.bounds.stars import Stars
from algorithms.jit import in_threads, kernel
from algorithms.types import Labels, Mask, Matrix

SMALLEST_PATCH, LARGEST_PATCH, MOST_ROWS, PATCHED_ROWS = 8, 30, 300, 600_000
"""Rows of a patch: 600,000 divided by those of the table, but at least 8 k, and at most 30 k and
300. Larger patches raise the bound, and the time with the square of their size."""

PENALTY, RELAXATION = 6.0, 1.6
"""Weight of the distance between the shares of rows and those of patches, and by how much each
round goes beyond the shares that it has found."""

ARMS = (2, 3, 4)
"""Arms of the stars that are priced; more were not found to raise the bound."""

CUTS_FROM, CUTS_EVERY = 25, 15
"""The round from which on inequalities are priced, and the rounds between searches for them."""

HALF_PACE = 60
"""Rounds after which prices of inequalities move at half of their first pace, which would settle an
inequality that stands alone; at the full pace the bound swings in the end."""

CHECK_EVERY, LEAST_RISE = 20, 1e-4
"""Rounds between computations of the bound, and the share by which it must rise between them."""

ROWS_AT_ONCE, PATCHES_AT_ONCE = 256, 4
"""Work that one thread takes at a time."""

STEPS, CLOSE = 60, 1e-9
"""Steps of the search for a row's price, and how far its shares may be from 1 in all."""

SAFETY = 64.0 * EPSILON
"""Share of all that is added up for a row by which rounding may have raised its value."""


def semidefinite_bound(
    x: Matrix, k: int, *, rounds: int, patch: int | None = None, one_label: Mask | None = None
) -> tuple[float, int]:
    """Bound the SSE of any partition from below, for any k.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Least group size.
    rounds : int
        Most rounds; the ascent ends earlier if the bound hardly rises any more. The same number
        gives the same bound on any machine.
    patch : int, optional
        Rows of a patch; by default `patch_rows`.
    one_label : Mask of shape (d,), optional
        The coordinates of columns in which a group publishes one label: see `stretched`.

    Returns
    -------
    bound : float
        No partition into groups of at least ``k`` rows has a smaller loss.
    rounds : int
        How many there were.

    Notes
    -----
    For a partition let Z_ij = 1/m if rows i and j share a group of m, or else 0. Then the SSE is
    the sum of C_ij Z_ij, where C_ij is half of a squared distance. Z is symmetric and positive
    semidefinite, its rows add up to 1, and it satisfies the inequalities of `Stars` and
    `Clusters`. Take any antisymmetric A, any positive semidefinite S and any prices >= 0 of
    inequalities, whose charges on pairs are T and whose limits cost t. With W = C + A - S + T::

        SSE  >=  sum of W_ij Z_ij - t
             >=  sum over rows of the least (W_ii + the m - 1 smallest W_ij) / m - t

    with m from k to 2k - 1, since larger groups can be divided at no loss. Any A, S and prices
    prove a bound; good ones are found by the alternating direction method of multipliers. Each
    round finds shares of each row that cost least, near to those that patches of close rows agreed
    on, which are symmetric and semidefinite; what patches change in a row's shares is A - S.
    Distances between shares count in proportion to the distance of a row's k-th neighbour: outliers
    and crowded rows then converge alike. Pairs of rows that are far apart are left as they are, and
    only the closest of them counts.

    Time O(n b²) per round and memory O(n b) for patches of b rows.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [8.0], [9.0], [20.0]])
    >>> round(semidefinite_bound(x, k=2, rounds=100)[0], 2)
    70.04
    """
    if k == 1 or len(x) < k:
        return 0.0, 0
    ascent = Ascent(x, k, patch=patch, one_label=one_label)
    best = 0.0
    while ascent.rounds < rounds:
        ascent.advance()
        if ascent.rounds % CHECK_EVERY == 0 or ascent.rounds == rounds:
            before, best = best, max(best, ascent.bound())
            if ascent.rounds > CUTS_FROM + 2 * CHECK_EVERY and best <= (1.0 + LEAST_RISE) * before:
                break
    return best, ascent.rounds


def patch_rows(n: int, k: int) -> int:
    """Choose the number of rows of a patch."""
    return max(SMALLEST_PATCH * k, min(LARGEST_PATCH * k, MOST_ROWS, PATCHED_ROWS // n))


class Ascent:
    """Shares of rows, what patches and inequalities charge for them, and the bound this proves."""

    def __init__(
        self, x: Matrix, k: int, *, patch: int | None = None, one_label: Mask | None = None
    ) -> None:
        n = len(x)
        self.k = k
        size = min(max(patch_rows(n, k) if patch is None else patch, k), n)
        self.pairs = pairs = near_pairs(x, k, size, one_label)
        copies = np.bincount(pairs.patches.ravel(), minlength=n)
        self.weights = np.sqrt(pairs.scale * k / np.sqrt(copies))
        found = np.bincount(pairs.places.ravel(), minlength=pairs.costs.size)
        self.free = np.flatnonzero(found == 0)
        self.counts = np.maximum(found, 1)
        rows = np.repeat(np.arange(n), np.diff(pairs.starts))
        self.stiffness = PENALTY * self.weights[rows] * self.weights[pairs.others]
        # what a patch hands to the next round: its shares, and what it charges over the stiffness
        self.agreed = np.zeros(pairs.places.shape)
        self.charged = np.zeros(pairs.places.shape)
        self.agreed_free = np.zeros(self.free.size)
        self.charged_free = np.zeros(self.free.size)
        self.negative = np.zeros(len(pairs.patches))
        self.shares = np.zeros(pairs.costs.size)
        self.prices = pairs.scale / k
        self.stars, self.clusters = [Stars(arms) for arms in ARMS], Clusters(k)
        self.charges = np.zeros(pairs.costs.size)
        self.rounds = 0
        _nearest_shares(pairs.starts, pairs.itself, pairs.costs, k, self.shares)

    def advance(self) -> None:
        """Do a round."""
        if self.rounds:
            self._spread()
        self._agree()
        self.rounds += 1
        if self.rounds >= CUTS_FROM:
            self._price()

    def bound(self) -> float:
        """Compute the bound that the present charges prove."""
        altered, sizes = self.altered()
        least = _least(
            self.pairs.starts, self.pairs.itself, altered, sizes, self.pairs.soft,
            self.pairs.outside, self.k,
        )  # fmt: skip
        limits = self.clusters.limits()
        total = math.fsum([*least.tolist(), *(-limits).tolist()])
        proven = total - SAFETY * float(limits.sum())
        return proven if proven > 0.0 else 0.0

    def altered(self) -> tuple[Matrix, Matrix]:
        """Alter the cost of each pair by all charges; return it, and the sum of absolute parts."""
        pairs = self.pairs
        patches, parts = np.zeros(self.shares.size), np.zeros(self.shares.size)
        _gather(pairs.places, self.charged, patches, 1.0)
        _gather(pairs.places, np.abs(self.charged), parts, 1.0)
        patches[self.free] = self.charged_free
        parts[self.free] = np.abs(self.charged_free)
        patches *= self.stiffness
        parts *= self.stiffness
        # S is semidefinite but for rounding, which no more than this on its diagonal makes up for
        size = pairs.patches.shape[1]
        lacking = np.zeros(len(self.weights))
        np.add.at(lacking, pairs.patches.ravel(), np.repeat(-self.negative, size))
        patches[pairs.itself] -= 8.0 * size * EPSILON * PENALTY * self.weights * lacking
        return (
            pairs.costs + patches + self.charges,
            pairs.costs + parts + np.abs(self.charges),
        )

    def _spread(self) -> None:
        """Find the shares of each row that cost least, near those that the patches agreed on."""
        pairs = self.pairs
        targets = np.zeros(self.shares.size)
        _gather(pairs.places, self.agreed, targets, 1.0)
        _gather(pairs.places, self.charged, targets, -1.0)
        targets[self.free] = self.agreed_free - self.charged_free
        targets /= self.counts
        costs = pairs.costs + self.charges
        stiffness = self.stiffness * self.counts
        n = len(self.weights)
        in_threads(
            lambda first: _share(
                pairs.starts, pairs.itself, costs, stiffness, targets, self.k,
                self.shares, self.prices, first, min(first + ROWS_AT_ONCE, n),
            ),
            range(0, n, ROWS_AT_ONCE),
        )  # fmt: skip

    def _agree(self) -> None:
        """Make shares within patches symmetric and semidefinite, and those of other pairs even."""
        pairs = self.pairs
        relaxation = RELAXATION if self.rounds else 1.0
        in_threads(
            lambda first: _agree(
                pairs.patches, pairs.places, self.weights, self.shares, relaxation,
                self.agreed, self.charged, self.negative, first, first + PATCHES_AT_ONCE,
            ),
            range(0, len(pairs.patches), PATCHES_AT_ONCE),
        )  # fmt: skip
        ahead = np.zeros(self.shares.size)
        ahead[self.free] = (
            relaxation * self.shares[self.free]
            + (1.0 - relaxation) * self.agreed_free
            + self.charged_free
        )
        there, back = ahead[self.free], ahead[pairs.mirror[self.free]]
        self.agreed_free, self.charged_free = (there + back) / 2.0, (there - back) / 2.0

    def _price(self) -> None:
        """Let the prices of inequalities follow the shares that patches agreed on."""
        pairs = self.pairs
        shares = np.zeros(self.shares.size)
        _gather(pairs.places, self.agreed, shares, 1.0)
        shares[self.free] = self.agreed_free
        shares /= self.counts
        if (self.rounds - CUTS_FROM) % CUTS_EVERY == 0:
            for stars in self.stars:
                stars.renew(pairs, shares)
            self.clusters.renew(pairs, shares)
        uses = np.zeros(self.shares.size, dtype=np.int64)
        for stars in self.stars:
            stars.count(uses)
        self.clusters.count(pairs, uses)
        stiffness = self.stiffness * self.counts
        pace = 1.0 / (1.0 + (self.rounds - CUTS_FROM) / HALF_PACE)
        for stars in self.stars:
            stars.press(shares, stiffness, uses, pace)
        self.clusters.press(pairs, shares, stiffness, uses, pace)
        self.charges[:] = 0.0
        for stars in self.stars:
            stars.charge(pairs, self.charges)
        self.clusters.charge(pairs, self.charges)


@kernel
def _nearest_shares(starts: Labels, itself: Labels, costs: Matrix, k: int, shares: Matrix) -> None:
    """Share each row evenly among the nearest k rows, itself included."""
    for row in range(itself.size):
        begin = starts[row]
        order = np.argsort(costs[begin : starts[row + 1]], kind="mergesort")
        shares[itself[row]] = 1.0 / k
        left = k - 1
        for place in order:
            if left > 0 and begin + place != itself[row]:
                shares[begin + place] = 1.0 / k
                left -= 1


@kernel
def _agree(
    patches: Labels,
    places: Places,
    weights: Matrix,
    shares: Matrix,
    relaxation: float,
    agreed: Matrix,
    charged: Matrix,
    negative: Matrix,
    first: int,
    last: int,
) -> None:
    """Make the shares within patches symmetric and semidefinite, and note what that changes."""
    size = patches.shape[1]
    ahead = np.empty((size, size))
    low = np.empty((size, size))
    roots = np.empty(size)
    for patch in range(first, min(last, len(patches))):
        own, charges = agreed[patch], charged[patch]
        for a in range(size):
            roots[a] = np.sqrt(weights[patches[patch, a]])
            for b in range(size):
                ahead[a, b] = (
                    relaxation * shares[places[patch, a, b]]
                    + (1.0 - relaxation) * own[a, b]
                    + charges[a, b]
                )
        for a in range(size):
            for b in range(a + 1):
                middle = (ahead[a, b] + ahead[b, a]) / 2.0
                own[a, b] = middle
                low[a, b] = middle * roots[a] * roots[b]
                low[b, a] = low[a, b]
        negative[patch] = negative_part(low)
        for a in range(size):
            for b in range(a + 1):
                half = (ahead[a, b] - ahead[b, a]) / 2.0
                part = low[a, b] / (roots[a] * roots[b])
                own[a, b] -= part
                own[b, a] = own[a, b]
                charges[a, b] = part + half
                charges[b, a] = part - half


@kernel
def _gather(places: Places, values: Matrix, sums: Matrix, factor: float) -> None:
    """Add the values of patches to those of pairs."""
    for patch in range(len(places)):
        for a in range(places.shape[1]):
            for b in range(places.shape[2]):
                sums[places[patch, a, b]] += factor * values[patch, a, b]


@kernel
def _share(
    starts: Labels,
    itself: Labels,
    costs: Matrix,
    stiffness: Matrix,
    targets: Matrix,
    k: int,
    shares: Matrix,
    prices: Matrix,
    first: int,
    last: int,
) -> None:
    """Find the shares of some rows that cost least together with their distance from targets.

    A row's own share is from 1 / (2k - 1) to 1 / k, no other share is larger, and all add up to 1.
    """
    low, high = 1.0 / (2 * k - 1), 1.0 / k
    for row in range(first, last):
        begin, end = starts[row], starts[row + 1]
        count = end - begin
        own = itself[row] - begin
        cost = costs[begin:end]
        target = targets[begin:end]
        found = shares[begin:end]
        stiff = stiffness[begin:end]
        price = prices[row]
        share = min(max(found[own], low), high)
        below, above = -np.inf, np.inf
        excess, steps = np.inf, 0
        while abs(excess) >= CLOSE and steps < STEPS:
            steps += 1
            share, slope = _own_share(cost, target, stiff, own, price, share, low, high)
            total = share
            for e in range(count):
                if e != own:
                    value = target[e] + (price - cost[e]) / stiff[e]
                    if value >= share:
                        total += share
                    elif value > 0.0:
                        total += value
                        slope += 1.0 / stiff[e]
            excess = total - 1.0
            if abs(excess) >= CLOSE:
                if excess > 0.0:
                    above = price
                else:
                    below = price
                price = _next_price(price, excess, slope, below, above)
        prices[row] = price
        for e in range(count):
            value = target[e] + (price - cost[e]) / stiff[e]
            found[e] = min(max(value, 0.0), share)
        found[own] = share


@kernel
def _next_price(price: float, excess: float, slope: float, below: float, above: float) -> float:
    """Move a price by Newton's step, or halve the interval that holds the right one."""
    moved = price - excess / slope if slope > 0.0 else np.nan
    if below < moved < above:
        return moved
    if below > -np.inf and above < np.inf:
        return (below + above) / 2.0
    if below > -np.inf:
        return below + max(abs(below), 1.0)
    return above - max(abs(above), 1.0)


@kernel
def _own_share(
    cost: Matrix,
    target: Matrix,
    stiff: Matrix,
    own: int,
    price: float,
    share: float,
    low: float,
    high: float,
) -> tuple[float, float]:
    """Find a row's own share at a price, and by how much the capped shares rise with the price."""
    below, above = low, high
    slope, change, steps = 0.0, np.inf, 0
    while change >= 1e-13 and steps < STEPS:
        steps += 1
        pull = cost[own] + stiff[own] * (share - target[own]) - price
        firm = stiff[own]
        capped = 1.0
        for e in range(cost.size):
            if e != own:
                excess = price - cost[e] - stiff[e] * (share - target[e])
                if excess > 0.0:
                    pull -= excess
                    firm += stiff[e]
                    capped += 1.0
        slope = capped * capped / firm
        if pull > 0.0:
            above = share
        else:
            below = share
        moved = min(max(share - pull / firm, below), above)
        change = abs(moved - share)
        share = moved
    if share <= low or share >= high:
        slope = 0.0
    return share, slope


@kernel
def _least(
    starts: Labels,
    itself: Labels,
    altered: Matrix,
    sizes: Matrix,
    soft: Matrix,
    outside: Matrix,
    k: int,
) -> Matrix:
    """Find the least that the pairs of each row can cost in any group.

    In a group of m rows the soft part of a cost counts (1 - 1/k) / (1 - 1/m) times.
    """
    most = 2 * k - 2
    nearest, risky = np.empty(most), np.empty(most)
    least = np.full(itself.size, np.inf)
    for row in range(itself.size):
        own = itself[row]
        for size in range(k, 2 * k):
            shrink = 1.0 - (1.0 - 1.0 / k) / (1.0 - 1.0 / size)
            if size == k or soft.size > 0:
                nearest[:] = outside[row] * (1.0 - shrink)
                risky[:] = nearest
                for e in range(starts[row], starts[row + 1]):
                    value = altered[e]
                    if soft.size > 0:
                        value -= soft[e] * shrink
                    if e != own and value < nearest[most - 1]:
                        slot = most - 1
                        while slot > 0 and nearest[slot - 1] > value:
                            nearest[slot] = nearest[slot - 1]
                            risky[slot] = risky[slot - 1]
                            slot -= 1
                        nearest[slot] = value
                        risky[slot] = sizes[e]
            if nearest[size - 2] == np.inf:
                break  # there are not so many rows
            total, risk = altered[own], sizes[own]
            for place in range(size - 1):
                total += nearest[place]
                risk += risky[place]
            least[row] = min(least[row], (total - SAFETY * risk) / size)
    return least
