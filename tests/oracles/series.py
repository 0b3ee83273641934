"""Slow, obvious twins of the search for groups that last, and attackers on a whole series."""

from collections.abc import Sequence

import numpy as np

from algorithms.history import Past
from algorithms.types import Labels, Mask


def cover(seen: Labels, one: int, other: int) -> bool:
    """Check whether a record's person was visible wherever another's was, in the same group."""
    return all(mine in (-1, theirs) for mine, theirs in zip(seen[other], seen[one], strict=True))


def visible_records(labels: Labels, seen: Labels, k: int, units: Labels) -> Mask:
    """Hide records that too few visible ones cover, until there are none."""
    shown = np.ones(len(labels), dtype=bool)
    while True:
        few = [
            i for i in np.flatnonzero(shown) if len(candidates(labels, seen, shown, i, units)) < k
        ]
        if not few:
            return shown
        shown[few] = False


def candidates(labels: Labels, seen: Labels, shown: Mask, i: int, units: Labels) -> set[int]:
    """Collect the units of the visible records of a record's group that cover it."""
    members = np.flatnonzero((labels == labels[i]) & shown)
    return {int(units[j]) for j in members if cover(seen, j, i)}


def lone_changes(labels: Labels, past: Labels, others: Sequence[dict[int, set[int]]]) -> Labels:
    """Count, for each group, the earlier releases with a group that differs by one person.

    ``others`` gives the persons of each earlier group, with numbers of rows for those who are in
    the new release.
    """
    found = np.zeros(labels.max() + 1, dtype=np.int64)
    for group in range(labels.max() + 1):
        members = set(np.flatnonzero(labels == group).tolist())
        for t in range(past.shape[1]):
            found[group] += any(len(members ^ old) == 1 for old in others[t].values())
    return found


def members_of(past: Past) -> dict[int, set[int]]:
    """Collect the persons of each group of an earlier release."""
    groups: dict[int, set[int]] = {}
    for person, group in zip(past.persons.tolist(), past.groups.tolist(), strict=True):
        groups.setdefault(group, set()).add(person)
    return groups


def candidates_of_everyone(releases: Sequence[Past]) -> dict[int, int]:
    """Count the candidates of every person ever visible, by intersecting all groups it was in."""
    left: dict[int, set[int]] = {}
    for past in releases:
        shown = dict(zip(past.persons.tolist(), past.visible.tolist(), strict=True))
        for members in members_of(past).values():
            visible = {person for person in members if shown[person]}
            for person in visible:
                left[person] = left.get(person, visible) & visible
    return {person: len(found) for person, found in left.items()}


def all_lone_changes(releases: Sequence[Past]) -> int:
    """Count pairs of groups, of any two releases, that differ by exactly one person."""
    groups = [list(members_of(past).values()) for past in releases]
    return sum(
        len(new ^ old) == 1
        for t, later in enumerate(groups)
        for earlier in groups[:t]
        for new in later
        for old in earlier
        if new & old
    )
