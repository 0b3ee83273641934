"""Finds groups that cost less than the prices of their rows, or proves that there are none."""

import numpy as np

from algorithms.bounds.cuts import Cuts, local_parts, spread
from algorithms.jit import kernel
from algorithms.types import Labels, Matrix

TINY = 1e-9
"""Shortfalls below this are ignored."""


@kernel
def answer(
    squares: Matrix,
    nearest_sums: Matrix,
    prices: Matrix,
    cuts: Cuts,
    ring: Labels,
    k: int,
    work: int,
    root: int,
    group: Labels,
) -> tuple[int, float, float]:
    """Find the group with the largest shortfall among those that a row answers for.

    Parameters
    ----------
    squares : Matrix of shape (n, n)
        Squared distances of all pairs.
    nearest_sums : Matrix of shape (n, 2 k - 1)
        Sums of those of each row to its 0, 1, ... 2k - 2 nearest others.
    prices : Matrix of shape (n,)
    cuts : Cuts
        What a group costs more.
    ring : Labels of shape (n,)
        The next of those that each row must be together with, itself if there are none.
    k : int
        Least group size.
    work : int
        Pairs of rows that may be looked at for each size of group.
    root : int
        The row.
    group : Labels of length 2 k - 1
        Where the group is written.

    Returns
    -------
    size : int
        That of the group, 0 if none was found.
    found : float
        By how much it costs less than its prices, as a negative number.
    proven : float
        A bound on how much less any group costs, including those that were not looked at.
    """
    n = squares.shape[0]
    candidates = np.empty(n, dtype=np.int64)
    chosen = np.empty(2 * k - 1, dtype=np.int64)
    best_size = 0
    found = 0.0
    proven = 0.0
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
        order = _promising(squares, nearest_sums, prices, root, size, candidates[:count], found)
        least, unseen = _branch(
            squares, prices, cuts, ring, work, root, order, chosen[:size], found
        )
        if least < found:
            found = least
            best_size = size
            group[:size] = chosen[:size]
        proven = min(proven, least, unseen, -TINY)
    return best_size, found, proven


@kernel
def _promising(
    squares: Matrix,
    nearest_sums: Matrix,
    prices: Matrix,
    root: int,
    size: int,
    candidates: Labels,
    best: float,
) -> Labels:
    """Keep the candidates that pay with the best others, sorted by the least that each adds."""
    values = np.empty(candidates.size)
    for i in range(candidates.size):
        row = candidates[i]
        pairs = squares[root, row] + nearest_sums[row, size - 2] / 2.0
        values[i] = pairs / size - prices[row]
    ranks = np.argsort(values, kind="mergesort")
    base = -prices[root]
    count = min(size - 2, ranks.size)
    for i in range(count):
        base += values[ranks[i]]
    while count < ranks.size and base + values[ranks[count]] < best:
        count += 1
    return candidates[ranks[:count]]


