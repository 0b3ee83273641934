"""Keeps earlier groups, as far as they hold enough records."""

import numpy as np

from algorithms.jit import kernel
from algorithms.series.moves import copy_members, merge, merge_squares
from algorithms.series.state import Situation, State, lone_changes, state_of
from algorithms.types import Labels, Mask, Matrix, units_per_group


def kept_groups(facts: Situation, kept: Labels) -> tuple[Labels, Mask]:
    """Keep the groups of the release that is revised.

    Records of persons who were not in it join the nearest group of their block; groups that have
    become too small, or differ by one person from an earlier group, are merged with others.

    Parameters
    ----------
    facts : Situation
        The records, and the earlier groups of their persons.
    kept : Labels of shape (n,)
        Group of each record's person in the release that is revised; negative for a new one.

    Returns
    -------
    labels : Labels of shape (n,)
        Group of each record.
    shown : Mask of shape (n,)
        Whether the record can be visible.
    """
    everyone = np.zeros(len(kept), dtype=np.int64)
    state = state_of(facts, _completed(facts, np.where(kept < 0, -1, kept), everyone))
    merge_lone(state)
    return np.unique_inverse(state.labels)[1], state.shown.copy()


def blocks_of_last_groups(facts: Situation, fresh: Labels) -> Labels:
    """Group persons as they were last visible together; all others join the nearest group.

    Where no such group is left in a block, its records are grouped as ``fresh`` says.
    """
    last = np.full(len(facts.x), -1)
    first_number = 0
    for t in range(facts.seen.shape[1]):
        groups = facts.seen[:, t]
        last = np.where(groups >= 0, first_number + groups, last)
        first_number += int(groups.max(initial=-1)) + 1
    return _completed(facts, last, fresh)


def _completed(facts: Situation, groups: Labels, fresh: Labels) -> Labels:
    """Drop groups that are too small, and let records without a group join the nearest one."""
    labels = _within_blocks(groups, facts.blocks)
    units = np.arange(len(labels)) if facts.units is None else facts.units
    grouped = labels >= 0
    if grouped.any():
        counts = units_per_group(labels[grouped], units[grouped])
        labels[grouped] = np.where(counts[labels[grouped]] < facts.k, -1, labels[grouped])
    for block in range(int(facts.blocks.max()) + 1):
        rows = np.flatnonzero(facts.blocks == block)
        if (labels[rows] < 0).all():
            labels[rows] = labels.size + fresh[rows]
        else:
            _join_nearest(facts.x, labels, rows)
    return np.unique_inverse(labels)[1]


def _within_blocks(groups: Labels, blocks: Labels) -> Labels:
    """Give groups numbers by block, so that none crosses one; negative numbers stay."""
    labels = np.full(groups.size, -1)
    grouped = groups >= 0
    pairs = np.column_stack([blocks[grouped], groups[grouped]])
    labels[grouped] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    return labels


def _join_nearest(x: Matrix, labels: Labels, rows: Labels) -> None:
    """Let the rows of a block that have no group join the group with the nearest average."""
    # imported late: reading a spec must not wait for scipy
    from scipy.spatial import cKDTree

    grouped, free = rows[labels[rows] >= 0], rows[labels[rows] < 0]
    numbers, of_row = np.unique(labels[grouped], return_inverse=True)
    sums = np.zeros((numbers.size, x.shape[1]))
    np.add.at(sums, of_row.reshape(-1), x[grouped])
    centres = sums / np.bincount(of_row.reshape(-1))[:, np.newaxis]
    if free.size:
        labels[free] = numbers[cKDTree(centres).query(x[free])[1]]


def merge_lone(state: State) -> None:
    """Merge groups that differ by one person from an earlier group, wherever that helps."""
    while _merge_one(state):
        pass


@kernel
def _merge_one(state: State) -> bool:
    """Merge the first such group with the nearest one after which it is none; tell of success."""
    for group in range(state.sizes.size):
        if state.lone[group] == 0:
            continue
        best, target = np.inf, -1
        block = state.blocks[state.members[group, 0]]
        for other in range(state.sizes.size):
            size = state.sizes[group] + state.sizes[other]
            if (
                other == group
                or state.sizes[other] == 0
                or state.blocks[state.members[other, 0]] != block
                or size > state.one.size
            ):
                continue
            squares = merge_squares(state, group, other)
            if squares < best:
                copy_members(state, other, state.one, copy_members(state, group, state.one, 0))
                if lone_changes(state, state.one, size) == 0:
                    best, target = squares, other
        if target >= 0:
            merge(state, group, target)
            return True
    return False
