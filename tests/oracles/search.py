"""Groups measured from scratch, by their definition."""

import itertools
from collections.abc import Iterator

import numpy as np

from algorithms.local_search.groups import Groups
from algorithms.rounding.grid import Grid
from algorithms.types import Labels, Matrix


def loss(rows: Matrix, grid: Grid | None) -> float:
    """Add up squared distances from the average, or from the point of the grid nearest to it."""
    centre = rows.mean(axis=0)
    if grid is not None:
        for j, (origin, step) in enumerate(zip(grid.origin, grid.step, strict=True)):
            if step > 0.0:
                centre[j] = origin + step * round((centre[j] - origin) / step)
    return float(((rows - centre) ** 2).sum())


def total_loss(x: Matrix, labels: Labels, grid: Grid | None) -> float:
    return sum(loss(x[labels == group], grid) for group in np.unique(labels))


def moves(x: Matrix, labels: Labels, k: int, row: int, near: Labels) -> Iterator[Labels]:
    """Make every move of a row: to the group of a row near it, alone or for one of its members."""
    home = labels[row]
    for group in {int(labels[other]) for other in near} - {int(home)}:
        members = np.flatnonzero(labels == group)
        for partner in [None, *members]:
            after = labels.copy()
            after[row] = group
            if partner is not None:
                after[partner] = home
            if (after == home).sum() >= k:
                yield after


def check(groups: Groups, grid: Grid | None) -> None:
    """See that everything that is known of groups is what their members say."""
    x, k = groups.x, int(groups.facts[0])
    assert sorted(np.unique(groups.labels)) == np.flatnonzero(groups.sizes).tolist()
    spare = groups.spare[: groups.counts[2]]
    assert sorted(spare) == np.flatnonzero(groups.sizes == 0).tolist()
    assert not groups.queued.any()
    for group in np.unique(groups.labels):
        members = np.flatnonzero(groups.labels == group)
        assert k <= members.size < 2 * k
        assert sorted(groups.members[group, : groups.sizes[group]]) == members.tolist()
        assert (groups.members[group, groups.places[members]] == members).all()
        np.testing.assert_allclose(groups.centres[group], x[members].mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(groups.costs[group], loss(x[members], grid), atol=1e-9)
        away = ((x[members] - x[members].mean(axis=0)) ** 2).sum(axis=1)
        np.testing.assert_allclose(groups.away[members], away, atol=1e-9)


def least_loss(x: Matrix, k: int, grid: Grid | None) -> float:
    """Try every partition into groups of ``k`` to ``2k - 1``."""

    def best(rows: tuple[int, ...]) -> float:
        if not rows:
            return 0.0
        found = np.inf
        for size in range(k, min(2 * k, len(rows) + 1)):
            for others in itertools.combinations(rows[1:], size - 1):
                rest = tuple(row for row in rows[1:] if row not in others)
                if not rest or len(rest) >= k:
                    found = min(found, loss(x[[rows[0], *others]], grid) + best(rest))
        return found

    return best(tuple(range(len(x))))


def merged(x: Matrix, before: Labels, labels: Labels, others: Labels) -> set[frozenset[int]]:
    """Join the changes of two partitions, group by group as the definition says."""
    old, one, two = (_sets(each) for each in (before, labels, others))
    joined: set[frozenset[int]] = set()
    left = set(one)
    while left:
        ours, theirs = {left.pop()}, set[frozenset[int]]()
        rows: frozenset[int] = frozenset()
        while frozenset().union(*ours, *theirs) != rows:
            rows = frozenset().union(*ours, *theirs)
            ours = {group for group in one if group & rows}
            theirs = {group for group in two if group & rows}
        left -= ours
        losses = [sum(loss(x[sorted(group)], None) for group in each) for each in (ours, theirs)]
        both_changed = not ours <= old and not theirs <= old
        take_theirs = losses[1] < losses[0] if both_changed else not theirs <= old
        joined |= theirs if take_theirs else ours
    return joined


def _sets(labels: Labels) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == group).tolist()) for group in np.unique(labels)}


def nearest(point: Matrix, targets: Matrix, enough: int, reach: float) -> list[tuple[float, int]]:
    """Give the smallest squared distances within reach, and how many targets lie at each."""
    distances = np.zeros(len(targets))
    for j in range(targets.shape[1]):
        distances += (targets[:, j] - point[j]) ** 2
    levels: list[tuple[float, int]] = []
    for square in np.unique(distances[distances <= reach]).tolist():
        if sum(count for _, count in levels) < enough:
            levels.append((square, int((distances == square).sum())))
    return levels


def nearest_rows(x: Matrix, row: int, count: int) -> list[float]:
    """Give the smallest squared distances from a row to other rows."""
    distances = np.zeros(len(x))
    for j in range(x.shape[1]):
        distances += (x[:, j] - x[row, j]) ** 2
    return sorted(np.delete(distances, row).tolist())[:count]
