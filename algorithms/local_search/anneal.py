"""Simulated annealing: accepts rounds of ruin and recreate that gain, or lose little."""

import numpy as np

from algorithms.jit import kernel
from algorithms.local_search.groups import (
    FREE,
    RUINED,
    TOGETHER,
    TOUCHED,
    UNITS,
    Groups,
    K,
    Number,
    begin,
    change,
    close,
    draw,
    enqueue,
)
from algorithms.local_search.moves import descend
from algorithms.local_search.rebuild import most_groups, recreate, ruin

ALONE, FEWER, BLINK = 0.05, 0.15, 0.1
"""Probabilities that one group alone is dissolved, that one group fewer is formed than could be,
and that a record is overlooked."""


@kernel
def anneal(groups: Groups, rounds: int, temperature: float) -> None:
    """Do some rounds; one that loses more is kept with probability exp(-loss / temperature)."""
    for _ in range(rounds):
        begin(groups)
        _ruin_some(groups)
        wanted = groups.counts[FREE] // groups.facts[K]
        if groups.facts[UNITS]:
            more = groups.counts[RUINED] + np.int64(2.0 * draw(groups))
            wanted = min(most_groups(groups), more)
        if groups.counts[RUINED] == 1 or draw(groups) < FEWER:
            wanted -= 1
        keep = _recreated(groups, wanted, BLINK)
        if keep:
            keep = change(groups) <= -temperature * np.log(1.0 - draw(groups))
        close(groups, keep)


@kernel
def dissolve_everywhere(groups: Groups) -> None:
    """Dissolve each group with a loss above the average, where its records fit better elsewhere.

    The other groups are many and could save little.
    """
    average = groups.costs.sum() / np.count_nonzero(groups.sizes)
    for group in range(groups.sizes.size):
        if groups.sizes[group] > 0 and groups.costs[group] > average:
            begin(groups)
            ruin(groups, group)
            keep = _recreated(groups, np.int64(0), 0.0)
            if keep:
                keep = change(groups) < 0.0
            close(groups, keep)


@kernel
def _ruin_some(groups: Groups) -> None:
    """Dissolve the group of a random record, and some groups around it."""
    row = np.int64(draw(groups) * groups.labels.size)
    wanted = 1 if draw(groups) < ALONE else 2 + int(draw(groups) * (TOGETHER - 1))
    ruin(groups, groups.labels[row])
    for _ in range(3 * TOGETHER):
        if groups.counts[RUINED] >= wanted:
            break
        row = groups.free[int(draw(groups) * groups.counts[FREE])]
        other = groups.near[row, int(draw(groups) * groups.near.shape[1])]
        if groups.sizes[groups.labels[other]] > 0:
            ruin(groups, groups.labels[other])


@kernel
def _recreated(groups: Groups, wanted: Number, blink: float) -> bool:
    """Group free records again and make moves with them; return whether that was possible."""
    if not recreate(groups, wanted, blink):
        return False
    for entry in range(groups.counts[TOUCHED]):
        group = groups.touched[entry]
        for i in range(groups.sizes[group]):
            enqueue(groups, groups.members[group, i])
    descend(groups)
    return True
