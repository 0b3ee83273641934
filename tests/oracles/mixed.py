"""Mixed tables by their definitions: every partition, losses as published, medians of trees."""

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from algorithms.types import Matrix

Column = tuple[str, Sequence[float] | Sequence[str]]
"""``("number", values)`` or ``("category", labels)``."""

Path = tuple[str, ...]
"""A node of a hierarchy, by its path from the top; the root is the empty path."""


def every_partition(n: int, k: int) -> Iterator[list[int]]:
    """List all partitions of ``n`` records into groups of at least ``k``, as labels."""

    def extend(labels: list[int], sizes: list[int]) -> Iterator[list[int]]:
        missing = sum(max(k - size, 0) for size in sizes)
        if missing > n - len(labels):
            return
        if len(labels) == n:
            yield labels
            return
        for group in range(len(sizes) + 1):
            grown = [*sizes, 0]
            grown[group] += 1
            yield from extend([*labels, group], grown if group == len(sizes) else grown[:-1])

    return extend([], [])


def gower_like_loss(columns: Sequence[Column], labels: Sequence[int]) -> float:
    """Add up the losses of all groups and columns as published: by means and by modes."""
    return sum(
        _group_loss(columns, tuple(row for row, label in enumerate(labels) if label == group))
        for group in set(labels)
    )


def least_gower_like_loss(columns: Sequence[Column], k: int) -> float:
    """Try every partition; each group is measured once."""
    loss = functools.cache(functools.partial(_group_loss, columns))
    return min(sum(loss(rows) for rows in groups) for groups in _groupings(len(columns[0][1]), k))


@functools.cache
def _groupings(n: int, k: int) -> list[list[tuple[int, ...]]]:
    return [
        [tuple(row for row in range(n) if labels[row] == group) for group in set(labels)]
        for labels in every_partition(n, k)
    ]


def _group_loss(columns: Sequence[Column], rows: tuple[int, ...]) -> float:
    total = 0.0
    for kind, values in columns:
        if kind == "number":
            own = standardised(values)[list(rows)]
            total += float(((own - own.mean()) ** 2).sum())
        else:
            counts = Counter(values[row] for row in rows)
            total += 2.0 * squared_factor(values) * (len(rows) - max(counts.values()))
    return total


def standardised(values: Sequence[float] | Sequence[str]) -> Matrix:
    """Subtract the mean and divide by the deviation (n - 1); a constant becomes 0."""
    numbers = np.array(values, dtype=np.float64)
    deviation = numbers.std(ddof=1)
    centred: Matrix = numbers - numbers.mean()
    return centred / deviation if deviation > 0.0 else 0.0 * centred


def squared_factor(labels: Sequence[float] | Sequence[str]) -> float:
    """Compute the squared factor of one-hot coordinates; 0 for a constant, which costs nothing."""
    n = len(labels)
    differing = n**2 - sum(count**2 for count in Counter(labels).values())
    return n * (n - 1) / differing if differing else 0.0


def embedded(columns: Sequence[Column], stretch: float = 1.0) -> Matrix:
    """Embed numbers as z-scores, and categories as one-hot coordinates times f and ``stretch``."""
    coordinates = []
    for kind, values in columns:
        if kind == "number":
            coordinates.append(standardised(values))
        else:
            scale = stretch * np.sqrt(squared_factor(values))
            coordinates += [
                scale * np.array([value == label for value in values], dtype=np.float64)
                for label in sorted(set(values), key=str)
            ]
    return np.column_stack(coordinates)


def tree_median(paths: Sequence[Path], weights: Sequence[float] | None = None) -> Path:
    """Walk down from the root while one child holds more than half of the weight."""
    weights = [1.0] * len(paths) if weights is None else weights
    node: Path = ()
    while True:
        below: defaultdict[Path, float] = defaultdict(float)
        for path, weight in zip(paths, weights, strict=True):
            if len(path) > len(node) and path[: len(node)] == node:
                below[path[: len(node) + 1]] += weight
        heavy = [child for child, weight in below.items() if 2.0 * weight > sum(weights)]
        if not heavy:
            return node
        (node,) = heavy


def node_loss(
    paths: Sequence[Path],
    node: Path,
    level_weights: Sequence[float],
    weights: Sequence[float] | None = None,
) -> float:
    """Add up squared distances: the weights of the levels of nodes that are on one path only."""
    weights = [1.0] * len(paths) if weights is None else weights
    total = 0.0
    for path, weight in zip(paths, weights, strict=True):
        apart = set(nodes_on(path)) ^ set(nodes_on(node))
        total += weight * sum(level_weights[len(other) - 1] for other in apart)
    return total


def best_node(
    paths: Sequence[Path],
    level_weights: Sequence[float],
    weights: Sequence[float] | None = None,
) -> Path:
    """Try every node, the root included; ties go to the shortest path, then to the first."""
    nodes = {(), *(node for path in paths for node in nodes_on(path))}
    return min(
        sorted(nodes, key=lambda node: (len(node), node)),
        key=lambda node: node_loss(paths, node, level_weights, weights),
    )


def nodes_on(path: Path) -> list[Path]:
    """List the nodes from the top down to the end of a path, without the root."""
    return [path[:length] for length in range(1, len(path) + 1)]
