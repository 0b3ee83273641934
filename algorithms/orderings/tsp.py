"""TSP, ordering along a short tour."""

from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from algorithms.cutting import cut_path
from algorithms.jit import kernel
from algorithms.orderings.npn import npn
from algorithms.orderings.ordering import Ordering
from algorithms.search.tree import build, nearest
from algorithms.types import Labels, Mask, Matrix, Order

TOUR_NEIGHBOURS = 8
"""Records that each record may be joined to."""

BREADTH = 5
"""Number of these that are tried for the last edge of a move."""

FIRST_SPAN, KICK_SPAN = 100_000, 1000
"""Most places that a move may span, in the first pass and after a kick."""

STRETCH = 30
"""Most records in each of the stretches that a kick exchanges."""

FLIPS = 1000
"""Most reversals after one kick."""

SHORTER = 1e-10
"""Smallest gain of a move, so that rounding errors do not count as gains."""

LESS = 1.0 - 1e-12
"""Share of the loss that a change may keep at most, for the same reason."""

RECUT_SWEEPS, RECUT_MOST_ROWS = 5, 250_000
"""Default number of sweeps judged by the loss of the cut, and the most rows for which they run."""

LEHMER = 2**31 - 1
"""Modulus of the random generator."""


def tsp(
    x: Matrix,
    k: int,
    *,
    seed: Annotated[int, Ge(0)] = 0,
    sweeps: Annotated[int, Ge(0), Le(1000)] = 5,
    recuts: Annotated[int, Ge(0), Le(1000)] | None = None,
    opened: Literal["cyclic", "longest"] = "cyclic",
) -> Order:
    """Order the rows of ``x`` along a short tour, opened where the cut into groups loses least.

    The tour is a heuristic for the travelling salesman problem, as in [MJ14]_: nearest point next,
    shortened by 3-opt moves to near records and then by kicks. A kick exchanges two short
    neighbouring stretches of the tour, and moves around it repair the tour; a kick without gain is
    undone. At first the gain is a shorter tour; in the end it is a lower loss of the best cut of
    the tour into groups of at least ``k``, because the shortest tour is not the one that is cut
    best.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group that the path is to be cut into, ``1 <= k <= n``.
    seed : int
        Seed of the random lengths of the stretches that kicks exchange.
    sweeps : int
        Rounds of one kick at each place of the tour that are judged by the length of the tour.
    recuts : int
        Rounds that are judged by the loss of the cut; without any, the tour is only short. By
        default 5, and none above 250,000 records, where they would take far longer than the rest.
    opened : {"cyclic", "longest"}
        Whether the tour is opened at a place where the best cut of the whole circle has a boundary,
        or at what was its longest edge before the recuts.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    Notes
    -----
    Time about O(n log n) in few dimensions, plus O((d + g) n) per round of kicks, where ``g`` is
    what cutting a part of the path costs that holds the change, some hundred records; memory
    O(n d). Deterministic for a seed: work is bounded by counts, not by time. Recuts and the choice
    of the opening are ours; without recuts the path is a short tour, as in [MJ14]_.

    Examples
    --------
    >>> tsp(np.array([[0.0], [5.0], [1.0], [6.0]]), k=2)
    array([0, 2, 1, 3])
    """
    n = len(x)
    path = npn(x)
    if n < max(2 * k, 4):
        return path
    y = x[path]  # what is near in space is now mostly near in memory
    near, away = nearest_others(y, min(TOUR_NEIGHBOURS, n - 1))
    random = np.array([1 + seed % (LEHMER - 1)])
    tour = lay(y, near, away, np.arange(n))
    shorten(tour, random, sweeps)
    tour = lay(y, near, away, np.roll(tour.order, -after_longest_edge(tour)))
    if recuts is None:
        recuts = RECUT_SWEEPS if n <= RECUT_MOST_ROWS else 0
    lower_loss(tour, random, recuts, k)
    order: Order = path[tour.order]
    if opened == "longest":
        return order
    # no group holds 2k records: one of 2k - 1 places that follow each other is a boundary
    openings = (np.roll(order, -place) for place in range(2 * k - 1))
    return min(openings, key=lambda opening: cut_path(x[opening], k)[1])


