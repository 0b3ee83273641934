"""Measures of risk, group by group and value by value."""

import itertools
import math
from collections import Counter

import numpy as np

from algorithms.types import Integers, Labels, Matrix


def members(classes: Labels) -> list[list[int]]:
    return [np.flatnonzero(classes == c).tolist() for c in np.unique(classes)]


def distinct(values: Integers, classes: Labels) -> float:
    return min(len({int(values[i]) for i in rows}) for rows in members(classes))


def entropy(values: Integers, classes: Labels) -> float:
    least = math.inf
    for rows in members(classes):
        shares = [count / len(rows) for count in Counter(values[rows].tolist()).values()]
        least = min(least, -sum(share * math.log(share) for share in shares))
    return math.exp(least)


def equal_distance(values: Integers, classes: Labels) -> float:
    overall = Counter(values.tolist())
    largest = 0.0
    for rows in members(classes):
        here = Counter(values[rows].tolist())
        largest = max(
            largest,
            sum(abs(here[v] / len(rows) - overall[v] / len(values)) for v in overall) / 2,
        )
    return largest


def ordered_distance(values: Integers, classes: Labels) -> float:
    distinct_values = sorted(set(values.tolist()))
    largest = 0.0
    for rows in members(classes):
        area = sum(
            abs(np.mean(values[rows] <= v) - np.mean(values <= v)) for v in distinct_values[:-1]
        )
        largest = max(largest, area / max(len(distinct_values) - 1, 1))
    return largest


def near_ranks(before: Matrix, after: Matrix, share: float) -> float:
    """Share of values that at most a share of records separates from their originals."""
    near = 0
    for j in range(before.shape[1]):
        for i in range(len(before)):
            low, high = sorted((before[i, j], after[i, j]))
            between = int(((before[:, j] > low) & (before[:, j] < high)).sum())
            near += between <= share * len(before)
    return 100.0 * near / before.size


def best_assignment(before: Matrix, after: Matrix) -> float:
    """Least sum of squares over all ways to assign published to original records."""
    return min(
        float(((after - before[list(order)]) ** 2).sum())
        for order in itertools.permutations(range(len(before)))
    )
