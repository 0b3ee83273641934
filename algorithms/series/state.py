"""Groups that are being searched, with what each of them costs."""

from typing import NamedTuple

import numpy as np

from algorithms.jit import kernel, part
from algorithms.random_numbers import seeded
from algorithms.series.covering import cover_lists
from algorithms.types import Integers, Labels, Mask, Matrix

K, UNITS, MOST, STAMP, MET, VISIT, SPARE = range(7)
"""Places of ``State.counts``."""

PRICE, SMALLEST_GAIN = range(2)
"""Places of ``State.prices``."""

FORBIDDEN = 1e9
"""Added to the cost of a group for each earlier group that differs from it by one person."""

LARGEST, LARGEST_BY_K = 64, 12
"""Largest group that is sought, and the same as a multiple of k, whichever is more: beyond that
hardly anyone is expected to be muted, and moves take long."""

NEIGHBOURS = 20
"""Nearest records of each record, among whose groups a move is sought."""


class State(NamedTuple):
    """A partition that is being searched.

    The cost of a group is the sum of squares around its average, plus a price times its exposure:
    the number of its records that have to be muted, plus the share of coming releases in which the
    others are expected to be muted. It depends on the members of the group only.

    Attributes
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    near : Labels of shape (n, neighbours)
        The nearest other records of each in the same block; where there are fewer, the record
        itself.
    blocks, units : Labels of shape (n,)
        The block that no group of a record crosses, and the unit that the record is about.
    starts, coverers : Integers
        The records that cover each record, as `cover_lists` gives them.
    past : Labels of shape (n, m)
        Group of each record's person in every earlier release, numbered over all releases;
        negative where it was absent.
    past_sizes : Labels
        Number of persons in each of these groups.
    labels, places : Labels of shape (n,)
        The group of each record, and where it stands among its members.
    members, sizes : Labels of shape (groups, capacity) and (groups,)
        The records of each group, and how many there are; 0 where a number is not used.
    centres : Matrix of shape (groups, d)
        Averages.
    squares, exposures : Matrix of shape (groups,)
        Sum of squares around the average, and exposure, of each group.
    lone : Labels of shape (groups,)
        Number of earlier releases with a group that differs by one person.
    shown : Mask of shape (n,)
        Whether each record can be visible.
    chances : Matrix
        Share of coming releases in which a record with so many candidates is expected to be muted.
    marks, candidates : Labels of shape (n,) and (capacity,)
        Room to mark visible records, and to count their candidates.
    met, visited : Labels of shape (n,) and (groups,)
        Room to mark units and groups that were met.
    one, two : Labels of shape (capacity,)
        Room for the members of groups that are being tried.
    spare : Labels of shape (groups,)
        Numbers of groups that are not used.
    counts : Labels of shape (7,)
        The smallest group allowed, whether units count, the largest group that is sought, the last
        mark of each kind, and the number of spare numbers.
    prices : Matrix of shape (2,)
        The price of exposure, and the gain below which a pass over all records is the last.
    random : Integers of shape (2,)
        State of the random numbers.
    """

    x: Matrix
    near: Labels
    blocks: Labels
    units: Labels
    starts: Integers
    coverers: Integers
    past: Labels
    past_sizes: Labels
    labels: Labels
    places: Labels
    members: Labels
    sizes: Labels
    centres: Matrix
    squares: Matrix
    exposures: Matrix
    lone: Labels
    shown: Mask
    chances: Matrix
    marks: Labels
    candidates: Labels
    met: Labels
    visited: Labels
    one: Labels
    two: Labels
    spare: Labels
    counts: Labels
    prices: Matrix
    random: Integers


class Situation(NamedTuple):
    """The facts of a search that do not change.

    Attributes
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group allowed.
    near, blocks, units, past, past_sizes, chances
        As in `State`; ``units`` is None if every record is a unit of its own.
    seen : Labels of shape (n, m)
        Group of each record's person in each release that an attacker can link with the new one;
        negative where it was not visible.
    """

    x: Matrix
    k: int
    near: Labels
    blocks: Labels
    units: Labels | None
    seen: Labels
    past: Labels
    past_sizes: Labels
    chances: Matrix


