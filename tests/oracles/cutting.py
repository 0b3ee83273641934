"""Cuts paths by trying everything, in exact arithmetic; and a long one in twice the digits."""

from collections.abc import Iterator
from fractions import Fraction

import numba
import numpy as np

from algorithms.types import Integers, Labels, Matrix


def cuts(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """List all ways to cut ``n`` records into groups of at least ``k``, of whatever size."""
    if n == 0:
        yield ()
    for size in range(k, n + 1):
        for rest in cuts(n - size, k):
            yield (size, *rest)


def least_loss(rows: Matrix | Integers, k: int, steps: list[Fraction]) -> Fraction:
    """Try all cuts, with averages rounded to a multiple of a step where that is not 0."""
    exact = [[Fraction(value) for value in row] for row in rows.tolist()]
    known: dict[tuple[int, int], Fraction] = {}

    def loss(start: int, size: int) -> Fraction:
        if (start, size) not in known:
            known[start, size] = exact_loss(exact[start : start + size], steps)
        return known[start, size]

    return min(
        sum((loss(sum(sizes[:i]), sizes[i]) for i in range(len(sizes))), Fraction(0))
        for sizes in cuts(len(exact), k)
    )


def loss_of(rows: Matrix | Integers, labels: Labels, steps: list[Fraction]) -> Fraction:
    """Add up what groups lose, exactly."""
    exact = [[Fraction(value) for value in row] for row in rows.tolist()]
    return sum(
        (
            exact_loss(
                [row for row, label in zip(exact, labels, strict=True) if label == group], steps
            )
            for group in set(labels.tolist())
        ),
        Fraction(0),
    )


def exact_loss(rows: list[list[Fraction]], steps: list[Fraction]) -> Fraction:
    """Add up the squared differences from the average, rounded half away from zero."""
    total = Fraction(0)
    for column, step in zip(zip(*rows, strict=True), steps, strict=True):
        centre = sum(column, Fraction(0)) / len(column)
        if step:
            magnitude = abs(centre) / step + Fraction(1, 2)
            centre = (
                (magnitude.numerator // magnitude.denominator) * step * (1 if centre > 0 else -1)
            )
        total += sum(((value - centre) ** 2 for value in column), Fraction(0))
    return total


@numba.njit(cache=True)
def _two_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@numba.njit(cache=True)
def _two_product(a: float, b: float) -> tuple[float, float]:
    product = a * b
    a_high = (a * 134217729.0) - ((a * 134217729.0) - a)
    b_high = (b * 134217729.0) - ((b * 134217729.0) - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@numba.njit(cache=True)
def _add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    high, low = _two_sum(a, b)
    return _two_sum(high, low + a_low + b_low)


@numba.njit(cache=True)
def cut_column_compensated(column: Matrix, k: int) -> tuple[Labels, float]:
    """Cut one column with prefix sums and costs of about 32 digits each."""
    n = column.size
    sums, squares, cost = np.zeros((n + 1, 2)), np.zeros((n + 1, 2)), np.full((n + 1, 2), np.inf)
    cost[0] = 0.0
    sizes = np.zeros(n + 1, dtype=np.int64)
    for e in range(1, n + 1):
        value = column[e - 1]
        sums[e, 0], sums[e, 1] = _add(sums[e - 1, 0], sums[e - 1, 1], value, 0.0)
        square, square_low = _two_product(value, value)
        squares[e, 0], squares[e, 1] = _add(
            squares[e - 1, 0], squares[e - 1, 1], square, square_low
        )
        for m in range(min(2 * k - 1, e), k - 1, -1):
            if cost[e - m, 0] == np.inf:
                continue
            s, s_low = _add(sums[e, 0], sums[e, 1], -sums[e - m, 0], -sums[e - m, 1])
            q, q_low = _add(squares[e, 0], squares[e, 1], -squares[e - m, 0], -squares[e - m, 1])
            p, p_low = _two_product(s, s)
            p_low += 2.0 * s * s_low
            share = p / m
            back, back_low = _two_product(share, float(m))
            share_low = ((p - back) - back_low + p_low) / m
            loss, loss_low = _add(q, q_low, -share, -share_low)
            loss, loss_low = _add(loss, loss_low, cost[e - m, 0], cost[e - m, 1])
            better = loss < cost[e, 0] or (loss == cost[e, 0] and loss_low < cost[e, 1])
            if better:
                cost[e, 0], cost[e, 1] = loss, loss_low
                sizes[e] = m
    labels = np.empty(n, dtype=np.int64)
    e, count = n, 0
    while e > 0:
        labels[e - sizes[e] : e] = count
        e -= sizes[e]
        count += 1
    return count - 1 - labels, cost[n, 0]
