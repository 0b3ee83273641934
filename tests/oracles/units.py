"""Units counted, and steps of a repair made, one by one."""

from collections.abc import Iterator

import numpy as np

from algorithms.local_search.groups import Groups
from algorithms.types import Labels, Matrix
from tests.oracles.search import moves, total_loss


def counts(labels: Labels, units: Labels) -> dict[int, int]:
    """Count the distinct units in each group."""
    return {
        int(group): len({int(unit) for unit in units[labels == group]})
        for group in np.unique(labels)
    }


def lacking(labels: Labels, units: Labels, k: int) -> int:
    """Add up the units that groups lack."""
    return sum(max(k - count, 0) for count in counts(labels, units).values())


def spread(units: Labels) -> int:
    """Count records, at most two of each unit."""
    return sum(min(int(count), 2) for count in np.unique_counts(units).counts)


def most_groups(units: Labels, k: int) -> int:
    """Count the groups of ``k`` units that can be formed: always of those with most records."""
    left = sorted(np.unique_counts(units).counts.tolist(), reverse=True)
    most = 0
    while len(left) >= k and left[k - 1] > 0:
        left[:k] = [count - 1 for count in left[:k]]
        left.sort(reverse=True)
        most += 1
    return most


def steps(x: Matrix, labels: Labels, k: int, units: Labels, group: int) -> Iterator[float]:
    """Make every step of a group, and measure what it costs for each unit no longer lacking.

    The group takes a record of a unit that it does not hold, for one of a unit that it holds twice
    or for none.
    """
    own = units[labels == group].tolist()
    before, loss = lacking(labels, units, k), total_loss(x, labels, None)
    for row in np.flatnonzero(labels != group):
        for partner in [None, *np.flatnonzero(labels == group)]:
            if units[row] in own or (partner is not None and own.count(units[partner]) < 2):
                continue
            after = labels.copy()
            after[row] = group
            if partner is not None:
                after[partner] = labels[row]
            gained = before - lacking(after, units, k)
            if gained > 0 and (after == labels[row]).any():
                yield (total_loss(x, after, None) - loss) / gained


def moves_with_units(
    x: Matrix, labels: Labels, k: int, row: int, near: Labels, units: Labels
) -> Iterator[Labels]:
    """Make every move of a row after which all groups hold ``k`` units, and none is too spread."""
    for after in moves(x, labels, 1, row, near):
        if lacking(after, units, k) == 0 and all(
            spread(units[after == group]) <= max(2 * k - 1, spread(units[labels == group]))
            for group in np.unique(after)
        ):
            yield after


def check_units(groups: Groups, k: int) -> None:
    """See that everything that is known of units is what the members of groups say."""
    assert not groups.at_home.any()
    for group in np.unique(groups.labels):
        members = np.flatnonzero(groups.labels == group)
        units = groups.units[members]
        assert groups.distinct[group] == np.unique(units).size >= k
        assert groups.spread[group] == spread(units)
        assert groups.copies[members].tolist() == [(units == unit).sum() for unit in units]
