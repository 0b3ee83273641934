"""Random moves between groups, of which those that cost little are kept as well."""

import math

from algorithms.jit import kernel, part
from algorithms.random_numbers import draw_from
from algorithms.series.moves import (
    copy_members,
    copy_without,
    most_gained,
    swap_squares,
    tried,
)
from algorithms.series.state import MOST, K, State, distance, is_large_enough, move, refresh

BY_COVERER, RELOCATED = 0.1, 0.5
"""Share of moves towards a coverer rather than a near record, and of moves that are no swaps."""


@kernel
def anneal(state: State, steps: int, temperature: float) -> None:
    """Try random moves; one that costs more is kept with probability exp(-cost / temperature)."""
    for _ in range(steps):
        row = int(draw_from(state.random) * state.labels.size)
        other = _drawn_near(state, row)
        tolerated = -temperature * math.log(1.0 - draw_from(state.random))
        relocating = draw_from(state.random) < RELOCATED
        if state.labels[other] != state.labels[row] and state.blocks[other] == state.blocks[row]:
            if relocating:
                _relocate(state, row, state.labels[other], tolerated)
            else:
                group = state.labels[other]
                place = int(draw_from(state.random) * state.sizes[group])
                _swap(state, row, state.members[group, place], tolerated)


@part
def _drawn_near(state: State, row: int) -> int:
    """Draw a near record, the nearer the likelier, or a coverer."""
    first, after = state.starts[row], state.starts[row + 1]
    if after > first and draw_from(state.random) < BY_COVERER:
        coverer: int = state.coverers[first + int(draw_from(state.random) * (after - first))]
        return coverer
    rank = draw_from(state.random) * draw_from(state.random)
    near: int = state.near[row, int(rank * state.near.shape[1])]
    return near


@part
def _relocate(state: State, row: int, group: int, tolerated: float) -> None:
    here = state.labels[row]
    size, left = state.sizes[group], state.sizes[here] - 1
    if size >= state.counts[MOST] or left < state.counts[K]:
        return
    change = distance(state, row, group) * size / (size + 1)
    change -= distance(state, row, here) * state.sizes[here] / left
    change -= most_gained(state, here, group)
    if change > tolerated:
        return
    copy_without(state, here, row, state.one)
    copy_members(state, group, state.two, 0)
    state.two[size] = row
    if _is_accepted(state, left, size + 1, change, tolerated):
        move(state, row, group)
        refresh(state, here)
        refresh(state, group)


@part
def _swap(state: State, row: int, other: int, tolerated: float) -> None:
    here, group = state.labels[row], state.labels[other]
    change = swap_squares(state, row, other) - most_gained(state, here, group)
    if change > tolerated:
        return
    left = copy_without(state, here, row, state.one)
    state.one[left] = other
    size = copy_without(state, group, other, state.two)
    state.two[size] = row
    if _is_accepted(state, left + 1, size + 1, change, tolerated):
        move(state, row, group)
        move(state, other, here)
        refresh(state, here)
        refresh(state, group)


@part
def _is_accepted(state: State, one: int, two: int, change: float, tolerated: float) -> bool:
    """Check whether the groups that are being tried are large enough and cost little enough."""
    if not is_large_enough(state, state.one, one) or not is_large_enough(state, state.two, two):
        return False
    change += tried(state, state.one, one)
    return bool(change <= tolerated and change + tried(state, state.two, two) <= tolerated)
