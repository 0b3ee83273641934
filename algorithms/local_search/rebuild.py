"""Ruin and recreate: groups are dissolved, and their records grouped again."""

import numpy as np

from algorithms.jit import kernel
from algorithms.local_search.groups import (
    FREE,
    JOURNAL,
    RUINED,
    TOUCHED,
    UNITS,
    Groups,
    K,
    Number,
    draw,
    fresh,
    has_room,
    held,
    join,
    recompute,
    squared,
    touch,
)
from algorithms.types import Labels


@kernel
def ruin(groups: Groups, group: Number) -> None:
    """Dissolve a group: its number and its records are free."""
    touch(groups, group)
    free = groups.counts[FREE]
    for i in range(groups.sizes[group]):
        groups.free[free + i] = groups.members[group, i]
    groups.ruined[groups.counts[RUINED]] = group
    groups.counts[FREE] = free + groups.sizes[group]
    groups.counts[RUINED] += 1
    groups.sizes[group] = 0
    groups.costs[group] = 0.0
    groups.rounding[group] = 0.0


@kernel
def recreate(groups: Groups, wanted: Number, blink: float) -> bool:
    """Form ``wanted`` groups of ``k`` free records; the rest joins groups, if there is room.

    A group forms around a random free record or, as in MDAV, around the one farthest from their
    average, and takes the records nearest to its own average, except for a share ``blink`` that it
    overlooks. With ``blink`` 0 the result is deterministic. Returns whether all records found a
    group. Where units count, a group takes one record of each, and ``wanted`` is at most
    `most_groups`.
    """
    count = groups.counts[RUINED]
    for formed in range(wanted):
        if formed >= count:
            groups.ruined[formed] = fresh(groups)
        group = groups.ruined[formed]
        left = wanted - formed
        optional = _optional(groups, left) if groups.facts[UNITS] else groups.facts[K]
        if blink > 0.0 and draw(groups) < 0.5:
            seed = int(draw(groups) * groups.counts[FREE])
        else:
            seed = _outermost(groups, group)
        _grow(groups, group, seed, blink, left, optional)
    possible = True
    for i in range(groups.counts[FREE]):
        possible = possible and _insert(groups, groups.free[i], wanted)
    return possible


@kernel
def most_groups(groups: Groups) -> int:
    """Count the groups of ``k`` units that free records allow at most, as `most_and_largest` does.

    A round has numbers for no more than half of its journal.
    """
    k = groups.facts[K]
    owners = _owners(groups)
    records, most = 0, 0
    for count in range(1, min(groups.counts[FREE] // k, JOURNAL // 2) + 1):
        records += owners[count]
        if records < count * k:
            break
        most = count
    return most


@kernel
def _owners(groups: Groups) -> Labels:
    """Count, for each number, the units that own at least so many free records.

    The free records of each unit are left in the tally.
    """
    owners = np.zeros(groups.counts[FREE] + 1, dtype=np.int64)
    for i in range(groups.counts[FREE]):
        groups.tally[groups.units[groups.free[i]]] = 0
    for i in range(groups.counts[FREE]):
        unit = groups.units[groups.free[i]]
        groups.tally[unit] += 1
        owners[groups.tally[unit]] += 1
    return owners


@kernel
def _optional(groups: Groups, left: Number) -> int:
    """Count the records that a group may take of units with fewer free records than groups left.

    A unit that owns a record for each of the ``left`` groups loses nothing by giving one now; any
    other gives one that a later group might need. All groups together need ``k`` records each,
    counting as many of a unit as there are groups: what is beyond that need not be saved. There are
    none only if no such record is free, so that a group may form around any record.
    """
    k = groups.facts[K]
    owners = _owners(groups)
    beyond = owners[1 : left + 1].sum() - left * k
    optional: int = k - max(owners[left] - beyond, 0)
    return optional


@kernel
def _may_take(free: int, left: Number, optional: Number) -> bool:
    """Tell whether the group that is being formed may take a record of a unit.

    The unit owns ``free`` records; none counts if the group holds one already.
    """
    return bool(free >= left or (free > 0 and optional > 0))


@kernel
def _outermost(groups: Groups, group: int) -> int:
    """Find the free record farthest from the average of all free records."""
    free = groups.counts[FREE]
    for c in range(groups.centres.shape[1]):
        total = 0.0
        for i in range(free):
            total += groups.x[groups.free[i], c]
        groups.centres[group, c] = total / free
    best, most = 0, -1.0
    for i in range(free):
        away = squared(groups.x, groups.free[i], groups.centres, group)
        if away > most:
            best, most = i, away
    return best


@kernel
def _grow(
    groups: Groups, group: int, seed: int, blink: float, left: Number, optional: Number
) -> None:
    """Form a group of ``k`` free records around one of them."""
    place = seed
    for size in range(1, groups.facts[K] + 1):
        row = groups.free[place]
        groups.counts[FREE] -= 1
        groups.free[place] = groups.free[groups.counts[FREE]]
        join(groups, row, group)
        if groups.facts[UNITS]:
            optional -= groups.tally[groups.units[row]] < left
            groups.tally[groups.units[row]] = 0
        for c in range(groups.centres.shape[1]):
            before = groups.centres[group, c] if size > 1 else 0.0
            groups.centres[group, c] = before + (groups.x[row, c] - before) / size
        place, least = -1, np.inf
        for i in range(groups.counts[FREE]):
            if groups.facts[UNITS] and not _may_take(
                groups.tally[groups.units[groups.free[i]]], left, optional
            ):
                continue
            if place < 0:
                place = i  # for the case that all are overlooked
            if blink > 0.0 and draw(groups) < blink:
                continue
            away = squared(groups.x, groups.free[i], groups.centres, group)
            if away < least:
                place, least = i, away
    recompute(groups, group)


@kernel
def _insert(groups: Groups, row: int, formed: Number) -> bool:
    """Let a record join the group that loses least by it: one just formed, or one nearby."""
    largest = groups.members.shape[1] if groups.facts[UNITS] else 2 * groups.facts[K] - 1
    best, least = np.int64(-1), np.inf
    for i in range(formed + groups.near.shape[1]):
        group = groups.ruined[i] if i < formed else groups.labels[groups.near[row, i - formed]]
        size = groups.sizes[group]
        if 0 < size < largest:
            lost = size / (size + 1) * squared(groups.x, row, groups.centres, group)
            if lost < least and (
                not groups.facts[UNITS]
                or has_room(
                    size,
                    largest,
                    groups.spread[group],
                    held(groups.members, group, size, groups.units, groups.units[row]),
                    groups.facts[K],
                )
            ):
                best, least = group, lost
    if best < 0 or groups.counts[TOUCHED] == JOURNAL:
        return False
    touch(groups, best)
    join(groups, row, best)
    recompute(groups, best)
    return True


@kernel
def divide(groups: Groups, group: Number) -> int:
    """Divide a group of ``2k`` records in two; return the number of the other half."""
    groups.counts[RUINED] = 0
    groups.counts[FREE] = 0
    ruin(groups, group)
    recreate(groups, np.int64(2), 0.0)
    other: int = groups.ruined[1]
    return other
