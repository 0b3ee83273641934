"""A lower bound close to the optimum, for small tables: all groups in a linear programme."""

import time
from collections.abc import Iterable

import numpy as np

from algorithms.bounds.pricing import TINY, all_squares, answer, guess
from algorithms.local_search.search import search
from algorithms.types import Labels, Matrix

LARGEST_TABLE = 5_000
"""Rows of the largest table; the squared distances of all pairs are in memory."""

GUESS_NEIGHBOURS = 30
"""Rows around each row from which groups are guessed, or as many as a group may need."""

CALM, CALMER = 0.3, 0.6
"""Weight of the previous prices among those that are tried next, when groups are searched and when
they are guessed: the prices of the programme alone oscillate."""

FIRST_WORK, WORK_FACTOR, MOST_WORK = 2**17, 4, 2**28
"""Pairs of rows looked at for one row and one size of its group: at first, the factor by which they
rise if that is not enough, and the limit."""

LEAST_SAVING, FAILED_GUESSES = 1e-5, 8
"""Share of the programme's value that guesses must save, and how many in a row may fail to."""

BOUND_GAP = 1e-4
"""Share of the programme's value that the bound may lack in the end."""


def group_bound(x: Matrix, k: int, start: Labels, seconds: float) -> tuple[float, int]:
    """Bound the SSE of any partition from below, by prices of rows that no group can beat.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records, ``k <= n <= LARGEST_TABLE``.
    k : int
        Smallest group allowed.
    start : Labels of shape (n,)
        Groups to start from, the better the sooner the bound is close. If one of them holds fewer
        than ``k`` rows, the start is one group of all rows, which the local search divides.
    seconds : float
        When to stop, counted from the end of the local search; what is proven by then is a bound.

    Returns
    -------
    bound : float
        No partition into groups of at least ``k`` rows has a smaller SSE, rounding aside.
    rounds : int
        How often prices were tested.

    Notes
    -----
    A partition is a choice of groups that holds each row once, and a group of ``2k`` rows or more
    could be divided at no loss. If fractions of groups may be chosen as well, the least loss is the
    value of a linear programme with a column for each group of ``k`` to ``2k - 1`` rows, and never
    exceeds that of a partition. Its dual gives each row a price, such that no group costs less than
    the prices of its rows; columns are generated where one does.

    The bound holds for any prices p. The SSE of a group G of m rows is the sum of
    squared distances over all pairs, divided by m; half of each pair's share is that of either row.
    If G costs less than its prices, so does one of its rows: let the row that falls short most
    answer for G. Each row answers for one group of a partition at most, and of these there are at
    most n / k, hence::

        sum over rows of p_i + sum over the n / k least s_i

    is a bound, where s_i is the least of SSE(G) - p(G) for which i answers, or 0. At first groups
    are guessed, for as long as that lowers the value of the programme. Then those for which a row
    answers are searched by branch and bound, and where that takes too long, the rest is counted
    with its bound.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [8.0], [9.0]])
    >>> bound, _ = group_bound(x, k=2, start=np.array([0, 0, 1, 1]), seconds=60.0)
    >>> round(bound, 6)
    2.5
    """
    n = len(x)
    squares = all_squares(np.ascontiguousarray(x))
    near, nearest_sums = _nearest(squares, k)
    if np.bincount(start).min() < k:
        start = np.zeros(n, dtype=np.int64)
    labels = search(x, start, k, iterations=20 * (n // k))
    deadline = time.monotonic() + seconds
    programme = _Programme(x)
    programme.add(np.flatnonzero(labels == group) for group in range(labels.max() + 1))
    for size in range(k - 1, min(k, n - 1) + 1):
        programme.add(np.append(near[row, :size], row) for row in range(n))
    # the prices of the neighbour bound, which no group can beat
    tried = nearest_sums[:, k - 1] / (2 * k)
    best, rounds, work, calm = float(tried.sum()), 0, FIRST_WORK, CALM
    prices, centre = _guess(programme, squares, near, tried, k, deadline)
    while prices is not None and best < (1.0 - BOUND_GAP) * prices.sum():
        tried = calm * centre + (1.0 - calm) * prices
        groups, reached, bound = _search(squares, nearest_sums, tried, k, work, deadline)
        rounds += 1
        if bound > best:
            best, centre = bound, tried
        cut_short = reached - bound > (prices.sum() - bound) / 2.0 and work < MOST_WORK
        if cut_short:
            work = min(WORK_FACTOR * work, MOST_WORK)
        if programme.improved_by(groups, prices):
            programme.add(groups)
            calm, prices = CALM, programme.prices(deadline)
        elif not cut_short and calm == 0.0:
            break
        elif not cut_short:
            calm = 0.0  # test the prices of the programme themselves
        if time.monotonic() > deadline:
            break
    return best * (1.0 - TINY), rounds


class _Programme:
    """The linear programme with the groups that are known."""

    def __init__(self, x: Matrix) -> None:
        self.x = x
        self.costs: dict[tuple[int, ...], float] = {}

    def add(self, groups: Iterable[Labels]) -> None:
        """Add those that are new."""
        for group in groups:
            self.costs.setdefault(tuple(sorted(group.tolist())), self._cost(group))

    def improved_by(self, groups: list[Labels], prices: Matrix) -> bool:
        """Check whether a group costs less than the prices of its rows."""
        return any(self._cost(group) < prices[group].sum() - TINY for group in groups)

    def prices(self, deadline: float) -> Matrix | None:
        """Solve the programme; return its prices, or None if time runs out."""
        # imported late: reading a spec must not wait for scipy
        from scipy.optimize import linprog
        from scipy.sparse import csc_array

        starts = np.cumsum([0, *map(len, self.costs)])
        rows = np.concatenate([np.array(group) for group in self.costs])
        shape = (len(self.x), len(self.costs))
        left = deadline - time.monotonic()
        if left <= 0.0:
            return None
        solved = linprog(
            np.array(list(self.costs.values())),
            A_eq=csc_array((np.ones(rows.size), rows, starts), shape=shape),
            b_eq=np.ones(len(self.x)),
            method="highs",
            options={"time_limit": left},
        )
        return np.asarray(solved.eqlin.marginals) if solved.status == 0 else None

    def _cost(self, group: Labels) -> float:
        rows = self.x[group]
        return float(((rows - rows.mean(axis=0)) ** 2).sum())


def _guess(
    programme: _Programme, squares: Matrix, near: Labels, centre: Matrix, k: int, deadline: float
) -> tuple[Matrix | None, Matrix]:
    """Add groups that are easily found; return the prices, and their moving average."""
    n = len(squares)
    members, sizes = np.zeros((n, 2 * k - 1), dtype=np.int64), np.zeros(n, dtype=np.int64)
    prices = programme.prices(deadline)
    calm, flat = CALMER, 0
    while prices is not None and flat < FAILED_GUESSES:
        centre = calm * centre + (1.0 - calm) * prices
        guess(squares, near, centre, k, members, sizes)
        groups = [members[row, : sizes[row]] for row in np.flatnonzero(sizes)]
        if programme.improved_by(groups, prices):
            before = prices.sum()
            programme.add(groups)
            calm, prices = CALMER, programme.prices(deadline)
            saved = prices is not None and before - prices.sum() > LEAST_SAVING * before
            flat = 0 if saved else flat + 1
        elif calm == 0.0:
            break
        else:
            calm = 0.0
    return prices, centre


def _search(
    squares: Matrix, nearest_sums: Matrix, prices: Matrix, k: int, work: int, deadline: float
) -> tuple[list[Labels], float, float]:
    """Search for groups that cost less than the prices of their rows.

    Returns
    -------
    groups : list of Labels
    reached : float
        The bound if there are no other groups.
    bound : float
        The bound.
    """
    n = len(squares)
    shortfalls, proven = np.zeros(n), np.zeros(n)
    group = np.zeros(2 * k - 1, dtype=np.int64)
    groups = []
    for row in range(n):
        if time.monotonic() > deadline:
            return [], -np.inf, -np.inf
        size, shortfalls[row], proven[row] = answer(
            squares, nearest_sums, prices, k, work, row, group
        )
        if size:
            groups.append(group[:size].copy())
    # a partition has no more groups than this
    most = n // k
    reached, bound = (prices.sum() + np.sort(least)[:most].sum() for least in (shortfalls, proven))
    return groups, float(reached), float(bound)


def _nearest(squares: Matrix, k: int) -> tuple[Labels, Matrix]:
    """Find the nearest others of each row, and add up its squared distances to them."""
    n = len(squares)
    width = min(max(GUESS_NEIGHBOURS, 2 * k - 2), n - 1)
    near = np.empty((n, width), dtype=np.int64)
    sums = np.full((n, 2 * k - 1), np.inf)
    count = min(width, 2 * k - 2)
    for row in range(n):
        ranked = np.argsort(squares[row], kind="stable")
        near[row] = ranked[ranked != row][:width]
        sums[row, : count + 1] = np.cumsum([0.0, *squares[row, near[row, :count]]])
    return near, sums
