"""The methods without a thought for speed: lists of rows, sorting, and one distance at a time."""

from collections.abc import Callable

import numpy as np

from algorithms.types import Labels, Matrix
from tests.oracles.mdav import centroid, farthest, nearest, squared

Rows = list[int]


class Lists:
    """Free rows and groups, as plain lists."""

    def __init__(self, x: Matrix) -> None:
        self.x = x
        self.free: Rows = list(range(len(x)))
        self.groups: list[Rows] = []

    def cut(self, seed: int, size: int, grow: str = "seed", spare: int = -1) -> None:
        rows = [row for row in self.free if row != spare]
        if grow == "seed":
            group = nearest(self.x, rows, seed, size)
        else:
            group = [seed]
            while len(group) < size:
                mean = sum(self.x[row] for row in group) / len(group)
                others = [row for row in rows if row not in group]
                group.append(min(others, key=lambda row: (squared(self.x[row], mean), row)))
        self.groups.append(group)
        self.free = [row for row in self.free if row not in group]

    def rest(self) -> None:
        self.groups.append(self.free)
        self.free = []

    def join(self) -> None:
        means = [centroid(self.x, sorted(group)) for group in self.groups]
        for row in self.free:
            goal = min(range(len(means)), key=lambda g: (squared(means[g], self.x[row]), g))
            self.groups[goal].append(row)
        self.free = []

    def labels(self) -> Labels:
        assert not self.free
        found = np.empty(len(self.x), dtype=np.int64)
        for number, group in enumerate(self.groups):
            found[group] = number
        return found


def mdav1(x: Matrix, k: int) -> Labels:
    lists = Lists(x)
    while len(lists.free) >= 2 * k:
        first = farthest(x, lists.free, centroid(x, lists.free))
        lists.cut(first, k)
        lists.cut(farthest(x, lists.free, x[first]), k)
    if len(lists.free) >= k:
        lists.cut(farthest(x, lists.free, centroid(x, lists.free)), k)
    lists.join()
    return lists.labels()


def mdav_generic(x: Matrix, k: int) -> Labels:
    lists = Lists(x)
    while len(lists.free) >= 3 * k:
        first = farthest(x, lists.free, centroid(x, lists.free))
        lists.cut(first, k)
        lists.cut(farthest(x, lists.free, x[first]), k)
    if len(lists.free) >= 2 * k:
        lists.cut(farthest(x, lists.free, centroid(x, lists.free)), k)
    lists.rest()
    return lists.labels()


def md(x: Matrix, k: int, first: str = "lower", grow: str = "seed") -> Labels:
    lists = Lists(x)
    while len(lists.free) >= 2 * k:
        pairs = [(a, b) for a in lists.free for b in lists.free if a < b]
        one, other = min(pairs, key=lambda pair: (-squared(x[pair[0]], x[pair[1]]), *pair))
        if first == "higher":
            one, other = other, one
        lists.cut(one, k, grow)
        lists.cut(other if other in lists.free else farthest(x, lists.free, x[one]), k, grow)
    if len(lists.free) >= k:
        lists.rest()
    lists.join()
    return lists.labels()


def cbfs(x: Matrix, k: int, grow: str = "seed") -> Labels:
    lists = Lists(x)
    while len(lists.free) >= k:
        lists.cut(farthest(x, lists.free, centroid(x, lists.free)), k, grow)
    lists.join()
    return lists.labels()


def tfrp1(x: Matrix, k: int) -> Labels:
    lists = Lists(x)
    points = [np.full(x.shape[1], x.min()), np.full(x.shape[1], x.max())]
    while len(lists.free) >= k:
        lists.cut(farthest(x, lists.free, points[len(lists.groups) % 2]), k)
    lists.join()
    return lists.labels()


