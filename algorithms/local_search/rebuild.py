"""Ruin and recreate: groups are dissolved, and their records grouped again."""

import numpy as np

from algorithms.jit import kernel
from algorithms.local_search.groups import (
    FREE,
    JOURNAL,
    RUINED,
    TOUCHED,
    Groups,
    K,
    Number,
    draw,
    fresh,
    join,
    recompute,
    squared,
    touch,
)


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
    group.
    """
    count = groups.counts[RUINED]
    for formed in range(wanted):
        if formed >= count:
            groups.ruined[formed] = fresh(groups)
        group = groups.ruined[formed]
        if blink > 0.0 and draw(groups) < 0.5:
            seed = int(draw(groups) * groups.counts[FREE])
        else:
            seed = _outermost(groups, group)
        _grow(groups, group, seed, blink)
    possible = True
    for i in range(groups.counts[FREE]):
        possible = possible and _insert(groups, groups.free[i], wanted)
    return possible


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
def _grow(groups: Groups, group: int, seed: int, blink: float) -> None:
    """Form a group of ``k`` free records around one of them."""
    place = seed
    for size in range(1, groups.facts[K] + 1):
        row = groups.free[place]
        groups.counts[FREE] -= 1
        groups.free[place] = groups.free[groups.counts[FREE]]
        join(groups, row, group)
        for c in range(groups.centres.shape[1]):
            before = groups.centres[group, c] if size > 1 else 0.0
            groups.centres[group, c] = before + (groups.x[row, c] - before) / size
        place, least = 0, np.inf
        for i in range(groups.counts[FREE]):
            if blink > 0.0 and draw(groups) < blink:
                continue
            away = squared(groups.x, groups.free[i], groups.centres, group)
            if away < least:
                place, least = i, away
    recompute(groups, group)


@kernel
def _insert(groups: Groups, row: int, formed: Number) -> bool:
    """Let a record join the group that loses least by it: one just formed, or one nearby."""
    largest = 2 * groups.facts[K] - 1
    best, least = np.int64(-1), np.inf
    for i in range(formed + groups.near.shape[1]):
        group = groups.ruined[i] if i < formed else groups.labels[groups.near[row, i - formed]]
        size = groups.sizes[group]
        if 0 < size < largest:
            lost = size / (size + 1) * squared(groups.x, row, groups.centres, group)
            if lost < least:
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
