"""Attackers who compare releases, by sets of persons."""

import numpy as np

from algorithms.history import Past
from algorithms.types import Integers, Labels, Mask, Matrix

Release = list[tuple[set[int], set[int]]]
"""Everybody in each group of a release, and those of them who are visible."""


def release(persons: Integers, groups: Labels, visible: Mask) -> Release:
    everybody: dict[int, tuple[set[int], set[int]]] = {}
    for person, group, shown in zip(persons, groups, visible, strict=True):
        members, seen = everybody.setdefault(int(group), (set(), set()))
        members.add(int(person))
        if shown:
            seen.add(int(person))
    return list(everybody.values())


def releases(past: tuple[Past, ...]) -> list[Release]:
    return [release(each.persons, each.groups, each.visible) for each in past]


def candidates(person: int, new: Release, earlier: list[Release]) -> set[int]:
    """Intersect the visible persons of all groups in which a person is visible."""
    (found,) = [set(seen) for _, seen in new if person in seen]
    for _, seen in (group for each in earlier for group in each):
        if person in seen:
            found &= seen
    return found


def alike(person: int, new: Release, earlier: list[Release]) -> set[int]:
    """Keep the candidates who are visible in exactly the same releases."""

    def when(one: int) -> list[bool]:
        return [any(one in seen for _, seen in each) for each in earlier]

    return {one for one in candidates(person, new, earlier) if when(one) == when(person)}


def lone_changes(new: Release, earlier: list[Release]) -> int:
    return sum(
        any(len(members ^ others) == 1 for each in earlier for others, _ in each)
        for members, _ in new
    )


def values_left(
    person: int, groups: list[tuple[Release, dict[int, tuple[int, ...]]]]
) -> set[tuple[int, ...]]:
    """Intersect the values of the visible members of all groups in which a person is visible."""
    own = [
        {values[one] for one in seen}
        for each, values in groups
        for _, seen in each
        if person in seen
    ]
    return set.intersection(*own)


def linked(person: int, matches: dict[tuple[int, int], set[int]], releases: int) -> set[int]:
    """Follow a person from the new release, the last one, along all matches that are right."""
    reached = {releases}
    while True:
        further = {
            t
            for pair, found in matches.items()
            if person in found and reached & set(pair)
            for t in pair
        }
        if further <= reached:
            return reached - {releases}
        reached |= further


def solved(unknowns: Integers, groups: Labels, averages: Matrix) -> Matrix:
    """Solve for the values that are nearest to the averages of each unknown's groups."""
    members = np.zeros((len(averages), int(unknowns.max()) + 1))
    for unknown, group in zip(unknowns, groups, strict=True):
        members[group, unknown] += 1.0 / (groups == group).sum()
    start = np.array(
        [averages[groups[unknowns == unknown]].mean(axis=0) for unknown in range(members.shape[1])]
    )
    moves = np.linalg.lstsq(members, averages - members @ start)[0]
    found: Matrix = start + moves
    return found
