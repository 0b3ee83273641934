"""Shares of partitions, and the semidefinite bound in exact arithmetic."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import minimize

from algorithms.types import Matrix

Exact = list[list[Fraction]]


def shares_of(labels: Sequence[int]) -> Matrix:
    """Give each pair of rows in a group of m the share 1/m."""
    groups = np.asarray(labels)
    together = groups[:, np.newaxis] == groups
    shares: Matrix = together / together.sum(axis=1)
    return shares


def exact(matrix: Matrix) -> Exact:
    return [[Fraction(float(value)) for value in row] for row in matrix]


def is_semidefinite(matrix: Exact) -> bool:
    """Eliminate row by row: no pivot is negative, and one of 0 leaves a row of zeros."""
    rest = [row[:] for row in matrix]
    n = len(rest)
    for i in range(n):
        if rest[i][i] < 0 or (rest[i][i] == 0 and any(rest[i][j] for j in range(i, n))):
            return False
        if rest[i][i] > 0:
            for j in range(i + 1, n):
                factor = rest[j][i] / rest[i][i]
                for c in range(i, n):
                    rest[j][c] -= factor * rest[i][c]
    return True


def half_squares(x: Matrix) -> Exact:
    rows = exact(x)
    return [
        [
            sum(((a - b) ** 2 for a, b in zip(one, two, strict=True)), Fraction(0)) / 2
            for two in rows
        ]
        for one in rows
    ]


def least_of_rows(altered: Exact, k: int) -> Fraction:
    """Add up the least that each row's pairs can cost in a group of any size."""
    n = len(altered)
    total = Fraction(0)
    for row in range(n):
        others = sorted(altered[row][:row] + altered[row][row + 1 :])
        total += min(
            (altered[row][row] + sum(others[: size - 1])) / size
            for size in range(k, min(2 * k - 1, n) + 1)
        )
    return total


def grown_stars(z: Matrix, centre: int, arms: int) -> dict[tuple[int, ...], float]:
    """Grow a star from any two rows by those that add most; give the violation of each."""
    support = [j for j in range(len(z)) if j != centre and z[centre, j] > 0.05 * z[centre, centre]]

    def violation(star: tuple[int, ...]) -> float:
        across = sum(z[j, m] for j, m in combinations(star, 2))
        return float(sum(z[centre, j] for j in star) - across - z[centre, centre])

    grown = {}
    for star in combinations(support, 2):
        while len(star) < arms and len(star) < len(support):
            joining = ((*star, j) for j in support if j not in star)
            star = max(joining, key=violation)
        if len(star) == arms:
            grown[tuple(sorted(star))] = violation(star)
    return grown


def closest_shares(cost: Matrix, target: Matrix, stiff: Matrix, own: int, k: int) -> Matrix:
    """Find the shares of a row that cost least with their squared distance from a target."""
    n = cost.size

    def loss(shares: Matrix) -> float:
        return float(cost @ shares + (stiff * (shares - target) ** 2).sum() / 2.0)

    found = minimize(
        loss,
        np.full(n, 1.0 / n),
        jac=lambda shares: cost + stiff * (shares - target),
        bounds=[(1.0 / (2 * k - 1), 1.0 / k) if j == own else (0.0, 1.0 / k) for j in range(n)],
        constraints=[
            {"type": "eq", "fun": lambda shares: shares.sum() - 1.0, "jac": lambda _: np.ones(n)},
            {
                "type": "ineq",
                "fun": lambda shares: shares[own] - np.delete(shares, own),
                "jac": lambda _: np.delete(np.eye(n)[own] - np.eye(n), own, axis=0),
            },
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    shares: Matrix = found.x
    return shares
