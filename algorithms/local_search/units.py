"""Repairs groups that hold records of fewer than ``k`` units.

A unit is the person, household or company that a record is about. Methods count records; where a
unit owns several, `repair` exchanges records between groups until all of them hold ``k`` units.
"""

from typing import NamedTuple

import numpy as np

from algorithms.errors import ContractError
from algorithms.jit import kernel
from algorithms.local_search.divide import Split
from algorithms.local_search.groups import Number, squared
from algorithms.search.neighbours import neighbours
from algorithms.search.pool import centroids_of
from algorithms.types import Labels, Matrix, units_per_group

AROUND = 32
"""Groups around a group with which it may exchange records."""

PAIRS = 1024
"""Pairs of records that are compared for an exchange; in larger groups, the best of each kind."""

NOBODY = np.int64(-1)


class Holdings(NamedTuple):
    """Groups that are being repaired: their records, units and averages.

    Attributes
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : Labels of shape (1,)
        Smallest number of units allowed.
    units, labels : Labels of shape (n,)
        The unit and the group of each record.
    first : Labels of shape (groups,)
        A record of each group, -1 if it has none.
    following, previous : Labels of shape (n,)
        The next record and the one before it in the same group, -1 at both ends.
    sizes, distinct : Labels of shape (groups,)
        The number of records and of units.
    centres : Matrix of shape (groups, d)
        Averages.
    around : Labels of shape (groups, AROUND)
        A record of each group around a group, as the groups were at the start. That record leads
        to the group that took its place if the first one is dissolved.
    seen : Labels of shape (groups + 1,)
        The last search that met each group, and the number of searches.
    tally, other_tally : Labels of shape (units,)
        Room to count the records of units in two groups; 0 between uses.
    """

    x: Matrix
    k: Labels
    units: Labels
    labels: Labels
    first: Labels
    following: Labels
    previous: Labels
    sizes: Labels
    distinct: Labels
    centres: Matrix
    around: Labels
    seen: Labels
    tally: Labels
    other_tally: Labels


def repair(x: Matrix, labels: Labels, k: int, units: Labels) -> Labels:
    """Change groups until each holds records of at least ``k`` units.

    Each group that holds fewer takes in a record of another unit, in exchange for a record of a
    unit that it holds twice, or for none. Of such steps with `AROUND` groups near it, it takes the
    one that raises the sum of squares least for each unit that is lacking no longer.
    Where no step is possible, or where it costs less than the steps that are still needed, the
    group is dissolved: each of its records joins the group that loses least by it.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    labels : Labels of shape (n,)
        Groups.
    k : int
        Smallest number of units allowed; there are at least so many.
    units : Labels of shape (n,)
        The unit of each record, as an arbitrary number.

    Raises
    ------
    ContractError
        If there are fewer than ``k`` units.

    Returns
    -------
    Labels of shape (n,)
        Group of each row, numbered from 0 without gaps.

    Notes
    -----
    Deterministic: groups that lack most come first, and ties go to the lowest row or group. Groups
    that hold ``k`` units change only in steps of others. Every step, and every group dissolved,
    lowers the number of units that are lacking in all, so that there is an end. Where the records
    of a unit lie close together and far from all others, large groups with most of its records lose
    least.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> repair(x, np.array([0, 0, 1, 1]), k=2, units=np.array([5, 5, 6, 6]))
    array([0, 1, 0, 1])
    """
    count = np.unique_values(units).size
    if count < k:
        raise ContractError(f"groups of k={k} units cannot be formed of {count}")
    lacking = k - units_per_group(labels, units)
    if (lacking <= 0).all():
        return labels
    holdings = holdings_of(x, labels, k, units)
    mend(holdings, np.argsort(-lacking, kind="stable")[: np.count_nonzero(lacking > 0)])
    repaired: Labels = np.unique_inverse(holdings.labels)[1]
    return repaired


def split_units(x: Matrix, labels: Labels, k: int, units: Labels, split: Split) -> Labels:
    """Split every group that holds enough records of enough units for two.

    Two groups of ``k`` units can be formed if there are ``2k`` records, at most two of each unit.
    """
    large = np.flatnonzero(_spread_per_group(labels, units)[labels] >= 2 * k)
    parts = labels.copy()
    count = labels.max() + 1
    for group in np.unique(labels[large]):
        rows = large[labels[large] == group]
        parts[rows] = count + repair(x[rows], split(x[rows], k), k, units[rows])
        count = parts[rows].max() + 1
    split_up: Labels = np.unique_inverse(parts)[1]
    return split_up


