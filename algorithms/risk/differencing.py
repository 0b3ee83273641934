"""Differencing: groups of two releases that differ by one person give that person away."""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.history import ABSENT
from algorithms.jit import kernel
from algorithms.measure import Measure
from algorithms.types import Integers, Labels, Mask


def lone_changes(files: Comparison) -> float | None:
    """Count the groups that differ from a group of any earlier release by exactly one person.

    With the sizes of both groups, the difference of their sums is the key values of that person
    [DDS79]_. Muted records and persons who have left count as members, for they are in the
    averages.
    """
    if files.history is None or files.earlier is None:
        return None
    groups, _ = files.earlier
    order = np.argsort(files.masked.groups, kind="stable")
    ends = np.cumsum(np.bincount(files.masked.groups))
    lone = np.zeros(ends.size, dtype=bool)
    for t, past in enumerate(files.history.past):
        lone |= changed_by_one(groups[order, t], ends, np.bincount(past.groups))
    return float(lone.sum())


@kernel
def changed_by_one(before: Labels, ends: Labels, sizes: Integers) -> Mask:
    """Mark the groups that differ by one person from an earlier one, in time linear in persons.

    ``before`` are the earlier groups of persons who are sorted by their new group, ``ends`` the
    ends of the new groups among them, and ``sizes`` the sizes of the earlier groups.

    At most one member of such a group comes from elsewhere, so the earlier group is that of its
    first or of its second member.
    """
    lone = np.zeros(ends.size, dtype=np.bool_)
    start = 0
    for group in range(ends.size):
        end = ends[group]
        for first in range(start, min(start + 2, end)):
            earlier = before[first]
            if earlier != ABSENT:
                common = 0
                for i in range(start, end):
                    common += before[i] == earlier
                if end - start + sizes[earlier] - 2 * common == 1:
                    lone[group] = True
        start = end
    return lone


MEASURES = (
    Measure(
        name="lone_changes",
        title="lone changes",
        kind="risk",
        unit="",
        better="lower",
        definition=(
            "Number of groups that differ from a group of an earlier release by exactly one "
            "person, whose key values are then the difference of the two sums."
        ),
        paper="DDS79",
        run=lone_changes,
    ),
)
