"""Moves between groups that reduce their cost."""

import math

import numpy as np

from algorithms.jit import kernel, part
from algorithms.series.state import (
    FORBIDDEN,
    MOST,
    PRICE,
    SMALLEST_GAIN,
    SPARE,
    VISIT,
    K,
    State,
    distance,
    exposure,
    is_large_enough,
    lone_changes,
    move,
    refresh,
    release,
    squares_of,
)
from algorithms.types import Labels, Matrix

GAIN = 1e-9
"""Least gain for which groups change."""

AXIS_ROUNDS = 6
"""Rounds of the search for the main axis of a group."""

MERGED_BY, COVERERS = 6, 4
"""Nearest records of each member whose groups a group may join, and coverers of a record whose
groups the record may join."""


@kernel
def descend(state: State, passes: int) -> None:
    """Make every kind of move wherever it gains, for some passes or until none does."""
    for _ in range(passes):
        gained = restructure(state)
        for row in range(state.labels.size):
            gained += _relocate(state, row)
        for row in range(state.labels.size):
            gained += _swap(state, row)
        if gained <= state.prices[SMALLEST_GAIN]:
            break


@kernel
def restructure(state: State) -> float:
    """Split and merge groups and form new ones of free records, where that gains."""
    gained = 0.0
    for group in range(state.sizes.size):
        gained += _split(state, group)
    for group in range(state.sizes.size):
        gained += _merge(state, group)
    for row in range(state.labels.size):
        if not state.shown[row] or state.starts[row] == state.starts[row + 1]:
            gained += _carve(state, row)
    return gained


@part
def cost(state: State, group: int) -> float:
    """Give the cost of a group."""
    price = state.prices[PRICE] * state.exposures[group]
    total: float = state.squares[group] + price + FORBIDDEN * state.lone[group]
    return total


@kernel
def tried(state: State, members: Labels, size: int) -> float:
    """Give the cost of a group that is being tried, without its sum of squares."""
    price = state.prices[PRICE] * exposure(state, members, size)
    total: float = price + FORBIDDEN * lone_changes(state, members, size)
    return total


@part
def most_gained(state: State, one: int, two: int) -> float:
    """Give the most that a change of two groups can gain beside the squares."""
    price = state.prices[PRICE] * (state.exposures[one] + state.exposures[two])
    total: float = price + FORBIDDEN * (state.lone[one] + state.lone[two])
    return total


@part
def copy_without(state: State, group: int, row: int, room: Labels) -> int:
    """Copy the members of a group but one; return how many there are."""
    count = 0
    for entry in range(state.sizes[group]):
        if state.members[group, entry] != row:
            room[count] = state.members[group, entry]
            count += 1
    return count


@part
def copy_members(state: State, group: int, room: Labels, first: int) -> int:
    """Copy the members of a group behind those that are there; return how many there are."""
    for entry in range(state.sizes[group]):
        room[first + entry] = state.members[group, entry]
    return first + int(state.sizes[group])


@part
def swap_squares(state: State, row: int, other: int) -> float:
    """Give the change of the sums of squares if two records swap groups."""
    here, there = state.labels[row], state.labels[other]
    inverse = 1.0 / state.sizes[here] + 1.0 / state.sizes[there]
    change = 0.0
    for j in range(state.x.shape[1]):
        step = state.x[other, j] - state.x[row, j]
        apart = state.centres[there, j] - state.centres[here, j]
        change += step * (2.0 * apart - step * inverse)
    return change


@part
def _begin_visits(state: State, group: int) -> None:
    state.counts[VISIT] += 1
    state.visited[group] = state.counts[VISIT]


@part
def _is_first_visit(state: State, group: int) -> bool:
    if state.visited[group] == state.counts[VISIT]:
        return False
    state.visited[group] = state.counts[VISIT]
    return True


