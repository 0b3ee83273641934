"""Single moves: a record goes to another group, or two records exchange their groups.

The change of the loss follows from the averages in one pass over the columns. With m members and
the average c, a group that x joins loses m / (m + 1) |x - c|² more, one that x leaves m / (m - 1)
|x - c|² less, and one where y takes the place of x loses |y - c|² - |x - c|² - |y - x|² / m more.
"""

import numpy as np

from algorithms.cutting import off_grid
from algorithms.jit import kernel
from algorithms.local_search.groups import (
    JOURNAL,
    ROUNDED,
    SOUGHT,
    TOUCHED,
    UNITS,
    WAITING,
    Groups,
    K,
    Number,
    begin,
    close,
    dequeue,
    enqueue,
    has_room,
    held,
    join,
    keeps_units,
    leave,
    recompute,
    squared,
    touch,
)
from algorithms.local_search.rebuild import divide

TOLERANCE = 1e-9
NOTHING = 1e-15
"""A move must save this share of the loss of both groups plus this: less could be rounding."""

NOBODY = np.int64(-1)


@kernel
def best_move(groups: Groups, row: int) -> tuple[float, Number, Number]:
    """Find the move of a record that saves most: its change of the loss, its group, its partner.

    Groups are those of its nearest records. A move without an exchange has the partner ``NOBODY``;
    if no move saves anything, the group is its own.
    """
    k, counted = groups.facts[K], groups.facts[UNITS]
    home, unit = groups.labels[row], groups.units[row]
    size = groups.sizes[home]
    own = groups.away[row]
    may_leave = size > k
    if counted:
        may_leave = groups.distinct[home] > k or groups.copies[row] > 1
        _count_at_home(groups, home, 1)
    best, target, partner = 0.0, home, NOBODY
    groups.counts[SOUGHT] += 1
    groups.seen[home] = groups.counts[SOUGHT]
    for place in range(groups.near.shape[1]):
        group = groups.labels[groups.near[row, place]]
        if groups.seen[group] == groups.counts[SOUGHT]:
            continue
        groups.seen[group] = groups.counts[SOUGHT]
        there = groups.sizes[group]
        to = squared(groups.x, row, groups.centres, group)
        least = NOTHING + TOLERANCE * (groups.costs[home] + groups.costs[group])
        slack = groups.rounding[home] + groups.rounding[group]
        # rounding can make a division lose more than the move before it has saved
        may_join = there < 2 * k - 1 or not groups.facts[ROUNDED]
        present = 0
        if counted:
            present = held(groups.members, group, there, groups.units, unit)
            capacity, spread = groups.members.shape[1], groups.spread[group]
            may_join = has_room(there, capacity, spread, present, k)
        if may_leave and may_join:
            saved = there / (there + 1) * to - size / (size - 1) * own
            if saved - slack < best:
                if groups.facts[ROUNDED]:
                    saved += (
                        _rounding(groups, home, row, -1.0, row, 0.0)
                        + _rounding(groups, group, row, 1.0, row, 0.0)
                        - slack
                    )
                if saved < min(best, -least):
                    best, target, partner = saved, group, NOBODY
        share = 1.0 / size + 1.0 / there
        base = to - own
        reach = np.sqrt(to)
        apart = np.sqrt(squared(groups.centres, home, groups.centres, group))
        for i in range(there):
            other = groups.members[group, i]
            theirs_unit = groups.units[other]
            if (
                counted
                and theirs_unit != unit
                and not (
                    keeps_units(
                        groups.distinct[home],
                        groups.spread[home],
                        groups.copies[row],
                        groups.at_home[theirs_unit],
                        k,
                    )
                    and keeps_units(
                        groups.distinct[group],
                        groups.spread[group],
                        groups.copies[other],
                        present,
                        k,
                    )
                )
            ):
                continue
            theirs = groups.away[other]
            root = np.sqrt(theirs)
            # the triangle inequality bounds the distance between two records by the averages
            across = max(apart - root, 0.0)
            if base - theirs + across * across - share * (reach + root) ** 2 - slack >= best:
                continue
            saved = (
                base
                - theirs
                + squared(groups.x, other, groups.centres, home)
                - share * squared(groups.x, other, groups.x, row)
            )
            if saved - slack < best:
                if groups.facts[ROUNDED]:
                    saved += (
                        _rounding(groups, home, row, -1.0, other, 1.0)
                        + _rounding(groups, group, row, 1.0, other, -1.0)
                        - slack
                    )
                if saved < min(best, -least):
                    best, target, partner = saved, group, other
    if counted:
        _count_at_home(groups, home, -1)
    return best, target, partner


@kernel
def _count_at_home(groups: Groups, home: Number, step: int) -> None:
    """Count the records of each unit in a group, or take them off again."""
    for i in range(groups.sizes[home]):
        groups.at_home[groups.units[groups.members[home, i]]] += step


@kernel
def _rounding(
    groups: Groups, group: int, row: int, sign: float, other: int, other_sign: float
) -> float:
    """Measure the loss by rounding in a group after records joined (1) or left it (-1)."""
    size = groups.sizes[group]
    after = size + sign + other_sign
    total: float = 0.0
    for c in range(groups.step.size):
        if groups.step[c] > 0.0:
            shift = sign * groups.x[row, c] + other_sign * groups.x[other, c]
            centre = (size * groups.centres[group, c] + shift) / after
            total += off_grid(centre - groups.origin[c], groups.step[c])
    lost: float = after * total
    return lost


@kernel
def move(groups: Groups, row: int, group: Number, partner: Number) -> None:
    """Make a move; a group that has grown to ``2k`` records is divided in two.

    Where units count, no group grows so far that it could be divided.
    """
    home = groups.labels[row]
    touch(groups, home)
    touch(groups, group)
    leave(groups, row)
    if partner != NOBODY:
        leave(groups, partner)
        join(groups, partner, home)
    join(groups, row, group)
    recompute(groups, home)
    recompute(groups, group)
    other = group
    if groups.sizes[group] == 2 * groups.facts[K] and not groups.facts[UNITS]:
        other = divide(groups, group)
    for changed in (home, group, other):
        for i in range(groups.sizes[changed]):
            enqueue(groups, groups.members[changed, i])


@kernel
def descend(groups: Groups) -> None:
    """Make the best move of each record in the queue until it is empty or the journal is full."""
    while groups.counts[WAITING] > 0:
        row = dequeue(groups)
        if groups.counts[TOUCHED] > JOURNAL - 4:
            continue
        _, group, partner = best_move(groups, row)
        if group != groups.labels[row]:
            move(groups, row, group, partner)


@kernel
def descend_everywhere(groups: Groups) -> None:
    """Make the best move of each record until no record has one, each in a round of its own."""
    for row in range(groups.labels.size):
        enqueue(groups, row)
    while groups.counts[WAITING] > 0:
        row = dequeue(groups)
        _, group, partner = best_move(groups, row)
        if group != groups.labels[row]:
            begin(groups)
            move(groups, row, group, partner)
            close(groups, True)