def vmdav(
    x: Matrix, k: int, gamma: float = 0.2, squared_test: bool = False, tail: str = "nearest"
) -> Labels:
    lists = Lists(x)
    centre = centroid(x, lists.free)
    exponent = 1.0 if squared_test else 0.5
    while len(lists.free) >= k:
        lists.cut(farthest(x, lists.free, centre), k)
        group = lists.groups[-1]
        while lists.free and len(group) < 2 * k - 1:
            inside, row = min((squared(x[r], x[m]), r) for r in lists.free for m in group)
            outside = min(
                (squared(x[row], x[r]) for r in lists.free if r != row), default=float("inf")
            )
            if not inside**exponent < gamma * outside**exponent:
                break
            group.append(row)
            lists.free.remove(row)
    if tail == "nearest":
        lists.join()
    for row in list(lists.free):
        _, number = min(
            (squared(x[row], x[member]), member, number)
            for number, group in enumerate(lists.groups)
            for member in group
        )[::2]
        lists.groups[number].append(row)
        lists.free.remove(row)
    return lists.labels()


def cvmdav(x: Matrix, k: int, gamma: float = 1.1, literal: bool = False) -> Labels:
    lists = Lists(x)
    largest = 2 * k if literal else 2 * k - 1
    while len(lists.free) >= 3 * k:
        seed = farthest(x, lists.free, centroid(x, lists.free))
        around = nearest(x, lists.free, seed, 2 * k)
        lists.cut(seed, k)
        group = lists.groups[-1]
        for row in around[k:]:
            if len(group) >= largest:
                break
            others = [r for r in lists.free if r != row]
            near = sorted(others, key=lambda r: (squared(x[r], x[row]), r))[:k]
            mean = centroid(x, sorted(near)) if literal else centroid(x, [row, *sorted(near)])
            to_group = np.sqrt(squared(x[row], centroid(x, group)))
            if to_group < gamma * np.sqrt(squared(x[row], mean)):
                group.append(row)
                lists.free.remove(row)
    if len(lists.free) > 2 * k:
        lists.cut(farthest(x, lists.free, centroid(x, lists.free)), k)
    lists.rest()
    return lists.labels()


def _from_ends(x: Matrix, k: int, grow: str, order: Callable[[Rows], Rows]) -> Labels:
    lists = Lists(x)
    while len(lists.free) >= 3 * k:
        first, *_, last = order(lists.free)
        lists.cut(first, k, grow, spare=last)
        lists.cut(last, k, grow)
    if len(lists.free) >= 2 * k:
        lists.cut(order(lists.free)[0], k, grow)
    lists.rest()
    return lists.labels()


def ps(x: Matrix, k: int, grow: str = "centroid") -> Labels:
    return _from_ends(x, k, grow, lambda rows: sorted(rows, key=lambda row: (x[row].sum(), row)))


def multi_dsort(x: Matrix, k: int, sort: str = "each_round") -> Labels:
    def order(rows: Rows) -> Rows:
        among = rows if sort == "each_round" else list(range(len(x)))
        sums = dict.fromkeys(among, 0)
        for j in range(x.shape[1]):
            for rank, row in enumerate(sorted(among, key=lambda row: (x[row, j], row))):
                sums[row] += rank
        return sorted(rows, key=lambda row: (sums[row], row))

    return _from_ends(x, k, "centroid", order)


def dba1(x: Matrix, k: int) -> Labels:
    lists = Lists(x)
    while len(lists.free) >= k:
        best = min(lists.free, key=lambda row: (_loss(x, nearest(x, lists.free, row, k)), row))
        lists.cut(best, k)
    lists.join()
    return lists.labels()


def _loss(x: Matrix, group: Rows) -> float:
    rows = sorted(group)
    mean = sum(x[row] for row in rows) / len(rows)
    return sum(squared(x[row], mean) for row in rows)


def refine(x: Matrix, labels: Labels, k: int, split: Callable[[Matrix, int], Labels]) -> float:
    """Refine groups and tell the loss that is left; ties may be broken in other ways."""
    groups = [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]
    for number in sorted(range(len(groups)), key=lambda g: (-_loss(x, groups[g]), g)):
        means = {g: centroid(x, group) for g, group in enumerate(groups) if group and g != number}
        if not means:
            continue
        trial = [list(group) for group in groups]
        trial[number] = []
        for row in groups[number]:
            trial[min(means, key=lambda g: (squared(means[g], x[row]), g))].append(row)
        if _total(x, trial) < _total(x, groups) - 1e-9:
            groups = trial
    total = 0.0
    for group in groups:
        if len(group) >= 2 * k:
            rows = sorted(group)
            parts = split(x[rows], k)
            total += sum(
                _loss(x, [row for row, part in zip(rows, parts, strict=True) if part == p])
                for p in range(parts.max() + 1)
            )
        elif group:
            total += _loss(x, group)
    return total