@kernel
def _relocate(state: State, row: int) -> float:
    """Move a record to the group where it costs least; return the gain."""
    here = state.labels[row]
    if state.sizes[here] <= state.counts[K]:
        return 0.0
    left = copy_without(state, here, row, state.one)
    if not is_large_enough(state, state.one, left):
        return 0.0
    saved = distance(state, row, here) * state.sizes[here] / left
    remaining = np.inf
    first = state.starts[row]
    others = min(state.starts[row + 1] - first, COVERERS)
    best, target = -GAIN, -1
    _begin_visits(state, here)
    for entry in range(state.near.shape[1] + others):
        if entry < state.near.shape[1]:
            other = state.near[row, entry]
        else:
            other = state.coverers[first + entry - state.near.shape[1]]
        group = state.labels[other]
        size = state.sizes[group]
        if (
            state.blocks[other] != state.blocks[row]
            or size >= state.counts[MOST]
            or not _is_first_visit(state, group)
        ):
            continue
        squares = distance(state, row, group) * size / (size + 1) - saved
        if squares - most_gained(state, here, group) >= best:
            continue
        if remaining == np.inf:
            remaining = tried(state, state.one, left)
        copy_members(state, group, state.two, 0)
        state.two[size] = row
        change = squares + remaining + tried(state, state.two, size + 1)
        change -= most_gained(state, here, group)
        if change < best:
            best, target = change, group
    if target < 0:
        return 0.0
    move(state, row, target)
    refresh(state, here)
    refresh(state, target)
    return -best


@kernel
def _swap(state: State, row: int) -> float:
    """Swap a record with the one in a near group that gains most; return the gain."""
    here = state.labels[row]
    left = copy_without(state, here, row, state.one)
    best, partner = -GAIN, -1
    _begin_visits(state, here)
    for entry in range(state.near.shape[1]):
        group = state.labels[state.near[row, entry]]
        if not _is_first_visit(state, group):
            continue
        for place in range(state.sizes[group]):
            other = state.members[group, place]
            squares = swap_squares(state, row, other)
            if squares >= 0.0 and state.lone[here] + state.lone[group] == 0:
                continue
            if squares - most_gained(state, here, group) >= best:
                continue
            state.one[left] = other
            size = copy_without(state, group, other, state.two)
            state.two[size] = row
            change = squares - most_gained(state, here, group)
            if is_large_enough(state, state.one, left + 1) and is_large_enough(
                state, state.two, size + 1
            ):
                change += tried(state, state.one, left + 1) + tried(state, state.two, size + 1)
                if change < best:
                    best, partner = change, other
    if partner < 0:
        return 0.0
    there = state.labels[partner]
    move(state, row, there)
    move(state, partner, here)
    refresh(state, here)
    refresh(state, there)
    return -best


@kernel
def _merge(state: State, group: int) -> float:
    """Merge a group with the near one that gains most; return the gain."""
    best, target = -GAIN, -1
    _begin_visits(state, group)
    for entry in range(state.sizes[group]):
        row = state.members[group, entry]
        for place in range(min(MERGED_BY, state.near.shape[1])):
            other = state.labels[state.near[row, place]]
            if not _is_first_visit(state, other):
                continue
            size = state.sizes[group] + state.sizes[other]
            if size > state.counts[MOST]:
                continue
            squares = merge_squares(state, group, other)
            if squares - most_gained(state, group, other) >= best:
                continue
            copy_members(state, other, state.one, copy_members(state, group, state.one, 0))
            change = squares + tried(state, state.one, size) - most_gained(state, group, other)
            if change < best:
                best, target = change, other
    if target < 0:
        return 0.0
    merge(state, group, target)
    return -best


@part
def merge_squares(state: State, one: int, two: int) -> float:
    """Give the change of the sum of squares if two groups are merged."""
    apart = 0.0
    for j in range(state.x.shape[1]):
        step = state.centres[one, j] - state.centres[two, j]
        apart += step * step
    sizes = state.sizes[one] * state.sizes[two] / (state.sizes[one] + state.sizes[two])
    total: float = apart * sizes
    return total


@kernel
def merge(state: State, group: int, other: int) -> None:
    """Move all members of another group to a group."""
    while state.sizes[other] > 0:
        move(state, state.members[other, state.sizes[other] - 1], group)
    refresh(state, group)
    release(state, other)


