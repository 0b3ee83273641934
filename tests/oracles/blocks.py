"""Slow twins of exact moments, principal axes and cuts."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from algorithms.types import Matrix


def exact_moments(values: Sequence[float]) -> tuple[Fraction, Fraction]:
    """Give the mean and the variance of numbers as fractions."""
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers, Fraction(0)) / len(numbers)
    squares = sum(((number - mean) ** 2 for number in numbers), Fraction(0))
    return mean, squares / max(len(numbers) - 1, 1)


def nearest_root(square: Fraction) -> float:
    """Give the number nearest to the root of a fraction."""
    guess = math.sqrt(square)
    near = [guess]
    for direction in (0.0, math.inf):
        step = guess
        for _ in range(3):
            step = math.nextafter(step, direction)
            near.append(step)
    # the root lies below the middle of two neighbours if its square lies below that of the middle
    near.sort()
    for lower, upper in itertools.pairwise(near):
        middle = (Fraction(lower) + Fraction(upper)) / 2
        if square < middle**2:
            return lower
    return near[-1]


def scatter(x: Matrix) -> Matrix:
    """Add up the products of deviations from the mean, one product at a time."""
    n, d = x.shape
    mean = [0.0] * d
    for row in x.tolist():
        mean = [total + value for total, value in zip(mean, row, strict=True)]
    mean = [total / n for total in mean]
    products = np.zeros((d, d))
    for row in x.tolist():
        centred = [value - middle for value, middle in zip(row, mean, strict=True)]
        for j in range(d):
            for m in range(d):
                products[j, m] += centred[j] * centred[m]
    return products


def along(x: Matrix, axis: Matrix) -> list[float]:
    """Project records on an axis, column after column."""
    projections = []
    for row in x.tolist():
        total = 0.0
        for weight, value in zip(axis.tolist(), row, strict=True):
            total += weight * value
        projections.append(total)
    return projections


def block_of(
    row: Matrix, axes: Matrix, thresholds: Sequence[float], children: Sequence[Sequence[int]]
) -> int:
    """Walk down a tree of cuts with one record."""
    node = 0
    while node >= 0:
        (projection,) = along(row.reshape(1, -1), axes[node])
        node = children[node][projection > thresholds[node]]
    return -1 - node