def _total(x: Matrix, groups: list[Rows]) -> float:
    return sum(_loss(x, group) for group in groups if group)


def mst_md(x: Matrix, k: int) -> Labels:
    """Cut the tree by searching its parts anew for every edge."""
    inside, edges = [0], []
    while len(inside) < len(x):
        outside = [row for row in range(len(x)) if row not in inside]
        # the first of equal edges: to the lowest row, from the row that joined first
        _, row, place = min(
            (squared(x[row], x[start]), row, place)
            for row in outside
            for place, start in enumerate(inside)
        )
        edges.append((squared(x[row], x[inside[place]]), row, inside[place]))
        inside.append(row)
    kept = [(row, start) for _, row, start in edges]
    for _, row, start in sorted(edges, key=lambda edge: (-edge[0], edge[1])):
        trial = [edge for edge in kept if edge != (row, start)]
        if len(_part(row, trial)) >= k and len(_part(start, trial)) >= k:
            kept = trial
    labels = np.full(len(x), -1, dtype=np.int64)
    groups = 0
    for row in inside:
        if labels[row] < 0:
            part = np.array(sorted(_part(row, kept)))
            inner = (
                md(x[part], k, grow="centroid")
                if len(part) >= 2 * k
                else np.zeros(len(part), dtype=np.int64)
            )
            labels[part] = groups + inner
            groups += int(inner.max()) + 1
    return labels


def _part(row: int, edges: list[tuple[int, int]]) -> set[int]:
    found = {row}
    while True:
        more = {b for a, b in edges if a in found} | {a for a, b in edges if b in found}
        if more <= found:
            return found
        found |= more


def ward(x: Matrix, labels: Labels, k: int) -> list[Rows]:
    """Merge groups until each holds ``k`` rows, measuring every pair anew."""
    groups = {g: np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)}
    while any(len(group) < k for group in groups.values()):
        _, a, b = min(
            (_rise(x, groups[a], groups[b]), a, b)
            for a in groups
            for b in groups
            if a < b and min(len(groups[a]), len(groups[b])) < k
        )
        groups[a] += groups.pop(b)
    return sorted(sorted(group) for group in groups.values())


def _rise(x: Matrix, a: Rows, b: Rows) -> float:
    return squared(x[a].mean(axis=0), x[b].mean(axis=0)) * len(a) * len(b) / (len(a) + len(b))


def forest(x: Matrix, k: int) -> Labels:
    """Let trees of fewer than ``k`` rows point to the nearest row outside."""
    targets = [-1] * len(x)

    def tree(row: int) -> set[int]:
        return _part(row, [(a, b) for a, b in enumerate(targets) if b >= 0])

    for start in range(len(x)):
        while len(tree(start)) < k:
            rows = tree(start)
            (end,) = [row for row in rows if targets[row] < 0]
            outside = [row for row in range(len(x)) if row not in rows]
            targets[end] = min(outside, key=lambda row: (squared(x[row], x[end]), row))
    return np.array(targets)


def fuzzy(x: Matrix, centres: Matrix, fuzziness: float, iterations: int) -> Matrix:
    """Iterate fuzzy c-means by its formulas; return the centres."""
    for _ in range(iterations):
        squares = ((x[:, None, :] - centres[None]) ** 2).sum(axis=2)
        weights = 1.0 / (
            (squares[:, :, None] / squares[:, None, :]) ** (1.0 / (fuzziness - 1.0))
        ).sum(axis=2)
        weights = weights**fuzziness
        centres = (weights[:, :, None] * x[:, None, :]).sum(axis=0) / weights.sum(axis=0)[:, None]
    return centres