@kernel
def _split(state: State, group: int) -> float:
    """Cut a group across its main axis where that gains most; return the gain."""
    size = state.sizes[group]
    if size < 2 * state.counts[K]:
        return 0.0
    order = np.argsort(_along_main_axis(state, group), kind="mergesort")
    best, cut = -GAIN, -1
    for below in range(state.counts[K], size - state.counts[K] + 1):
        for entry in range(size):
            row = state.members[group, order[entry]]
            if entry < below:
                state.one[entry] = row
            else:
                state.two[entry - below] = row
        squares = squares_of(state, state.one, below) + squares_of(state, state.two, size - below)
        change = squares - cost(state, group)
        if change < best and (
            is_large_enough(state, state.one, below)
            and is_large_enough(state, state.two, size - below)
        ):
            change += tried(state, state.one, below) + tried(state, state.two, size - below)
            if change < best:
                best, cut = change, below
    if cut < 0:
        return 0.0
    rows = state.members[group, :size].copy()[order[cut:]]
    new = _new_group(state)
    for row in rows:
        move(state, row, new)
    refresh(state, group)
    refresh(state, new)
    return -best


@part
def _new_group(state: State) -> int:
    state.counts[SPARE] -= 1
    number: int = state.spare[state.counts[SPARE]]
    return number


@kernel
def _along_main_axis(state: State, group: int) -> Matrix:
    """Project the members of a group on the direction in which they differ most."""
    size, d = state.sizes[group], state.x.shape[1]
    away = np.empty((size, d))
    farthest, far = 0, -1.0
    for entry in range(size):
        row = state.members[group, entry]
        for j in range(d):
            away[entry, j] = state.x[row, j] - state.centres[group, j]
        square = distance(state, row, group)
        if square > far:
            farthest, far = entry, square
    axis = away[farthest].copy()
    projected = np.zeros(size)
    for _ in range(AXIS_ROUNDS):
        sums = np.zeros(d)
        length = 0.0
        for entry in range(size):
            projected[entry] = 0.0
            for j in range(d):
                projected[entry] += away[entry, j] * axis[j]
            for j in range(d):
                sums[j] += projected[entry] * away[entry, j]
        for j in range(d):
            length += sums[j] * sums[j]
        if length == 0.0:
            break
        for j in range(d):
            axis[j] = sums[j] / math.sqrt(length)
    return projected


@kernel
def _carve(state: State, row: int) -> float:
    """Form a group of a record and the nearest others that are free or muted, if that gains."""
    k = state.counts[K]
    rows, homes = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    found = 0
    for entry in range(-1, state.near.shape[1]):
        other = row if entry < 0 else state.near[row, entry]
        bound = state.shown[other] and state.starts[other] < state.starts[other + 1]
        if (bound and entry >= 0) or (other == row and entry >= 0):
            continue
        rows[found], homes[found] = other, state.labels[other]
        found += 1
        if found == k:
            break
    if found < k:
        return 0.0
    before = 0.0
    _begin_visits(state, homes[0])
    before += cost(state, homes[0])
    for home in homes[1:]:
        if _is_first_visit(state, home):
            before += cost(state, home)
    new = _new_group(state)
    possible = True
    for other in rows:
        home = state.labels[other]
        left = copy_without(state, home, other, state.one)
        possible = possible and is_large_enough(state, state.one, left)
        if possible:
            move(state, other, new)
    possible = possible and is_large_enough(state, state.members[new], state.sizes[new])
    after = np.inf
    if possible:
        refresh(state, new)
        after = cost(state, new)
        _begin_visits(state, new)
        for home in homes:
            if _is_first_visit(state, home):
                refresh(state, home)
                after += cost(state, home)
        if after < before - GAIN:
            return before - after
    for place in range(k):
        if state.labels[rows[place]] == new:
            move(state, rows[place], homes[place])
            refresh(state, homes[place])
    release(state, new)
    return 0.0