def _spread_per_group(labels: Labels, units: Labels) -> Labels:
    """Count the records in each group, at most two of each unit."""
    order = np.lexsort((units, labels))
    group, unit = labels[order], units[order]
    third = np.zeros(labels.size, dtype=bool)
    third[2:] = (group[2:] == group[:-2]) & (unit[2:] == unit[:-2])
    return np.bincount(group[~third])


def holdings_of(x: Matrix, labels: Labels, k: int, units: Labels) -> Holdings:
    """Take up groups to repair them."""
    n = len(x)
    centres = np.ascontiguousarray(centroids_of(x, labels))
    groups = len(centres)
    near = neighbours(centres, min(AROUND, groups - 1))
    tokens = np.unique_inverse(units)[1]
    holdings = Holdings(
        x=np.ascontiguousarray(x),
        k=np.array([k]),
        units=tokens,
        labels=labels.copy(),
        first=np.full(groups, NOBODY),
        following=np.full(n, NOBODY),
        previous=np.full(n, NOBODY),
        sizes=np.bincount(labels),
        distinct=units_per_group(labels, units),
        centres=centres,
        around=np.unique_all(labels)[1][near],
        seen=np.zeros(groups + 1, dtype=np.int64),
        tally=np.zeros(tokens.max() + 1, dtype=np.int64),
        other_tally=np.zeros(tokens.max() + 1, dtype=np.int64),
    )
    _link_all(holdings)
    return holdings


@kernel
def mend(holdings: Holdings, lacking: Labels) -> None:
    """Repair the groups that lack units, one after the other."""
    for group in lacking:
        while 0 < holdings.distinct[group] < holdings.k[0]:
            rise, row, partner = cheapest_step(holdings, group)
            steps = holdings.k[0] - holdings.distinct[group]
            if row == NOBODY or steps * rise > _cost_of_dissolving(holdings, group):
                _dissolve(holdings, group)
            else:
                _take(holdings, group, row, partner)


@kernel
def _take(holdings: Holdings, group: Number, row: Number, partner: Number) -> None:
    """Take a record into a group, and give another for it or none."""
    other = holdings.labels[row]
    _leave(holdings, row)
    if partner != NOBODY:
        _leave(holdings, partner)
        _join(holdings, partner, other)
    _join(holdings, row, group)
    _count(holdings, group)
    _count(holdings, other)


@kernel
def cheapest_step(holdings: Holdings, group: Number) -> tuple[float, Number, Number]:
    """Find a step by which a group that lacks units comes nearer to ``k`` of them.

    Only where the groups around it offer none is the nearest group sought that does. Returns the
    rise of the sum of squares, divided by the number of units that are lacking no longer; the
    record that the group takes in, or ``NOBODY`` if no step exists; and the record that it gives
    for it, or ``NOBODY``.
    """
    tally, units, first = holdings.tally, holdings.units, holdings.first
    _fill(holdings, group, tally, 1)
    best: float = np.inf
    row: Number = NOBODY
    partner: Number = NOBODY
    _begin_search(holdings, group)
    for place in range(holdings.around.shape[1]):
        other = holdings.labels[holdings.around[group, place]]
        offers = holdings.distinct[other] > 1 or tally[units[first[other]]] == 0
        if _is_new(holdings.seen, other) and offers:
            rise, taken, given = _cheapest_with(holdings, group, other)
            if rise < best or (rise == best and taken < row):
                best, row, partner = rise, taken, given
    nearest = np.inf
    for other in range(holdings.sizes.size if row == NOBODY else 0):
        if holdings.sizes[other] > 0 and _is_new(holdings.seen, other):
            away = squared(holdings.centres, other, holdings.centres, group)
            # without this look, large groups of one unit would be read over and over
            offers = holdings.distinct[other] > 1 or tally[units[first[other]]] == 0
            if away < nearest and offers:
                rise, taken, given = _cheapest_with(holdings, group, other)
                if taken != NOBODY:
                    nearest, best, row, partner = away, rise, taken, given
    _fill(holdings, group, tally, -1)
    return best, row, partner


