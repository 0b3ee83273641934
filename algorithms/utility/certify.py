"""A bound close to the optimum, for small tables: all groups in a linear programme."""

import time

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from algorithms._jit import kernel
from algorithms.local_search.search import search
from algorithms.microaggregation.mdav import mdav
from algorithms.types import Labels, Matrix

LARGEST_TABLE = 5_000
"""Rows of the largest table; the squared distances of all pairs are held."""

SMOOTH = 0.6
"""Weight of the best prices so far among those that are tried next."""

NODES = 3_000
MORE, MOST = 8, 3_000_000
"""Sets of rows looked at for one row and one size of its group: at first, how many times more if
that is not enough, and at the most."""

PATIENCE = 4
"""Rounds without a better bound after which more sets of rows are looked at."""

CLOSE = 1e-4
"""Part of the programme's value that the bound may lack in the end."""

TINY = 1e-9


def group_bound(x: Matrix, k: int, seconds: float) -> tuple[float, int]:
    """Bound the SSE of any partition from below, by prices of rows that no group can beat.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records, ``k <= n <= LARGEST_TABLE``.
    k : int
        Least group size.
    seconds : float
        When to stop, once there are groups to start from; what was found by then is a bound, too.

    Returns
    -------
    bound : float
        No partition into groups of at least ``k`` rows has a smaller SSE, rounding aside.
    rounds : int
        How often prices were found and tested.

    Notes
    -----
    A partition is a choice of groups that holds each row once, and a group of ``2k`` rows or more
    could be divided at no loss. If fractions of groups may be chosen as well, the least loss is the
    value of a linear programme with a column for each group of ``k`` to ``2k - 1`` rows, and never
    exceeds that of a partition. Its dual gives each row a price, such that no group costs less than
    the prices of its rows; columns are generated where one does.

    The bound holds for whatever prices p. The SSE of a group G of m rows is the sum of
    squared distances over all pairs, divided by m; half of each pair's share is that of either row.
    If G costs less than its prices, so does one of its rows: let the row that falls short most
    answer for G. Each row answers for one group of a partition at most, hence::

        sum over rows of p_i + sum over rows of min(0, least of SSE(G) - p(G) for which i answers)

    is a bound. The groups for which a row answers are searched by branch and bound, and where that
    takes too long, what is not yet looked at is counted with its bound.

    Examples
    --------
    >>> bound, _ = group_bound(np.array([[0.0], [2.0], [8.0], [9.0]]), k=2, seconds=60.0)
    >>> round(bound, 6)
    2.5
    """
    n = len(x)
    squares = all_squares(np.ascontiguousarray(x))
    nearest_sums = _nearest_sums(squares, k)
    labels = search(x, mdav(x, k), k, iterations=20 * (n // k))
    deadline = time.monotonic() + seconds
    groups = [np.flatnonzero(labels == group) for group in range(labels.max() + 1)]
    close = np.argsort(squares, axis=1, kind="stable")[:, : min(k + 1, n)]
    groups += [np.unique(row[:size]) for row in close for size in range(k, row.size + 1)]
    groups = list({group.tobytes(): group for group in groups}.values())
    costs = [_sse(x, group) for group in groups]
    # the prices of the neighbour bound, which no group can beat
    centre = nearest_sums[:, k - 1] / (2 * k)
    best, rounds, nodes, smooth, stale = float(centre.sum()), 0, NODES, SMOOTH, 0
    prices = _prices(n, groups, costs, deadline)
    while prices is not None and best < (1.0 - CLOSE) * prices.sum():
        tried = smooth * centre + (1.0 - smooth) * prices
        found, bound = _tested(squares, nearest_sums, tried, k, nodes, deadline)
        rounds += 1
        if bound > best:
            best, centre, stale = bound, tried, 0
        else:
            stale += 1
        if stale == PATIENCE:
            nodes, stale = min(2 * nodes, MOST), 0
        if _useful(x, found, prices):
            groups += found
            costs += [_sse(x, group) for group in found]
            smooth = SMOOTH
            prices = _prices(n, groups, costs, deadline)
        elif smooth > 0.0:
            smooth = 0.0  # test the prices of the programme themselves
        elif nodes < MOST:
            nodes = min(MORE * nodes, MOST)
        else:
            break
        if time.monotonic() > deadline:
            break
    return best * (1.0 - TINY), rounds


def _prices(n: int, groups: list[Labels], costs: list[float], deadline: float) -> Matrix | None:
    """Solve the programme with these groups only; its prices, or none if time runs out."""
    sizes = [group.size for group in groups]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.concatenate(groups)
    matrix = csc_array((np.ones(rows.size), rows, starts), shape=(n, len(groups)))
    left = deadline - time.monotonic()
    if left <= 0.0:
        return None
    solved = linprog(
        np.array(costs),
        A_eq=matrix,
        b_eq=np.ones(n),
        method="highs",
        options={"time_limit": left},
    )
    return np.asarray(solved.eqlin.marginals) if solved.status == 0 else None


def _sse(x: Matrix, group: Labels) -> float:
    rows = x[group]
    return float(((rows - rows.mean(axis=0)) ** 2).sum())


def _useful(x: Matrix, groups: list[Labels], prices: Matrix) -> bool:
    """Tell whether a group costs less than the prices of its rows."""
    return any(_sse(x, group) < prices[group].sum() - TINY for group in groups)


def _tested(
    squares: Matrix, nearest_sums: Matrix, prices: Matrix, k: int, nodes: int, deadline: float
) -> tuple[list[Labels], float]:
    """Search groups that cost less than the prices of their rows; return them and the bound."""
    n = len(squares)
    short = np.zeros(n)
    members = np.zeros((n, 2 * k - 1), dtype=np.int64)
    sizes = np.zeros(n, dtype=np.int64)
    for first in range(0, n, 64):
        if time.monotonic() > deadline:
            return [], -np.inf
        last = min(first + 64, n)
        answer(squares, nearest_sums, prices, k, nodes, first, last, short, members, sizes)
    groups = [np.sort(members[row, : sizes[row]]) for row in np.flatnonzero(sizes)]
    distinct = {group.tobytes(): group for group in groups}
    return list(distinct.values()), float(prices.sum() + short.sum())


def _nearest_sums(squares: Matrix, k: int) -> Matrix:
    """Add up the squared distances of each row to its 0, 1, ... 2k - 2 nearest others."""
    count = min(2 * k - 1, len(squares))
    nearest = np.sort(np.partition(squares, count - 1, axis=1)[:, :count], axis=1)
    sums = np.full((len(squares), 2 * k - 1), np.inf)
    sums[:, :count] = np.cumsum(nearest, axis=1)
    return sums


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
def answer(
    squares: Matrix,
    nearest_sums: Matrix,
    prices: Matrix,
    k: int,
    nodes: int,
    first: int,
    last: int,
    short: Matrix,
    members: Labels,
    sizes: Labels,
) -> None:
    """Find for some rows the group that falls short most of those that each answers for.

    How much is written to ``short``, never less than the truth, and the group to ``members``.
    """
    n = squares.shape[0]
    candidates = np.empty(n, dtype=np.int64)
    chosen = np.empty(2 * k, dtype=np.int64)
    for root in range(first, last):
        for size in range(k, min(2 * k - 1, n) + 1):
            # the root's half of its pairs must cost less than its price
            limit = 2.0 * size * prices[root]
            if nearest_sums[root, size - 1] >= limit:
                continue
            reach = limit - nearest_sums[root, size - 2]
            count = 0
            for other in range(n):
                if other != root and squares[root, other] < reach:
                    candidates[count] = other
                    count += 1
            least = _branch(
                squares,
                nearest_sums,
                prices,
                nodes,
                root,
                size,
                candidates[:count],
                chosen,
                short[root],
            )
            short[root] = min(short[root], least)
            if chosen[0] >= 0:
                sizes[root] = size
                for i in range(size):
                    members[root, i] = chosen[i]


@kernel
def _branch(
    squares: Matrix,
    nearest_sums: Matrix,
    prices: Matrix,
    nodes: int,
    root: int,
    size: int,
    candidates: Labels,
    chosen: Labels,
    known: float,
) -> float:
    """Search the groups of one size for which a row answers; return the least shortfall.

    ``chosen`` is the group, or starts with -1 if none falls short by more than ``known``. Rows join
    in the order of the candidates. A set of t rows is completed by size - t others, each of which
    adds its price, its pairs with the set, and half of its pairs with the others, which are at
    least its nearest: the smallest of these sums bound what can come of it.
    """
    chosen[0] = -1
    best = min(known, -TINY)
    values = np.empty(candidates.size)
    for i in range(candidates.size):
        row = candidates[i]
        pairs = squares[root, row] + nearest_sums[row, size - 2] / 2.0
        values[i] = pairs / size - prices[row]
    ranks = np.argsort(values, kind="mergesort")
    # a row that does not do with the best others does with none
    base = -prices[root]
    for i in range(min(size - 2, ranks.size)):
        base += values[ranks[i]]
    count = min(size - 2, ranks.size)
    while count < ranks.size and base + values[ranks[count]] < best:
        count += 1
    if count < size - 1:
        return -TINY
    order = candidates[ranks[:count]]
    path = np.full(size + 1, -1, dtype=np.int64)
    bases = np.zeros(size + 1)
    cross = np.zeros((size + 1, count))
    for i in range(count):
        cross[1, i] = squares[root, order[i]]
    bases[1] = -prices[root]
    bounds = np.full(size + 1, base + values[ranks[size - 2]])
    smallest = np.empty(size)
    unseen = 0.0
    seen = 0
    depth = 1
    place = 0
    while depth > 0:
        if seen > nodes and place < count:
            unseen = min(unseen, bounds[depth])
            place = count
        if count - place < size - depth:
            depth -= 1
            place = path[depth] + 1
            continue
        row = order[place]
        base = bases[depth] + cross[depth, place] / size - prices[row]
        wanted = size - depth - 1
        if wanted == 0:
            path[depth] = place
            if base < best and _answers(squares, prices, root, order, path, size):
                best = base
                chosen[0] = root
                for i in range(1, size):
                    chosen[i] = order[path[i]]
            place += 1
            continue
        # bound what the set with this row can become
        held = 0
        for i in range(place + 1, count):
            other = order[i]
            pairs = cross[depth, i] + squares[row, other] + nearest_sums[other, wanted - 1] / 2.0
            value = pairs / size - prices[other]
            if held == wanted and value >= smallest[held - 1]:
                continue
            slot = held if held < wanted else wanted - 1
            held = min(held + 1, wanted)
            while slot > 0 and smallest[slot - 1] > value:
                smallest[slot] = smallest[slot - 1]
                slot -= 1
            smallest[slot] = value
        bound = base
        for i in range(held):
            bound += smallest[i]
        seen += 1
        if held < wanted or bound >= best:
            place += 1
            continue
        path[depth] = place
        depth += 1
        bases[depth] = base
        bounds[depth] = bound
        for i in range(place + 1, count):
            cross[depth, i] = cross[depth - 1, i] + squares[row, order[i]]
        place += 1
    found = best if chosen[0] >= 0 else 0.0
    return min(found, unseen, -TINY)


@kernel
def _answers(
    squares: Matrix, prices: Matrix, root: int, order: Labels, path: Labels, size: int
) -> bool:
    """Tell whether no other row of a group falls short by more than its root."""
    least = np.inf
    own = 0.0
    for i in range(size):
        row = root if i == 0 else order[path[i]]
        share = squares[row, root]
        for j in range(1, size):
            share += squares[row, order[path[j]]]
        share = share / (2.0 * size) - prices[row]
        if i == 0:
            own = share
        least = min(least, share)
    return own <= least + TINY
