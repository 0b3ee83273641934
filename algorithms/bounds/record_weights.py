"""Lower bounds on the weighted loss of any partition of records that have weights."""

import numpy as np

from algorithms.jit import kernel
from algorithms.search.neighbours import neighbours
from algorithms.types import Labels, Mask, Matrix

LISTED_IN_ALL = 2**19
"""Nearest rows looked at altogether: all of some 700 rows."""

START, END = 0.25, 0.001
"""First and last step of the ascent."""

LIGHTEST = 1e-300
"""Weight of the lightest rows, as a part of the largest: less would be taken for 0."""

CAREFUL = 1.0 - 1e-12
"""Factor that takes off what rounding may have added."""


def record_weight_bound(
    x: Matrix, weights: Matrix, k: int, *, rounds: int = 0, listed: int | None = None
) -> float:
    """Bound the weighted SSE of any partition from below.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    weights : Matrix of shape (n,)
        The weight of each record, above 0.
    k : int
        Least group size, in records.
    rounds : int
        Steps of an ascent to better shares; with 0, each record of a pair bears half of its cost.
    listed : int, optional
        Nearest rows of each row that are looked at, at least ``k - 1``, and as many of the lightest
        of all; by default 2 k, and with rounds 5 k, or 2**19 for all rows together if that is more.

    Returns
    -------
    float
        No partition into groups of at least ``k`` rows has a smaller sum of squared distances to
        any values published for its groups, where each row counts with its weight.

    Notes
    -----
    A group C of total weight W loses at least the sum over its pairs of w_i w_j c_ij / W, where
    c_ij is the squared distance. Row i bears the share q_ij of c_ij and row j the rest. So row i
    bears w_i times the average of q_ij over its group, weighted, with 0 for itself. That is at
    least the smallest such average over all sets of k - 1 other rows or more, which is found by
    Dinkelbach's method. Any shares prove a bound; these follow from a potential y_i per row::

        q_ij = c_ij / 2 + (y_i - y_j) / 2, cut to [0, c_ij]

    Pairs are listed if one row is among the nearest of the other, or among the lightest of all. No
    potential exceeds half the squared distance r_i to the last of the nearest. So a pair that is
    not listed has q_ij of at least r_i / 4 + y_i / 2, or r_i / 2 if all potentials are 0. Instead
    of such pairs, the next lightest rows count, with that share; no average counts as more than it.

    Time O(n l) per round and memory O(n l) for l rows that are listed for each.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [8.0], [9.0]])
    >>> round(record_weight_bound(x, np.ones(4), 2), 6)
    2.5
    >>> round(record_weight_bound(x, np.array([1.0, 3.0, 1.0, 1.0]), 2), 6)
    3.5
    """
    n = len(x)
    if k == 1 or n < k:
        return 0.0
    if listed is None:
        listed = max(5 * k, LISTED_IN_ALL // n) if rounds else 2 * k
    count = min(max(listed, k - 1), n - 1)
    near = neighbours(x, count)
    by_weight = np.argsort(weights, kind="stable")
    reach = ((x - x[near[:, -1]]) ** 2).sum(axis=1)
    highest = np.minimum(((x - x[near[:, k - 2]]) ** 2).sum(axis=1), reach / 2.0)
    if count == n - 1:
        reach[:] = np.inf
    first, second = _listed(near, by_weight[:count] if count < n - 1 else by_weight[:0])
    starts = np.searchsorted(first, np.arange(n + 1))
    costs = _squares(x, first, second)
    largest = float(weights.max())
    parts = np.maximum(weights / largest, LIGHTEST)
    unlisted = parts[by_weight[min(count, n - k + 1) :][: k - 1]]
    bound = _ascend(starts, second, costs, reach, highest, parts, unlisted, k, rounds)
    return float(CAREFUL * largest * bound)


def _listed(near: Labels, light: Labels) -> tuple[Labels, Labels]:
    """List pairs of each row with near and with light rows, in both orders and without itself."""
    n, count = near.shape
    every = np.arange(n)
    first = np.concatenate([np.repeat(every, count), np.repeat(every, light.size)])
    second = np.concatenate([near.ravel(), np.tile(light, n)])
    apart = first != second
    first, second = first[apart], second[apart]
    pairs = np.unique(np.concatenate([first * n + second, second * n + first]))
    return np.divmod(pairs, n)


@kernel
def _squares(x: Matrix, first: Labels, second: Labels) -> Matrix:
    squares = np.zeros(first.size)
    for pair in range(first.size):
        for j in range(x.shape[1]):
            squares[pair] += (x[first[pair], j] - x[second[pair], j]) ** 2
    return squares


@kernel
def _ascend(
    starts: Labels,
    others: Labels,
    costs: Matrix,
    reach: Matrix,
    highest: Matrix,
    weights: Matrix,
    unlisted_weights: Matrix,
    k: int,
    rounds: int,
) -> float:
    """Bound the loss with equal shares, then with those of rising potentials; return the best."""
    n = weights.size
    potentials = np.zeros(n)
    slopes = np.empty(n)
    averages = np.zeros(n)
    shares = np.empty(np.diff(starts).max() + k - 1)
    amounts = np.empty(shares.size)
    taken = np.empty(shares.size, np.bool_)
    best = 0.0
    step = START
    for done in range(rounds + 1):
        value = 0.0
        slopes[:] = 0.0
        for i in range(n):
            start, size = starts[i], starts[i + 1] - starts[i]
            for place in range(size):
                cost, j = costs[start + place], others[start + place]
                shares[place] = min(max((cost + potentials[i] - potentials[j]) / 2.0, 0.0), cost)
                amounts[place] = weights[j]
            end = size
            unlisted = reach[i] / 4.0 + potentials[i] / 2.0 if done else reach[i] / 2.0
            if unlisted < np.inf:
                end += k - 1
                shares[size:end] = unlisted
                amounts[size:end] = unlisted_weights
            averages[i] = _least_average(
                weights[i], shares[:end], amounts[:end], k, averages[i], taken[:end]
            )
            if averages[i] >= unlisted:
                value += weights[i] * unlisted
                continue
            value += weights[i] * averages[i]
            total = weights[i]
            for place in range(end):
                if taken[place]:
                    total += amounts[place]
            for place in range(size):
                if taken[place] and 0.0 < shares[place] < costs[start + place]:
                    slope = weights[i] * amounts[place] / total
                    slopes[i] += slope
                    slopes[others[start + place]] -= slope
        best = max(best, value)
        for i in range(n):
            if done == 0:
                potentials[i] = highest[i] / 2.0
            else:
                raised = potentials[i] + step * slopes[i] / weights[i] * highest[i]
                potentials[i] = min(max(raised, 0.0), highest[i])
        if rounds > 0:
            step *= (END / START) ** (1.0 / rounds)
    return best


@kernel
def _least_average(
    own: float, shares: Matrix, amounts: Matrix, k: int, guess: float, taken: Mask
) -> float:
    """Find the smallest weighted average of a row with k - 1 others or more.

    The row itself counts with 0 and its own weight. ``taken`` is set to the others of the smallest
    average.
    """
    nearest = np.empty(k - 1, np.int64)
    excess = np.empty(k - 1)
    average = guess
    least = np.inf
    while True:
        count = 0
        for place in range(shares.size):
            more = amounts[place] * (shares[place] - average)
            taken[place] = more < 0.0
            if count == k - 1 and more >= excess[count - 1]:
                continue
            spot = count
            if count == k - 1:
                spot -= 1
            else:
                count += 1
            while spot > 0 and excess[spot - 1] > more:
                excess[spot], nearest[spot] = excess[spot - 1], nearest[spot - 1]
                spot -= 1
            excess[spot], nearest[spot] = more, place
        total, cost = own, 0.0
        for spot in range(k - 1):
            taken[nearest[spot]] = True
        for place in range(shares.size):
            if taken[place]:
                total += amounts[place]
                cost += amounts[place] * shares[place]
        average = cost / total
        if not average < least:
            return least
        least = average