@kernel
def _begin_search(holdings: Holdings, group: Number) -> None:
    """Begin a search that meets every group once, and never ``group``."""
    holdings.seen[-1] += 1
    holdings.seen[group] = holdings.seen[-1]


@kernel
def _is_new(seen: Labels, group: Number) -> bool:
    """Tell whether a search has not met a group before, and meet it."""
    before = seen[group]
    seen[group] = seen[-1]
    return bool(before < seen[-1])


@kernel
def _cheapest_with(
    holdings: Holdings, group: Number, other: Number
) -> tuple[float, Number, Number]:
    """Find the cheapest step of a group, whose units are tallied, with one other group."""
    x, centres, units = holdings.x, holdings.centres, holdings.units
    size, other_size = holdings.sizes[group], holdings.sizes[other]
    spare = holdings.distinct[other] - holdings.k[0]
    best: float = np.inf
    taken: Number = NOBODY
    given: Number = NOBODY
    _fill(holdings, other, holdings.other_tally, 1)
    few = size * other_size <= PAIRS
    partners = _candidates(holdings, group, other, True, few)
    for row in _candidates(holdings, other, group, False, few):
        to = squared(x, row, centres, group)
        own = squared(x, row, centres, other)
        loses = holdings.other_tally[units[row]] == 1
        if spare > 0 or not loses:
            rise = size / (size + 1) * to - other_size / (other_size - 1) * own
            if rise < best or (rise == best and row < taken):
                best, taken, given = rise, row, NOBODY
        for partner in partners:
            gains = holdings.other_tally[units[partner]] == 0
            if gains or spare > 0 or not loses:
                apart = squared(x, row, x, partner)
                rise = to - squared(x, partner, centres, group) - apart / size
                rise += squared(x, partner, centres, other) - own - apart / other_size
                if spare < 0 and gains and not loses:
                    rise /= 2.0
                if rise < best or (rise == best and (row, partner) < (taken, given)):
                    best, taken, given = rise, row, partner
    _fill(holdings, other, holdings.other_tally, -1)
    return best, taken, given


@kernel
def _candidates(
    holdings: Holdings, home: Number, target: Number, giving: bool, every: bool
) -> Labels:
    """List the records of a group that a step may send to another group.

    The group that lacks units gives records of units that it holds twice, and takes records of
    units that it does not hold. Unless ``every`` candidate is wanted, there are two at most, those
    whose move costs least: one that changes the number of units in the group around, and one
    that does not.
    """
    found = np.full(holdings.sizes[home] if every else 2, NOBODY)
    costs = np.full(2, np.inf)
    count = 0
    row = holdings.first[home]
    while row != NOBODY:
        unit = holdings.units[row]
        fits = holdings.tally[unit] > 1 if giving else holdings.tally[unit] == 0
        if fits and every:
            found[count] = row
            count += 1
        elif fits:
            kind = int(holdings.other_tally[unit] == (0 if giving else 1))
            cost = squared(holdings.x, row, holdings.centres, target)
            cost -= squared(holdings.x, row, holdings.centres, home)
            if cost < costs[kind] or (cost == costs[kind] and row < found[kind]):
                found[kind], costs[kind] = row, cost
        row = holdings.following[row]
    candidates: Labels = found[found != NOBODY]
    return candidates


@kernel
def _cost_of_dissolving(holdings: Holdings, group: Number) -> float:
    """Estimate the rise of the sum of squares if each record of a group joins one around it.

    It is infinite if all groups around it have become part of it.
    """
    cost = 0.0
    row = holdings.first[group]
    while row != NOBODY and cost < np.inf:
        _, rise = _goal_around(holdings, row)
        cost += rise - squared(holdings.x, row, holdings.centres, group)
        row = holdings.following[row]
    return cost


@kernel
def _dissolve(holdings: Holdings, group: Number) -> None:
    """Send each record of a group to the group that loses least by it, around it if possible."""
    row = holdings.first[group]
    while row != NOBODY:
        following = holdings.following[row]
        goal, _ = _goal_around(holdings, row)
        if goal == NOBODY:
            goal = _goal_anywhere(holdings, row)
        _leave(holdings, row)
        holdings.distinct[goal] += not _holds(holdings, goal, holdings.units[row])
        _join(holdings, row, goal)
        row = following
    holdings.distinct[group] = 0


