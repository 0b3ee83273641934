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

RUINED = 6
"""Groups dissolved in one round, at the most."""

ALONE = 0.05
FEWER = 0.15
"""How often one group alone is dissolved, and how often one group less is formed than could be."""


@kernel
def anneal(groups: Groups, rounds: int, temperature: float) -> None:
    """Do some rounds; one that loses more is kept with the probability exp(-loss / temperature)."""
    k = groups.facts[K]
    pool = np.empty(RUINED * (2 * k - 1), dtype=np.int64)
    numbers = np.empty(pool.size // k + 1, dtype=np.int64)
    for _ in range(rounds):
        begin(groups)
        held, count = _ruin_some(groups, numbers, pool)
        wanted = held // k
        if count == 1 or draw(groups) < FEWER:
            wanted -= 1
        keep = _recreated(groups, numbers, count, pool, held, wanted, BLINK)
        if keep:
            keep = change(groups) <= -temperature * np.log(1.0 - draw(groups))
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
    wanted = 1 if draw(groups) < ALONE else 2 + int(draw(groups) * (RUINED - 1))
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
