"""Groups that change: their members, averages and losses, and a journal to undo changes.

A journal holds the groups that a round changes, as they were before; if the round does not pay, it
puts them back. The average and the loss of a group are recomputed from its members whenever these
change, so that no rounding error outlives a move.
"""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from algorithms.cutting import off_grid
from algorithms.jit import kernel
from algorithms.random_numbers import draw_from, seeded
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Mask, Matrix

JOURNAL = 64
"""Most groups that may change in one round."""

TOGETHER = 6
"""Most groups that are dissolved in one round."""

ROUND, TOUCHED, SPARE, RUINED, FREE, FIRST, WAITING, SOUGHT, RANDOM = range(9)
"""Places of ``Groups.counts``; the state of the random numbers fills two."""

K, ROUNDED, UNITS = range(3)
"""Places of ``Groups.facts``."""

CAPACITY = 64
"""Records for which a group has room where units count, or ``8k`` or eight times the average of
the smallest groups possible, whichever is most."""

Number = int | np.int64
"""The number of a group; typed as in an array, since a kernel is compiled for each type it gets."""


class Groups(NamedTuple):
    """A partition that is being improved, with room for ``n // k`` groups of up to ``2k`` records.

    Where units count, a group with records of fewer than ``2k`` units may have to be larger. Its
    spread counts at most two records of each unit: two groups can be formed of it if and only if
    that makes ``2k``.

    Attributes
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    near : Labels of shape (n, neighbours)
        The nearest other records of each, the nearest first.
    facts : Labels of shape (3,)
        The smallest group allowed, whether averages will be rounded, and whether units count.
    origin, step : Matrix of shape (d,)
        The values that can be published, as in a ``Grid``.
    labels, places : Labels of shape (n,)
        The group of each record, and where it stands among its members.
    away : Matrix of shape (n,)
        Squared distance of each record from the average of its group.
    members, sizes : Labels of shape (groups, capacity) and (groups,)
        The records of each group, and how many there are; 0 where a number is not used.
    centres : Matrix of shape (groups, d)
        Averages.
    costs, rounding : Matrix of shape (groups,)
        The loss of each group when it is published, and the part of it due to rounding.
    spare : Labels of shape (groups,)
        Numbers that are not used.
    marks, seen : Labels of shape (groups,)
        The last round in which each group changed, and the last search that met it.
    touched, kept_sizes, kept : Labels of shape (JOURNAL,), (JOURNAL,) and (JOURNAL, capacity)
        The groups that changed in this round, and their members before it.
    before : Matrix of shape (1,)
        Their loss before this round.
    ruined, free : Labels of shape (JOURNAL,) and (capacity TOGETHER,)
        Numbers of groups that are dissolved, and their records.
    queue, queued : Labels and Mask of shape (n,)
        Records for which a move is still to be sought.
    units, copies : Labels of shape (n,)
        The unit of each record, and how many records of it its group holds.
    distinct, spread : Labels of shape (groups,)
        The number of units in each group, and of records, at most two of each unit.
    tally, at_home : Labels of shape (units,)
        Room to count records of units; the records of each unit in the group whose record seeks a
        move, and 0 between searches.
    counts : Labels of shape (10,)
        Number of the round; groups touched, numbers spare, groups dissolved and records of theirs;
        the queue's first place and its length; searches for a move; the state of the random
        numbers.
    """

    x: Matrix
    near: Labels
    facts: Labels
    origin: Matrix
    step: Matrix
    labels: Labels
    places: Labels
    away: Matrix
    members: Labels
    sizes: Labels
    centres: Matrix
    costs: Matrix
    rounding: Matrix
    spare: Labels
    marks: Labels
    seen: Labels
    touched: Labels
    kept_sizes: Labels
    kept: Labels
    before: Matrix
    ruined: Labels
    free: Labels
    queue: Labels
    queued: Mask
    units: Labels
    copies: Labels
    distinct: Labels
    spread: Labels
    tally: Labels
    at_home: Labels
    counts: Labels