@kernel
def _goal_around(holdings: Holdings, row: int) -> tuple[Number, float]:
    """Find the group around its own that loses least if a record joins it, and how much."""
    best, least = NOBODY, np.inf
    home = holdings.labels[row]
    _begin_search(holdings, home)
    for place in range(holdings.around.shape[1]):
        group = holdings.labels[holdings.around[home, place]]
        if _is_new(holdings.seen, group):
            rise = _rise(holdings, row, group)
            if rise < least or (rise == least and group < best):
                best, least = group, rise
    return best, least


@kernel
def _goal_anywhere(holdings: Holdings, row: int) -> Number:
    """Find the group other than its own that loses least if a record joins it."""
    best, least = NOBODY, np.inf
    for group in range(holdings.sizes.size):
        if holdings.sizes[group] > 0 and group != holdings.labels[row]:
            rise = _rise(holdings, row, group)
            if rise < least:
                best, least = np.int64(group), rise
    return best


@kernel
def _rise(holdings: Holdings, row: int, group: Number) -> float:
    """Measure how much more a group loses if a record joins it."""
    size = holdings.sizes[group]
    rise: float = size / (size + 1) * squared(holdings.x, row, holdings.centres, group)
    return rise


@kernel
def _fill(holdings: Holdings, group: Number, tally: Labels, step: int) -> None:
    """Count the records of each unit in a group, or take them off again."""
    row = holdings.first[group]
    while row != NOBODY:
        tally[holdings.units[row]] += step
        row = holdings.following[row]


@kernel
def _count(holdings: Holdings, group: Number) -> None:
    """Count the units of a group."""
    holdings.distinct[group] = 0
    row = holdings.first[group]
    while row != NOBODY:
        holdings.distinct[group] += holdings.tally[holdings.units[row]] == 0
        holdings.tally[holdings.units[row]] = 1
        row = holdings.following[row]
    row = holdings.first[group]
    while row != NOBODY:
        holdings.tally[holdings.units[row]] = 0
        row = holdings.following[row]


@kernel
def _holds(holdings: Holdings, group: Number, unit: int) -> bool:
    """Tell whether a group holds a record of a unit."""
    row = holdings.first[group]
    while row != NOBODY and holdings.units[row] != unit:
        row = holdings.following[row]
    return bool(row != NOBODY)


@kernel
def _link_all(holdings: Holdings) -> None:
    """List the records of all groups, the lowest row first."""
    for row in range(holdings.labels.size - 1, -1, -1):
        _link(holdings, row, holdings.labels[row])


@kernel
def _link(holdings: Holdings, row: Number, group: Number) -> None:
    """Put a record before the others of a group."""
    following = holdings.first[group]
    holdings.following[row] = following
    holdings.previous[row] = NOBODY
    if following != NOBODY:
        holdings.previous[following] = row
    holdings.first[group] = row


@kernel
def _join(holdings: Holdings, row: Number, group: Number) -> None:
    """Add a record to a group, and to its average."""
    _link(holdings, row, group)
    holdings.labels[row] = group
    holdings.sizes[group] += 1
    _shift(holdings, row, group, 1.0 / holdings.sizes[group])


@kernel
def _leave(holdings: Holdings, row: Number) -> None:
    """Take a record out of its group, and out of its average."""
    group = holdings.labels[row]
    following, previous = holdings.following[row], holdings.previous[row]
    if following != NOBODY:
        holdings.previous[following] = previous
    if previous != NOBODY:
        holdings.following[previous] = following
    else:
        holdings.first[group] = following
    holdings.sizes[group] -= 1
    if holdings.sizes[group] > 0:
        _shift(holdings, row, group, -1.0 / holdings.sizes[group])


@kernel
def _shift(holdings: Holdings, row: Number, group: Number, share: float) -> None:
    """Move the average of a group towards a record, or away from it."""
    for c in range(holdings.centres.shape[1]):
        holdings.centres[group, c] += share * (holdings.x[row, c] - holdings.centres[group, c])