class Tour(NamedTuple):
    """A tour, and what it takes to change it and to take changes back.

    It is closed by the edge from the last place to the first. All changes are made by reversing
    stretches that do not span that edge.

    Attributes
    ----------
    x : Matrix of shape (n, d)
        Records.
    near, away : arrays of shape (n, neighbours)
        The nearest other rows of each row, and their distances.
    order, place : Labels of shape (n,)
        The row at each place, and the place of each row.
    queue, waiting : arrays of shape (n,)
        A ring of the rows around which shorter ways are to be sought, and whether a row is in it.
    flips : Labels of shape (FLIPS, 2)
        Reversals made since a kick, by first and last place.
    counts : Labels of shape (3,)
        Where the queue begins, how many rows are in it, and how many reversals were made.
    """

    x: Matrix
    near: Labels
    away: Matrix
    order: Order
    place: Labels
    queue: Labels
    waiting: Mask
    flips: Labels
    counts: Labels


@kernel
def lay(x: Matrix, near: Labels, away: Matrix, order: Order) -> Tour:
    """Lay a tour through all records in the given order."""
    n = order.size
    place = np.empty(n, dtype=np.int64)
    for i in range(n):
        place[order[i]] = i
    return Tour(
        x,
        near,
        away,
        order,
        place,
        np.empty(n, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
        np.empty((FLIPS, 2), dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )


@kernel
def nearest_others(x: Matrix, count: int) -> tuple[Labels, Matrix]:
    """List the nearest other rows of each row and their distances; ties go to the lowest row."""
    n = x.shape[0]
    tree = build(x, np.arange(n))
    near, away = np.empty((n, count), dtype=np.int64), np.empty((n, count))
    rows, squares = np.empty(count + 1, dtype=np.int64), np.empty(count + 1)
    for row in range(n):
        nearest(tree, x[row], rows, squares)
        own = count  # with many equal rows, the list may not include the row itself
        for i in range(count):
            if rows[i] == row:
                own = i
        for i in range(count):
            other = i if i < own else i + 1
            near[row, i] = rows[other]
            away[row, i] = np.sqrt(squares[other])
    return near, away


@kernel
def after_longest_edge(tour: Tour) -> int:
    """Find the place after the longest edge; ties go to the first."""
    after, longest = 0, -1.0
    for place in range(tour.order.size):
        length = _distance(tour.x, tour.order[place - 1], tour.order[place])
        if length > longest:
            after, longest = place, length
    return after


@kernel
def shorten(tour: Tour, random: Labels, sweeps: int) -> None:
    """Make moves until none is left, then kick at each place and keep what is shorter."""
    n = tour.order.size
    for row in range(n):
        _enqueue(tour, row)
    while tour.counts[1] > 0:
        tour.counts[2] = 0
        _shorten_at(tour, _dequeue(tour), FIRST_SPAN)
    for _ in range(sweeps):
        for place in range(n - 1):
            if _kick(tour, place, random) + _repair(tour) < SHORTER:
                _undo(tour)


@kernel
def lower_loss(tour: Tour, random: Labels, sweeps: int, k: int) -> None:
    """Kick at each place and keep what lowers the loss of the best cut, opened at place 0.

    ``before[i]`` is the least loss of the records before place ``i``, ``after[i]`` that of the
    others. Sweeping along the path, the one is known on the left of all changes and the other on
    their right; only between them must the path be cut again.
    """
    n = tour.order.size
    before, trial = np.zeros(n + 1), np.zeros(n + 1)
    for _ in range(sweeps):
        cut_on(tour.x, tour.order[::-1].copy(), k, trial, 0, n)
        after = trial[::-1].copy()
        least = after[0]
        known, changed = 0, 0
        for place in range(n - 1):
            _kick(tour, place, random)
            _repair(tour)
            flips = tour.flips[: tour.counts[2]]
            first = flips[:, 0].min()
            last = max(flips[:, 1].max() + 1, changed)
            if known < first:
                cut_on(tour.x, tour.order, k, before, known, first)
                known = first
            # a group may begin before the change, and another may end after it
            trial[max(first - 2 * k, 0) : first + 1] = before[max(first - 2 * k, 0) : first + 1]
            stop = min(last + 2 * k - 2, n)
            cut_on(tour.x, tour.order, k, trial, first, stop)
            loss = (trial[last : stop + 1] + after[last : stop + 1]).min()
            if loss < least * LESS:
                least = loss
                before[first : stop + 1] = trial[first : stop + 1]
                known = stop
                changed = last
            else:
                _undo(tour)


@kernel
def cut_on(x: Matrix, order: Order, k: int, cost: Matrix, start: int, stop: int) -> None:
    """Continue the least losses of the first records of a path from ``start`` to ``stop``."""
    d = x.shape[1]
    total = np.empty(d)
    for place in range(start + 1, stop + 1):
        cost[place] = np.inf
        total[:] = 0.0
        squares = 0.0
        last = order[place - 1]
        for size in range(1, min(2 * k - 1, place) + 1):
            row = order[place - size]
            square = 0.0
            for j in range(d):
                value = x[row, j] - x[last, j]
                total[j] += value
                squares += value * value
                square += total[j] * total[j]
            if size >= k:
                cost[place] = min(cost[place], cost[place - size] + squares - square / size)


@kernel
def _kick(tour: Tour, place: int, random: Labels) -> float:
    """Exchange two stretches from ``place`` on; return what that gains."""
    n = tour.order.size
    tour.counts[2] = 0
    one = _draw(random, min(STRETCH, n - place - 1))
    two = _draw(random, min(STRETCH, n - place - one))
    middle, last = place + one, place + one + two - 1
    a, b = _at(tour, place - 1), tour.order[place]
    c, d = tour.order[middle - 1], tour.order[middle]
    e, f = tour.order[last], _at(tour, last + 1)
    _flip(tour, place, last)
    _flip(tour, place, place + two - 1)
    _flip(tour, place + two, last)
    for row in (a, b, c, d, e, f):
        _enqueue(tour, row)
    if a == e:  # the two are all there is
        return 0.0
    return (
        _distance(tour.x, a, b)
        + _distance(tour.x, c, d)
        + _distance(tour.x, e, f)
        - _distance(tour.x, a, d)
        - _distance(tour.x, e, b)
        - _distance(tour.x, c, f)
    )


@kernel
def _draw(random: Labels, most: int) -> int:
    """Draw a number from 1 to ``most`` by Lehmer's generator."""
    random[0] = random[0] * 48271 % LEHMER
    drawn: int = 1 + random[0] % most
    return drawn


@kernel
def _repair(tour: Tour) -> float:
    """Make moves around the rows in the queue until none is left; return what they gain."""
    gain = 0.0
    while tour.counts[1] > 0:
        # where no more reversals can be remembered, nothing is within reach
        reach = KICK_SPAN if tour.counts[2] + 3 <= FLIPS else 0
        gain += _shorten_at(tour, _dequeue(tour), reach)
    return gain


@kernel
def _shorten_at(tour: Tour, a: int, reach: int) -> float:
    """Make the first move found that shortens the tour at row ``a``; return what it gains.

    A move removes the edges a-b, c-d and maybe e-f, and adds a-c, d-e and f-b or, without e and f,
    d-b. It is given up when what was removed so far does not outweigh what was added. Seen from
    ``b`` on, the tour ends in ``a``; if ``c`` comes before ``d``, both ways to go on are open, and
    else a-c has closed a circle, which e-f must open.
    """
    n = tour.order.size
    x, near, away = tour.x, tour.near, tour.away
    gain: float = 0.0
    for step in (1, -1):
        start = tour.place[a] + step
        b = _at(tour, start)
        ab = _distance(x, a, b)
        for i in range(near.shape[1]):
            c, ac = near[a, i], away[a, i]
            if ac >= ab - SHORTER:
                break
            to_c = (tour.place[c] - start) * step % n
            for side in (step, -step):
                d = _at(tour, tour.place[c] + side)
                if d == a:
                    continue
                two = ab - ac + _distance(x, c, d)
                if side == step:
                    gain = two - _distance(x, b, d)
                    if gain > SHORTER and _change_two(tour, a, b, c, d, reach):
                        return gain
                for j in range(min(BREADTH, near.shape[1])):
                    e, de = near[d, j], away[d, j]
                    if de >= two - SHORTER:
                        break
                    to_e = (tour.place[e] - start) * step % n
                    for turn in (step, -step):
                        if side == step:
                            is_tour = e != c and (turn == step) == (to_e < to_c)
                        else:
                            is_tour = to_e > to_c and (turn == -step or e != a)
                        f = _at(tour, tour.place[e] + turn)
                        if is_tour and f != d:
                            gain = two - de + _distance(x, e, f) - _distance(x, f, b)
                            if gain > SHORTER and _change_three(tour, a, b, c, d, e, f, reach):
                                return gain
    return 0.0


@kernel
def _change_two(tour: Tour, a: int, b: int, c: int, d: int, reach: int) -> bool:
    """Put a-c and b-d in the place of a-b and c-d, unless they are too far apart."""
    one, two = _edge(tour, a, b), _edge(tour, c, d)
    first, last = min(one, two), max(one, two)
    if last - first > reach:
        return False
    _flip(tour, first + 1, last)
    for row in (a, b, c, d):
        _enqueue(tour, row)
    return True


@kernel
def _change_three(tour: Tour, a: int, b: int, c: int, d: int, e: int, f: int, reach: int) -> bool:
    """Put a-c, d-e and f-b in the place of a-b, c-d and e-f, unless they are too far apart.

    The three edges bound two stretches; one or both are reversed, they change places, or both.
    """
    one, two, three = _edge(tour, a, b), _edge(tour, c, d), _edge(tour, e, f)
    first, last = min(one, two, three), max(one, two, three)
    middle = one + two + three - first - last
    if last - first > min(reach, tour.order.size - 2):
        return False
    to_first, to_last = tour.order[first], _at(tour, last + 1)
    for p, q in ((a, c), (c, a), (d, e), (e, d), (f, b), (b, f)):
        if p == tour.order[first]:
            to_first = q
        if p == _at(tour, last + 1):
            to_last = q
    left_end, right_start = tour.order[middle], tour.order[middle + 1]
    if to_first == left_end and to_last == right_start:
        _flip(tour, first + 1, middle)
        _flip(tour, middle + 1, last)
    else:
        _flip(tour, first + 1, last)
        middle = first + last - middle
        if to_first == right_start:
            _flip(tour, first + 1, middle)
        if to_last == left_end:
            _flip(tour, middle + 1, last)
    for row in (a, b, c, d, e, f):
        _enqueue(tour, row)
    return True


@kernel
def _edge(tour: Tour, a: int, b: int) -> int:
    """Find the place where the edge between two rows begins."""
    first: int = min(tour.place[a], tour.place[b])
    second: int = max(tour.place[a], tour.place[b])
    return first if second == first + 1 else second


@kernel
def _at(tour: Tour, place: int) -> int:
    """Return the row at a place, which may be one before the first or one after the last."""
    row: int = tour.order[0 if place == tour.order.size else place]
    return row


@kernel
def _flip(tour: Tour, first: int, last: int) -> None:
    """Reverse the tour from place ``first`` to place ``last``, and remember it."""
    done = tour.counts[2]
    tour.flips[done, 0], tour.flips[done, 1] = first, last
    tour.counts[2] = done + 1
    _reverse(tour, first, last)


@kernel
def _undo(tour: Tour) -> None:
    """Take back all that was done since the last kick."""
    for done in range(tour.counts[2] - 1, -1, -1):
        _reverse(tour, tour.flips[done, 0], tour.flips[done, 1])


@kernel
def _reverse(tour: Tour, first: int, last: int) -> None:
    order, place = tour.order, tour.place
    while first < last:
        a, b = order[first], order[last]
        order[first], order[last] = b, a
        place[b], place[a] = first, last
        first += 1
        last -= 1


@kernel
def _enqueue(tour: Tour, row: int) -> None:
    if not tour.waiting[row]:
        tour.waiting[row] = True
        tour.queue[(tour.counts[0] + tour.counts[1]) % tour.queue.size] = row
        tour.counts[1] += 1


@kernel
def _dequeue(tour: Tour) -> int:
    row: int = tour.queue[tour.counts[0]]
    tour.waiting[row] = False
    tour.counts[0] = (tour.counts[0] + 1) % tour.queue.size
    tour.counts[1] -= 1
    return row


@kernel
def _distance(x: Matrix, a: int, b: int) -> float:
    total = 0.0
    for j in range(x.shape[1]):
        difference = x[a, j] - x[b, j]
        total += difference * difference
    distance: float = np.sqrt(total)
    return distance


ORDERING = Ordering(
    run=tsp,
    summary=(
        "The path is a short tour through all records, improved until cutting it into groups "
        "loses little information."
    ),
    paper="MJ14",
    for_groups=True,
)