@kernel
def _branch(
    squares: Matrix,
    prices: Matrix,
    cuts: Cuts,
    ring: Labels,
    work: int,
    root: int,
    order: Labels,
    chosen: Labels,
    known: float,
) -> tuple[float, float]:
    """Search the groups of one size for which a row answers, by branch and bound.

    A set of rows is completed by others. Those that cannot belong to a group that falls short by
    more than ``known`` are struck off; the rest, sorted by the least that each adds, join one after
    the other, each with those behind it to follow. Cuts are paid as soon as the set counts more.

    Returns
    -------
    found : float
        The least shortfall, whose group is in ``chosen``; 0 if no group falls short.
    unseen : float
        A bound on the shortfall of the groups that were not looked at.
    """
    size = chosen.size
    count = order.size
    best = min(known, -TINY)
    found = 0.0
    unseen = 0.0
    pairs = np.empty((count, count))
    star = np.empty(count)
    price = np.empty(count)
    for i in range(count):
        price[i] = prices[order[i]]
        star[i] = squares[root, order[i]]
        for j in range(count):
            pairs[i, j] = squares[order[i], order[j]]
    parts, denominators, duals = local_parts(cuts, np.append(order, root))
    group = np.empty(size, dtype=np.int64)
    group[0] = root
    # one entry for each number of rows in the set
    rows = np.empty((size, count), dtype=np.int64)
    cross = np.empty((size, count))
    values = np.empty((size, count))
    held = np.empty((size, duals.size), dtype=np.int64)
    lengths = np.zeros(size, dtype=np.int64)
    places = np.zeros(size, dtype=np.int64)
    bases = np.empty(size)
    reaches = np.empty(size)
    shares = np.empty(count)
    for i in range(count):
        rows[1, i] = i
        cross[1, i] = star[i]
    held[1] = parts[:, count]
    bases[1] = -prices[root]
    reaches[1] = 2.0 * size * prices[root]
    spread(parts, denominators, duals, held[1], rows[1], count, size - 1, shares)
    lengths[1] = _narrow(
        pairs, star, price, shares, rows[1], cross[1], values[1],
        count, size, size - 1, best - bases[1], reaches[1],
    )  # fmt: skip
    looked = count * count
    depth = 1
    while depth > 0:
        place = places[depth]
        wanted = size - depth
        least = np.inf
        if place + wanted <= lengths[depth]:
            least = bases[depth]
            for i in range(place, place + wanted):
                least += values[depth, i]
        if least >= best or looked > work:
            if least < best:
                unseen = min(unseen, least)
            depth -= 1
            continue
        places[depth] = place + 1
        row = rows[depth, place]
        group[depth] = order[row]
        if wanted == 1:
            if _answers(squares, prices, ring, group):
                best = least
                found = least
                chosen[:] = group
            continue
        base = bases[depth] + cross[depth, place] / size - price[row]
        for i in range(duals.size):
            before = held[depth, i]
            after = before + parts[i, row]
            held[depth + 1, i] = after
            base += duals[i] * (after // denominators[i] - before // denominators[i])
        left = lengths[depth] - place - 1
        for i in range(left):
            other = rows[depth, place + 1 + i]
            rows[depth + 1, i] = other
            cross[depth + 1, i] = cross[depth, place + 1 + i] + pairs[row, other]
        looked += left * left
        depth += 1
        places[depth] = 0
        bases[depth] = base
        reaches[depth] = reaches[depth - 1] - star[row]
        spread(parts, denominators, duals, held[depth], rows[depth], left, wanted - 1, shares)
        lengths[depth] = _narrow(
            pairs, star, price, shares, rows[depth], cross[depth], values[depth],
            left, size, wanted - 1, best - base, reaches[depth],
        )  # fmt: skip
    return found, unseen


@kernel
def _narrow(
    pairs: Matrix,
    star: Matrix,
    price: Matrix,
    shares: Matrix,
    rows: Labels,
    cross: Matrix,
    values: Matrix,
    length: int,
    size: int,
    wanted: int,
    room: float,
    reach: float,
) -> int:
    """Strike off the rows that cannot be among those ``wanted``; return how many are left.

    A row adds its price, its pairs with the set, half of its pairs with the others that are
    wanted, which are at least the nearest in the list, and its share of cuts. All together must add
    less than ``room``, and their squared distances to the root less than ``reach``. What is left is
    sorted by what each adds, which is in ``values``.
    """
    nearest = np.empty(wanted)
    lowest = np.empty(wanted)
    closest = np.empty(wanted)
    before = length + 1
    while wanted <= length < before:
        # once more only if it pays: the fewer rows there are, the more each adds
        before = length - length // 5
        for a in range(length):
            row = rows[a]
            count = 0
            for b in range(length):
                if b != a:
                    count = _keep(nearest, count, wanted - 1, pairs[row, rows[b]])
            total = cross[a]
            for i in range(count):
                total += nearest[i] / 2.0
            values[a] = total / size - price[row] + shares[row]
            _keep(lowest, min(a, wanted), wanted, values[a])
            _keep(closest, min(a, wanted), wanted, star[row])
        low = lowest[: wanted - 1].sum()
        near = closest[: wanted - 1].sum()
        left = 0
        for a in range(length):
            value = max(values[a], lowest[wanted - 1])
            far = max(star[rows[a]], closest[wanted - 1])
            if low + value < room and near + far < reach:
                rows[left], cross[left], values[left] = rows[a], cross[a], values[a]
                left += 1
        length = left
    if length < wanted:
        return 0
    for a in range(1, length):
        row, pair, value = rows[a], cross[a], values[a]
        b = a
        while b > 0 and values[b - 1] > value:
            rows[b], cross[b], values[b] = rows[b - 1], cross[b - 1], values[b - 1]
            b -= 1
        rows[b], cross[b], values[b] = row, pair, value
    return length


@kernel
def _keep(smallest: Matrix, count: int, most: int, value: float) -> int:
    """Put a value among the ``most`` smallest, in their order; return how many there are."""
    if count < most:
        slot = count
        count += 1
    elif most > 0 and value < smallest[most - 1]:
        slot = most - 1
    else:
        return count
    while slot > 0 and smallest[slot - 1] > value:
        smallest[slot] = smallest[slot - 1]
        slot -= 1
    smallest[slot] = value
    return count


@kernel
def _answers(squares: Matrix, prices: Matrix, ring: Labels, group: Labels) -> bool:
    """Check whether no other row of a group falls short by more than its first.

    A group that holds a row without one that it must be together with is none of those that are
    looked for.
    """
    least = np.inf
    own = 0.0
    for i in range(group.size):
        share = 0.0
        mate = False
        for j in range(group.size):
            share += squares[group[i], group[j]]
            mate = mate or group[j] == ring[group[i]]
        if not mate:
            return False
        share = share / (2.0 * group.size) - prices[group[i]]
        if i == 0:
            own = share
        least = min(least, share)
    return own <= least + TINY