def groups_of(
    x: Matrix,
    near: Labels,
    labels: Labels,
    k: int,
    grid: Grid | None,
    seed: int,
    units: Labels | None = None,
) -> Groups:
    """Take up a partition into groups of ``k`` to ``2k - 1`` records.

    With units, they hold records of at least ``k`` units, and no more records than
    `most_and_largest` allows.
    """
    n, d = x.shape
    most, largest = (n // k, 2 * k) if units is None else most_and_largest(units, k)
    room = most + 1  # the number of a group that was dissolved is not spare before the round ends
    tokens = np.zeros(n, dtype=np.int64) if units is None else np.unique_inverse(units)[1]
    origin = np.zeros(d) if grid is None else grid.origin
    step = np.zeros(d) if grid is None else grid.step
    counts = np.zeros(10, dtype=np.int64)
    counts[RANDOM:] = seeded(seed)
    groups = Groups(
        x=np.ascontiguousarray(x),
        near=near,
        facts=np.array([k, step.any(), units is not None], dtype=np.int64),
        origin=origin,
        step=step,
        labels=labels.copy(),
        places=np.zeros(n, dtype=np.int64),
        away=np.zeros(n),
        members=np.zeros((room, largest), dtype=np.int64),
        sizes=np.zeros(room, dtype=np.int64),
        centres=np.zeros((room, d)),
        costs=np.zeros(room),
        rounding=np.zeros(room),
        spare=np.zeros(room, dtype=np.int64),
        marks=np.zeros(room, dtype=np.int64),
        seen=np.zeros(room, dtype=np.int64),
        touched=np.zeros(JOURNAL, dtype=np.int64),
        kept_sizes=np.zeros(JOURNAL, dtype=np.int64),
        kept=np.zeros((JOURNAL, largest), dtype=np.int64),
        before=np.zeros(1),
        ruined=np.zeros(JOURNAL, dtype=np.int64),
        free=np.zeros(largest * TOGETHER, dtype=np.int64),
        queue=np.zeros(n, dtype=np.int64),
        queued=np.zeros(n, dtype=np.bool_),
        units=tokens,
        copies=np.zeros(n, dtype=np.int64),
        distinct=np.zeros(room, dtype=np.int64),
        spread=np.zeros(room, dtype=np.int64),
        tally=np.zeros(tokens.max() + 1, dtype=np.int64),
        at_home=np.zeros(tokens.max() + 1, dtype=np.int64),
        counts=counts,
    )
    fill(groups)
    return groups


def most_and_largest(units: Labels, k: int) -> tuple[int, int]:
    """Count the groups that units allow at most, and the records that a group has room for.

    Each of ``g`` groups of ``k`` units takes one record at most of each: ``g`` groups can be formed
    if and only if the units have ``g k`` records, counting at most ``g`` of each.

    Examples
    --------
    >>> most_and_largest(np.array([1, 1, 1, 1, 2, 3]), k=2)
    (2, 64)
    """
    records = np.unique_counts(units)[1]

    def lacking(groups: int) -> int:
        return groups * k - int(np.minimum(records, groups).sum())

    most = bisect_right(range(1, units.size // k + 1), 0, key=lacking)
    return most, max(CAPACITY, 8 * k, 8 * units.size // most)


@kernel
def fill(groups: Groups) -> None:
    """List the members of all groups, from the labels."""
    for i in range(groups.labels.size):
        join(groups, i, groups.labels[i])
    for group in range(groups.sizes.size):
        if groups.sizes[group] == 0:
            groups.spare[groups.counts[SPARE]] = group
            groups.counts[SPARE] += 1
        else:
            recompute(groups, group)


@kernel
def squared(a: Matrix, i: int, b: Matrix, j: Number) -> float:
    """Measure the squared distance between a row of one matrix and a row of another."""
    total = 0.0
    for c in range(a.shape[1]):
        difference = a[i, c] - b[j, c]
        total += difference * difference
    return total


@kernel
def recompute(groups: Groups, group: Number) -> None:
    """Compute the average of a group, and its loss."""
    size = groups.sizes[group]
    members, centres = groups.members, groups.centres
    for c in range(centres.shape[1]):
        total = 0.0
        for i in range(size):
            total += groups.x[members[group, i], c]
        centres[group, c] = total / size
    cost = 0.0
    for i in range(size):
        row = members[group, i]
        groups.away[row] = squared(groups.x, row, centres, group)
        cost += groups.away[row]
    rounding = 0.0
    if groups.facts[ROUNDED]:
        for c in range(centres.shape[1]):
            if groups.step[c] > 0.0:
                rounding += off_grid(centres[group, c] - groups.origin[c], groups.step[c])
    groups.rounding[group] = size * rounding
    groups.costs[group] = cost + size * rounding
    if groups.facts[UNITS]:
        _count_units(groups, group)


@kernel
def _count_units(groups: Groups, group: Number) -> None:
    """Count the units of a group, and the records of each."""
    members, tally, units = groups.members[group], groups.tally, groups.units
    for i in range(groups.sizes[group]):
        tally[units[members[i]]] = 0
    distinct = spread = 0
    for i in range(groups.sizes[group]):
        count = tally[units[members[i]]] + 1
        tally[units[members[i]]] = count
        distinct += count == 1
        spread += count <= 2
    for i in range(groups.sizes[group]):
        groups.copies[members[i]] = tally[units[members[i]]]
    groups.distinct[group] = distinct
    groups.spread[group] = spread


@kernel
def held(members: Labels, group: Number, size: int, units: Labels, unit: int) -> int:
    """Count the records of a unit in a group."""
    count = 0
    for i in range(size):
        count += units[members[group, i]] == unit
    return count


@kernel
def has_room(size: int, capacity: int, spread: int, present: int, k: int) -> bool:
    """Tell whether a group may take a record of a unit of which some are ``present``.

    A group that could be divided does not grow, nor does one become so. Arguments are numbers,
    here and in `keeps_units`, since passing all groups on would take longer than the answer.
    """
    return size < capacity and (present >= 2 or spread < 2 * k - 1)


@kernel
def keeps_units(distinct: int, spread: int, copies: int, present: int, k: int) -> bool:
    """Tell whether a group may give a record for one of another unit.

    It holds ``copies`` records of the first unit, and of the other some are ``present``. It must
    keep ``k`` units, and must not become one that could be divided.
    """
    gained = int(present < 2) - int(copies <= 2)
    return distinct - (copies == 1) + (present == 0) >= k and (
        gained <= 0 or spread + gained < 2 * k
    )


@kernel
def join(groups: Groups, row: Number, group: Number) -> None:
    """Add a record to a group, without computing its average."""
    place = groups.sizes[group]
    groups.members[group, place] = row
    groups.places[row] = place
    groups.labels[row] = group
    groups.sizes[group] = place + 1


@kernel
def leave(groups: Groups, row: Number) -> None:
    """Take a record out of its group, without computing the average of that group."""
    group, place = groups.labels[row], groups.places[row]
    last = groups.members[group, groups.sizes[group] - 1]
    groups.members[group, place] = last
    groups.places[last] = place
    groups.sizes[group] -= 1


@kernel
def begin(groups: Groups) -> None:
    """Open the journal for a round."""
    groups.counts[ROUND] += 1
    groups.counts[TOUCHED] = 0
    groups.counts[RUINED] = 0
    groups.counts[FREE] = 0
    groups.before[0] = 0.0


@kernel
def touch(groups: Groups, group: Number) -> None:
    """Enter a group in the journal before it changes."""
    if groups.marks[group] == groups.counts[ROUND]:
        return
    groups.marks[group] = groups.counts[ROUND]
    entry = groups.counts[TOUCHED]
    groups.touched[entry] = group
    groups.kept_sizes[entry] = groups.sizes[group]
    for i in range(groups.sizes[group]):
        groups.kept[entry, i] = groups.members[group, i]
    groups.before[0] += groups.costs[group]
    groups.counts[TOUCHED] = entry + 1


@kernel
def fresh(groups: Groups) -> int:
    """Take a number that is not used."""
    groups.counts[SPARE] -= 1
    group: int = groups.spare[groups.counts[SPARE]]
    touch(groups, group)
    return group


@kernel
def change(groups: Groups) -> float:
    """Measure the change of the loss in this round."""
    lost: float = -groups.before[0]
    for entry in range(groups.counts[TOUCHED]):
        lost += groups.costs[groups.touched[entry]]
    return lost


@kernel
def close(groups: Groups, keep: bool) -> None:
    """End a round: keep its changes, or put all groups back as they were."""
    for entry in range(groups.counts[TOUCHED]):
        group = groups.touched[entry]
        if not keep:
            groups.sizes[group] = 0
            for i in range(groups.kept_sizes[entry]):
                join(groups, groups.kept[entry, i], group)
            if groups.sizes[group] > 0:
                recompute(groups, group)
        if groups.sizes[group] == 0:
            groups.costs[group] = 0.0
            groups.spare[groups.counts[SPARE]] = group
            groups.counts[SPARE] += 1


@kernel
def enqueue(groups: Groups, row: int) -> None:
    """Put a record into the queue of those that a move is sought for."""
    if not groups.queued[row]:
        place = groups.counts[FIRST] + groups.counts[WAITING]
        groups.queue[place % groups.queue.size] = row
        groups.queued[row] = True
        groups.counts[WAITING] += 1


@kernel
def dequeue(groups: Groups) -> int:
    """Take the record that has waited longest."""
    row: int = groups.queue[groups.counts[FIRST]]
    groups.queued[row] = False
    groups.counts[FIRST] = (groups.counts[FIRST] + 1) % groups.queue.size
    groups.counts[WAITING] -= 1
    return row


@kernel
def draw(groups: Groups) -> float:
    """Draw a random number from [0, 1)."""
    return draw_from(groups.counts[RANDOM:])