def state_of(facts: Situation, labels: Labels) -> State:
    """Take up a partition; every group must hold records of at least ``k`` units of one block."""
    n, d = facts.x.shape
    groups = max(int(labels.max()) + 1, n // facts.k) + 1
    most = max(LARGEST, LARGEST_BY_K * facts.k, int(np.bincount(labels).max()))
    # two groups are merged, however large, if nothing else hides a lone change
    capacity = 2 * most
    starts, coverers = cover_lists(facts.seen)
    units = np.arange(n) if facts.units is None else np.unique_inverse(facts.units)[1]
    state = State(
        x=np.ascontiguousarray(facts.x),
        near=facts.near,
        blocks=facts.blocks,
        units=units,
        starts=starts,
        coverers=coverers,
        past=facts.past,
        past_sizes=facts.past_sizes,
        labels=labels.copy(),
        places=np.zeros(n, dtype=np.int64),
        members=np.zeros((groups, capacity), dtype=np.int64),
        sizes=np.zeros(groups, dtype=np.int64),
        centres=np.zeros((groups, d)),
        squares=np.zeros(groups),
        exposures=np.zeros(groups),
        lone=np.zeros(groups, dtype=np.int64),
        shown=np.ones(n, dtype=bool),
        chances=facts.chances,
        marks=np.zeros(n, dtype=np.int64),
        candidates=np.zeros(capacity, dtype=np.int64),
        met=np.zeros(n, dtype=np.int64),
        visited=np.zeros(groups, dtype=np.int64),
        one=np.zeros(capacity, dtype=np.int64),
        two=np.zeros(capacity, dtype=np.int64),
        spare=np.zeros(groups, dtype=np.int64),
        counts=np.array([facts.k, facts.units is not None, most, 0, 0, 0, 0]),
        prices=np.zeros(2),
        random=seeded(0),
    )
    _fill(state)
    return state


@kernel
def _fill(state: State) -> None:
    """Put every record into its group."""
    for row in range(state.labels.size):
        _join(state, row, state.labels[row])
    for group in range(state.sizes.size):
        if state.sizes[group] == 0:
            release(state, group)
        else:
            refresh(state, group)


@part
def _join(state: State, row: int, group: int) -> None:
    place = state.sizes[group]
    state.members[group, place] = row
    state.places[row] = place
    state.sizes[group] = place + 1
    state.labels[row] = group


@part
def move(state: State, row: int, group: int) -> None:
    """Move a record to another group; both groups have to be refreshed after that."""
    old, place = state.labels[row], state.places[row]
    last = state.sizes[old] - 1
    other = state.members[old, last]
    state.members[old, place] = other
    state.places[other] = place
    state.sizes[old] = last
    _join(state, row, group)


@part
def release(state: State, group: int) -> None:
    """Make the number of an empty group spare."""
    state.squares[group] = 0.0
    state.exposures[group] = 0.0
    state.lone[group] = 0
    state.spare[state.counts[SPARE]] = group
    state.counts[SPARE] += 1


@kernel
def refresh(state: State, group: int) -> None:
    """Compute the average and the costs of a group from its members."""
    members, size = state.members[group], state.sizes[group]
    for j in range(state.x.shape[1]):
        total = 0.0
        for entry in range(size):
            total += state.x[members[entry], j]
        state.centres[group, j] = total / size
    state.squares[group] = squares_of(state, members, size)
    state.exposures[group] = exposure(state, members, size)
    for entry in range(size):
        row = members[entry]
        state.shown[row] = state.marks[row] == state.counts[STAMP]
    state.lone[group] = lone_changes(state, members, size)


@part
def squares_of(state: State, members: Labels, size: int) -> float:
    """Add up the squared distances of records from their average."""
    total = 0.0
    for j in range(state.x.shape[1]):
        mean = 0.0
        for entry in range(size):
            mean += state.x[members[entry], j]
        mean /= size
        for entry in range(size):
            away = state.x[members[entry], j] - mean
            total += away * away
    return total


@part
def distance(state: State, row: int, group: int) -> float:
    """Give the squared distance of a record from the average of a group."""
    total = 0.0
    for j in range(state.x.shape[1]):
        away = state.x[row, j] - state.centres[group, j]
        total += away * away
    return total


@part
def is_large_enough(state: State, members: Labels, size: int) -> bool:
    """Check whether records are about at least ``k`` units."""
    if not state.counts[UNITS]:
        return bool(size >= state.counts[K])
    state.counts[MET] += 1
    found = _count_units(members, 0, size, state.marks, 0, state.units, state.met, state.counts)
    return bool(found >= state.counts[K])


@part
def exposure(state: State, members: Labels, size: int) -> float:
    """Count the records of a group that must be muted, and add the chances of the others.

    Visible records are marked with the last stamp after that.
    """
    state.counts[STAMP] += 1
    stamp, marks, starts, coverers = state.counts[STAMP], state.marks, state.starts, state.coverers
    for entry in range(size):
        marks[members[entry]] = stamp
    visible = size
    hiding = True
    while hiding:
        hiding = False
        for entry in range(size):
            row = members[entry]
            if marks[row] != stamp:
                continue
            first, after = starts[row], starts[row + 1]
            found = visible
            if state.counts[UNITS]:
                state.counts[MET] += 1
                rows = coverers
                if first == after:
                    rows, first, after = members, np.int64(0), np.int64(size)
                found = _count_units(
                    rows, first, after, marks, stamp, state.units, state.met, state.counts
                )
            elif first < after:
                found = _count_marked(coverers, first, after, marks, stamp)
            state.candidates[entry] = found
            if found < state.counts[K]:
                marks[row] = 0
                visible -= 1
                hiding = True
    total = float(size - visible)
    for entry in range(size):
        if marks[members[entry]] == stamp:
            total += state.chances[min(state.candidates[entry], state.chances.size - 1)]
    return total


# These kernels are called most often; they take single arrays, since passing a state takes longer
# than counting.


@part
def _count_marked(rows: Integers, first: int, after: int, marks: Labels, stamp: int) -> int:
    """Count the records of a list that are marked."""
    found = 0
    for place in range(first, after):
        if marks[rows[place]] == stamp:
            found += 1
    return found


@part
def _count_units(
    rows: Integers,
    first: int,
    after: int,
    marks: Labels,
    stamp: int,
    units: Labels,
    met: Labels,
    counts: Labels,
) -> int:
    """Count the units of the records of a list that are marked, or of all if the stamp is 0."""
    found = 0
    for place in range(first, after):
        row = rows[place]
        if (stamp == 0 or marks[row] == stamp) and met[units[row]] != counts[MET]:
            met[units[row]] = counts[MET]
            found += 1
    return found


@part
def lone_changes(state: State, members: Labels, size: int) -> int:
    """Count the earlier releases with a group that differs from this one by exactly one person."""
    past, past_sizes = state.past, state.past_sizes
    found = 0
    for t in range(past.shape[1]):
        # a group that differs by one person holds one of any two members
        for entry in range(min(2, size)):
            old = past[members[entry], t]
            if (
                old >= 0
                and abs(past_sizes[old] - size) == 1
                and _count_common(past, t, old, members, size) == min(size, past_sizes[old])
            ):
                found += 1
                break
    return found


@part
def _count_common(past: Labels, t: int, old: int, members: Labels, size: int) -> int:
    """Count the members of a group that were in an earlier group."""
    common = 0
    for entry in range(size):
        if past[members[entry], t] == old:
            common += 1
    return common
