"""Lower bounds on the loss of any partition into groups of at least k."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from algorithms._jit import kernel
from algorithms.types import Integers, Labels, Matrix

BLOCK = 4096
"""Rows whose neighbours are sought together, few enough to bound memory."""

CANDIDATES = 2**22
"""Neighbours looked at altogether: all pairs of some 2,000 rows, 41 neighbours of 100,000."""


def neighbour_bound(x: Matrix, k: int) -> float:
    """Bound the SSE of any partition from below, by nearest neighbours.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Least group size.

    Returns
    -------
    float
        No partition into groups of at least ``k`` rows has a smaller SSE, rounding aside.

    Notes
    -----
    The SSE of a group of m rows is the sum of the squared distances of its pairs, divided by m. A
    row is in m - 1 pairs and bears half of each; these halves are at least those of its m - 1
    nearest neighbours. Their sum divided by m grows with m, so that m = k gives the bound::

        sum over rows of (sum of the k - 1 smallest squared distances to other rows) / (2 k)

    Time that of a search in a k-d tree: about O(n log n) in few dimensions, much more from some
    ten independent ones on. Memory O(n d). The order of the rows is without effect.

    Examples
    --------
    >>> neighbour_bound(np.array([[0.0], [2.0], [8.0], [9.0]]), k=2)
    2.5
    """
    if k == 1 or len(x) < k:
        return 0.0
    blocks = _nearest(_few_copies(x, k), k)
    return float(sum(squares[:, 1:].sum() for _, squares, _ in blocks)) / (2 * k)


def weighted_bound(
    x: Matrix, k: int, *, rounds: int = 400, neighbours: int | None = None
) -> float:
    """Bound the SSE of any partition from below, sharing each pair's cost between its rows.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Least group size.
    rounds : int
        Steps of the ascent; more come closer to the best shares.
    neighbours : int, optional
        Neighbours of each row among which shares may differ, at least ``k - 1``. By default 2**22
        for all rows together, and at least 5 k; with n - 1 the best shares can be reached.

    Returns
    -------
    float
        No partition into groups of at least ``k`` rows has a smaller SSE, rounding aside. Never
        below the neighbour bound.

    Notes
    -----
    As in the neighbour bound, yet of the squared distance c_ij of a pair row i bears w_ij c_ij and
    row j the rest; any shares that are not negative prove a bound, and an outlier had better bear
    the most. The best shares solve a linear programme, whose dual has one potential y_i >= 0 per
    row. Potentials stand for the shares w_ij = 1/2 + (y_i - y_j) / (2 c_ij), cut to [0, 1]. With
    these row i bears at least y_i of each pair, except for pairs with c_ij < y_i + y_j, whose rows
    together lack the difference. That proves, for whatever y::

        ((k - 1) sum over rows of y_i - sum over pairs of max(y_i + y_j - c_ij, 0)) / k

    which is the dual's objective. A subgradient ascent of a fixed number of steps improves it. No
    potential need exceed the squared distance to the (k - 1)-th neighbour, and none is let exceed
    half of that to the last neighbour looked at: no pair beyond those can then lack anything.

    Time that of a search for ``neighbours`` neighbours in a k-d tree, and O(n k) per round on
    average; memory O(n (d + neighbours)) at worst. The order of the rows is without effect.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [8.0], [9.0], [20.0]])
    >>> neighbour_bound(x, k=2), round(weighted_bound(x, k=2), 2)
    (32.75, 63.0)
    """
    if k == 1 or len(x) < k:
        return 0.0
    x = _few_copies(x, k)
    n = len(x)
    if neighbours is None:
        neighbours = max(5 * k, CANDIDATES // n)
    neighbours = min(max(neighbours, k - 1), n - 1)
    equal_shares = 0.0
    highest = np.empty(n)
    pairs = []
    for rows, squares, others in _nearest(x, neighbours + 1):
        equal_shares += float(squares[:, 1:k].sum()) / 2.0
        top = squares[:, k - 1]
        if neighbours < n - 1:
            top = np.minimum(top, squares[:, -1] / 2.0)
        highest[rows] = top
        close = squares < 2.0 * top[:, np.newaxis]
        pairs.append((np.repeat(rows, close.sum(axis=1)), others[close], squares[close]))
    first, second, costs = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    # a pair that can lack something is close for the row of the higher potential: count it there
    above, below = highest[first], highest[second]
    once = (above > below) | ((above == below) & (first > second))
    once &= costs < above + below
    return max(equal_shares, _ascend(first[once], second[once], costs[once], highest, k, rounds)) / k


def _few_copies(x: Matrix, k: int) -> Matrix:
    """Sort the rows and keep at most ``k`` of those that are equal.

    The others cost nothing, and nothing changes for a row that had them as neighbours.
    """
    x = x[np.lexsort(x.T)]
    fresh = np.concatenate([[True], (x[1:] != x[:-1]).any(axis=1)])
    first_copy = np.flatnonzero(fresh)[fresh.cumsum() - 1]
    return x[np.arange(len(x)) - first_copy < k]


def _nearest(x: Matrix, count: int) -> Iterator[tuple[Integers, Matrix, Integers]]:
    """Find the nearest rows of each row, itself included, in blocks of rows that are close by."""
    tree = cKDTree(x)
    for start in range(0, len(x), BLOCK):
        rows = tree.indices[start : start + BLOCK]
        distances, others = tree.query(x[rows], k=np.arange(1, count + 1), workers=-1)
        yield rows, distances**2, others


@kernel
def _ascend(
    first: Labels, second: Labels, costs: Matrix, highest: Matrix, k: int, rounds: int
) -> float:
    """Raise the dual's objective from half of the highest potentials on, and return the best."""
    potentials = highest / 2.0
    slopes = np.empty(highest.size)
    best = 0.0
    step = 0.25 / k
    for _ in range(rounds):
        value = (k - 1) * potentials.sum()
        slopes[:] = k - 1
        for pair in range(costs.size):
            i, j = first[pair], second[pair]
            lack = potentials[i] + potentials[j] - costs[pair]
            if lack > 0.0:
                value -= lack
                slopes[i] -= 1.0
                slopes[j] -= 1.0
        best = max(best, value)
        for i in range(highest.size):
            raised = potentials[i] + step * slopes[i] * highest[i]
            potentials[i] = min(max(raised, 0.0), highest[i])
        step *= 0.004 ** (1.0 / rounds)
    return best
