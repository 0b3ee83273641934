"""Ruin and recreate: groups near each other are dissolved, and their records grouped anew."""

import numpy as np

from algorithms._jit import kernel
from algorithms.local_search.groups import (
    JOURNAL,
    K,
    TOUCHED,
    Groups,
    draw,
    fresh,
    join,
    settle,
    squared,
    touch,
)
from algorithms.types import Labels

BLINK = 0.1
"""Share of the records that are overlooked when a group takes the nearest."""


@kernel
def ruin(groups: Groups, group: int, numbers: Labels, count: int, pool: Labels, held: int) -> int:
    """Dissolve a group: its number is free, its records are in the pool."""
    touch(groups, group)
    for i in range(groups.sizes[group]):
        pool[held + i] = groups.members[group, i]
    held += groups.sizes[group]
    groups.sizes[group] = 0
    groups.costs[group] = 0.0
    groups.rounding[group] = 0.0
    numbers[count] = group
    return held


@kernel
def recreate(
    groups: Groups, numbers: Labels, count: int, pool: Labels, held: int, wanted: int, blink: float
) -> bool:
    """Form ``wanted`` groups of ``k`` from the pool, the rest joins groups; tell whether it could.

    Numbers are those of the groups that were dissolved, and fresh ones if those do not suffice.
    """
    k = groups.facts[K]
    for formed in range(wanted):
        if formed == count:
            numbers[count] = fresh(groups)
            count += 1
        group = numbers[formed]
        if blink > 0.0 and draw(groups) < 0.5:
            seed = int(draw(groups) * held)
        else:
            seed = _outermost(groups, pool, held, group)
        held = _take(groups, pool, held, seed, group)
        for c in range(groups.centres.shape[1]):
            groups.centres[group, c] = groups.x[groups.members[group, 0], c]
        for size in range(1, k):
            best, least = 0, np.inf
            for i in range(held):
                if blink > 0.0 and draw(groups) < blink:
                    continue
                away = squared(groups.x, pool[i], groups.centres, group)
                if away < least:
                    best, least = i, away
            row = pool[best]
            held = _take(groups, pool, held, best, group)
            for c in range(groups.centres.shape[1]):
                difference = groups.x[row, c] - groups.centres[group, c]
                groups.centres[group, c] += difference / (size + 1)
        settle(groups, group)
    for i in range(held):
        if not _insert(groups, pool[i], numbers, wanted):
            return False
    return True


@kernel
def _outermost(groups: Groups, pool: Labels, held: int, group: int) -> int:
    """Find the record in the pool that is farthest from their average."""
    for c in range(groups.centres.shape[1]):
        total = 0.0
        for i in range(held):
            total += groups.x[pool[i], c]
        groups.centres[group, c] = total / held
    best, most = 0, -1.0
    for i in range(held):
        away = squared(groups.x, pool[i], groups.centres, group)
        if away > most:
            best, most = i, away
    return best


@kernel
def _take(groups: Groups, pool: Labels, held: int, place: int, group: int) -> int:
    join(groups, pool[place], group)
    pool[place] = pool[held - 1]
    return held - 1


@kernel
def _insert(groups: Groups, row: int, numbers: Labels, formed: int) -> bool:
    """Let a record join the group that loses least by it: one just formed, or one nearby."""
    largest = 2 * groups.facts[K] - 1
    best, least = -1, np.inf
    for i in range(formed + groups.near.shape[1]):
        group = numbers[i] if i < formed else groups.labels[groups.near[row, i - formed]]
        size = groups.sizes[group]
        if 0 < size < largest:
            lost = size / (size + 1) * squared(groups.x, row, groups.centres, group)
            if lost < least:
                best, least = group, lost
    if best < 0 or groups.counts[TOUCHED] == JOURNAL:
        return False
    touch(groups, best)
    join(groups, row, best)
    settle(groups, best)
    return True


@kernel
def divide(groups: Groups, group: int) -> int:
    """Divide a group of ``2k`` records in two; return the number of the other half."""
    pool = np.empty(groups.members.shape[1], dtype=np.int64)
    numbers = np.empty(2, dtype=np.int64)
    held = ruin(groups, group, numbers, 0, pool, 0)
    recreate(groups, numbers, 1, pool, held, 2, 0.0)
    return numbers[1]
