"""Lower bounds on the loss of any partition into groups of at least k."""

import math

import numpy as np

from algorithms.jit import kernel
from algorithms.search.nearest import Nearest, distinct, nearest_of, targets_at
from algorithms.search.neighbours import nearest_rows
from algorithms.types import Integers, Labels, Mask, Matrix

NEIGHBOURS_IN_ALL = 2**22
"""Neighbours looked at altogether: all of some 2,000 rows, 41 of each of 100,000 rows."""


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

    Rows are measured leaf by leaf of a k-d tree, if leaves are close enough. Time O(n² d) at worst,
    and a small part of that unless many columns are independent; memory O(n d). The order of the
    rows is without effect, to the last digit.

    Examples
    --------
    >>> neighbour_bound(np.array([[0.0], [2.0], [8.0], [9.0]]), k=2)
    2.5
    """
    return math.fsum(neighbour_costs(x, k).tolist()) / (2 * k)


def neighbour_costs(x: Matrix, k: int) -> Matrix:
    """Add up the squared distances from each row to its k - 1 nearest other rows.

    At most k copies of a row are looked at; the others cost nothing and have no entry.
    """
    if k == 1 or len(x) < k:
        return np.zeros(len(x))
    rows, _, counts = distinct(x)
    targets = targets_at(x[rows], counts)
    costs = np.empty(rows.size)
    costs[targets.boxes.rows] = costs_of(nearest_of(targets.boxes, targets, k))
    return np.repeat(costs, np.minimum(counts, k))


def costs_of(found: Nearest) -> Matrix:
    """Add up the squared distances of the nearest k records, the first of which is the row itself.

    They are added one by one, the nearest first: the same sum wherever the records were found.
    """
    return _added_up(found.squares, found.counts)


@kernel
def _added_up(squares: Matrix, counts: Integers) -> Matrix:
    enough = squares.shape[1]
    costs = np.zeros(squares.shape[0])
    for i in range(costs.size):
        place, left = 0, counts[i, 0] - 1
        for _ in range(enough - 1):
            while left == 0:
                place += 1
                left = counts[i, place]
            costs[i] += squares[i, place]
            left -= 1
    return costs


def stretched(x: Matrix, one_label: Mask, k: int) -> Matrix:
    """Stretch the coordinates of labels, so that bounds on SSE bound what labels lose.

    In a group of m records with D differing pairs of labels, of which the most frequent holds c,
    D is at most (m - c) (m - 1): each of the m - c other records is in at most m - 1 pairs. All of
    these pairs are at the squared distance 2 f², so that publishing that label loses
    2 f² (m - c) >= 2 f² D / (m - 1), where the average would lose 2 f² D / m. Bounds by distances
    use groups of k, for which the first is k / (k - 1) times the second, and never less for larger
    groups. So stretching the distances of labels by sqrt(k / (k - 1)) keeps them bounds.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Records in coordinates.
    one_label : Mask of shape (d,)
        The coordinates of columns in which a group publishes one label.
    k : int
        Least group size.
    """
    if k == 1 or not one_label.any():
        return x
    return x * np.where(one_label, math.sqrt(k / (k - 1)), 1.0)


def weighted_bound(x: Matrix, k: int, *, rounds: int = 400, neighbours: int | None = None) -> float:
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
        Neighbours of each row among which shares may differ, at least ``k - 1``; with n, the best
        shares can be reached. By default 5 k, or 2**22 for all rows together if that is more.

    Returns
    -------
    float
        No partition into groups of at least ``k`` rows has a smaller SSE, rounding aside. Never
        below the neighbour bound.

    Notes
    -----
    As in the neighbour bound, but row i bears w_ij c_ij of the squared distance c_ij of a pair and
    row j the rest; any shares that are not negative prove a bound, and it is best if an outlier
    bears most. The best shares solve a linear programme, whose dual has one potential y_i >= 0 per
    row. Potentials stand for the shares w_ij = 1/2 + (y_i - y_j) / (2 c_ij), cut to [0, 1]. With
    these row i bears at least y_i of each pair, except for pairs with c_ij < y_i + y_j, whose rows
    together lack the difference. That proves, for any y::

        ((k - 1) sum over rows of y_i - sum over pairs of max(y_i + y_j - c_ij, 0)) / k

    which is the dual's objective. A subgradient ascent of a fixed number of steps improves it. No
    potential need exceed the squared distance to the (k - 1)-th neighbour, and none may exceed
    half of that to the last neighbour looked at: then no pair beyond those can lack anything.

    Time that of the search for ``neighbours`` neighbours, except for those at twice the
    squared distance of the (k - 1)-th, which are of no use, and O(n k) or so per round. Memory
    O(n (d + neighbours)) at worst. The order of the rows is without effect, to the last digit.

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
        neighbours = max(5 * k, NEIGHBOURS_IN_ALL // n)
    count = min(max(neighbours, k - 1), n) + 1
    equal_shares, highest = np.empty(n), np.empty(n)
    blocks = []
    for rows, squares, others in nearest_rows(x, k, count):
        equal_shares[rows] = 0.0
        for neighbour in range(1, k):
            equal_shares[rows] += squares[:, neighbour]
        highest[rows] = np.minimum(squares[:, k - 1], squares[:, -1] / 2.0)
        close = squares < 2.0 * highest[rows, np.newaxis]
        blocks.append((np.repeat(rows, close.sum(axis=1)), others[close], squares[close]))
    first, second, costs = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    # a pair that may lack something is close for the row that may rise higher: take it from there
    higher, lower = highest[first], highest[second]
    may_lack = costs < higher + lower
    may_lack &= (higher > lower) | ((higher == lower) & (first > second))
    pairs = np.flatnonzero(may_lack)
    pairs = pairs[np.lexsort((second[pairs], first[pairs]))]
    best = _ascend(first[pairs], second[pairs], costs[pairs], highest, k, rounds)
    return float(max(math.fsum(equal_shares.tolist()) / (2 * k), best / k))


def _few_copies(x: Matrix, k: int) -> Matrix:
    """Sort the rows and keep at most ``k`` of those that are equal.

    The others cost nothing, and nothing changes for a row that had them as neighbours.
    """
    x = x[np.lexsort(x.T)]
    fresh = np.concatenate([[True], (x[1:] != x[:-1]).any(axis=1)])
    first_copy = np.flatnonzero(fresh)[fresh.cumsum() - 1]
    few: Matrix = x[np.arange(len(x)) - first_copy < k]
    return few


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
