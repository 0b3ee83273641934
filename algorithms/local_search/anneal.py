"""Annealing: ruin and recreate round after round, keeping what loses little more at first."""

import numpy as np

from algorithms._jit import kernel
from algorithms.local_search.groups import (
    K,
    Groups,
    begin,
    change,
    close,
    draw,
    enqueue,
)
from algorithms.local_search.moves import descend
from algorithms.local_search.rebuild import BLINK, recreate, ruin
from algorithms.types import Labels

RUINED = 4
"""Groups dissolved in one round, at the most."""


@kernel
def anneal(groups: Groups, rounds: int, temperature: float) -> None:
    """Do some rounds at one temperature.

    A round that loses more is kept with the probability exp(-loss / temperature), in units of what
    an average group that takes part in it loses.
    """
    k = groups.facts[K]
    pool = np.empty(RUINED * (2 * k - 1), dtype=np.int64)
    numbers = np.empty(pool.size // k + 1, dtype=np.int64)
    for _ in range(rounds):
        begin(groups)
        held, count = _ruin_some(groups, numbers, pool)
        wanted = held // k
        if count == 1 or draw(groups) < 0.1:
            wanted -= 1
        local = groups.before[0] / count
        keep = _recreated(groups, numbers, count, pool, held, wanted, BLINK)
        if keep:
            keep = change(groups) <= -temperature * local * np.log(1.0 - draw(groups))
        close(groups, keep)


@kernel
def dissolve_everywhere(groups: Groups) -> None:
    """Dissolve each group whose records had better join others."""
    pool = np.empty(groups.members.shape[1], dtype=np.int64)
    numbers = np.empty(1, dtype=np.int64)
    for group in range(groups.sizes.size):
        if groups.sizes[group] > 0:
            begin(groups)
            held = ruin(groups, group, numbers, 0, pool, 0)
            could = _recreated(groups, numbers, 1, pool, held, 0, 0.0)
            close(groups, could and change(groups) < 0.0)


@kernel
def _recreated(
    groups: Groups, numbers: Labels, count: int, pool: Labels, held: int, wanted: int, blink: float
) -> bool:
    """Group the records of the pool anew, and make moves with them; tell whether it could."""
    rows = pool[:held].copy()
    if not recreate(groups, numbers, count, pool, held, wanted, blink):
        return False
    for row in rows:
        enqueue(groups, row)
    descend(groups)
    return True


@kernel
def _ruin_some(groups: Groups, numbers: Labels, pool: Labels) -> tuple[int, int]:
    """Dissolve the group of any record, and some around it; count records and groups."""
    row = int(draw(groups) * groups.labels.size)
    wanted = 1 + int(draw(groups) * (RUINED - 1) + 0.9)
    held = ruin(groups, groups.labels[row], numbers, 0, pool, 0)
    count = 1
    for _ in range(3 * RUINED):
        if count >= wanted:
            break
        row = pool[int(draw(groups) * held)]
        other = groups.near[row, int(draw(groups) * groups.near.shape[1])]
        group = groups.labels[other]
        if groups.sizes[group] > 0:
            held = ruin(groups, group, numbers, count, pool, held)
            count += 1
    return held, count
