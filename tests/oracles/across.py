"""Attackers who compare releases, by sets of persons."""

from algorithms.history import Past
from algorithms.types import Integers, Labels, Mask

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
