"""The best of all partitions, one by one, and bounds from all pairs."""

import itertools

import numpy as np
from scipy.optimize import linprog

from algorithms.types import Matrix


def least_sse(tables: Matrix, k: int) -> Matrix:
    """Try all partitions of each of some tables of one shape, as subsets of rows in bits."""
    n = tables.shape[1]
    best = np.full((2**n, len(tables)), np.inf)
    best[0] = 0.0
    sse = np.empty_like(best)
    for rows in range(1, 2**n):
        group = tables[:, [row for row in range(n) if rows >> row & 1]]
        sse[rows] = ((group - group.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
        lowest = rows & -rows
        group_bits = rows
        while group_bits:
            # each partition once: by the group that holds its lowest row
            if group_bits & lowest and group_bits.bit_count() >= k:
                best[rows] = np.minimum(best[rows], sse[group_bits] + best[rows ^ group_bits])
            group_bits = (group_bits - 1) & rows
    found: Matrix = best[-1]
    return found


def squares(x: Matrix) -> Matrix:
    found: Matrix = ((x[:, np.newaxis] - x[np.newaxis]) ** 2).sum(axis=2)
    return found


def neighbour_bound(x: Matrix, k: int) -> float:
    return float(np.sort(squares(x), axis=1)[:, 1:k].sum() / (2 * k))


def best_weighted_bound(x: Matrix, k: int) -> float:
    """Solve the linear programme: the cheapest pairs, in parts, that meet each row k - 1 times."""
    n = len(x)
    first, second = np.triu_indices(n, 1)
    pairs = np.arange(first.size)
    meets = np.zeros((n, first.size))
    meets[first, pairs] = meets[second, pairs] = 1.0
    found = linprog(squares(x)[first, second], -meets, np.full(n, 1.0 - k), bounds=(0.0, 1.0))
    return float(found.fun) / k


def all_groups(x: Matrix, k: int) -> list[tuple[tuple[int, ...], float]]:
    """List every group of ``k`` to ``2k - 1`` rows, and its SSE."""
    return [
        (group, float(((x[list(group)] - x[list(group)].mean(axis=0)) ** 2).sum()))
        for size in range(k, min(2 * k - 1, len(x)) + 1)
        for group in itertools.combinations(range(len(x)), size)
    ]


def fractional_sse(x: Matrix, k: int) -> float:
    """Choose fractions of groups that hold each row once, at the least SSE."""
    groups = all_groups(x, k)
    holds = np.array([[float(row in group) for group, _ in groups] for row in range(len(x))])
    solved = linprog([cost for _, cost in groups], A_eq=holds, b_eq=np.ones(len(x)))
    return float(solved.fun)


def shortfalls(x: Matrix, k: int, prices: Matrix) -> Matrix:
    """Find by how much the groups that each row answers for cost less than their prices."""
    squares = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
    short = np.zeros(len(x))
    for group, cost in all_groups(x, k):
        members = list(group)
        shares = squares[np.ix_(members, members)].sum(axis=1) / (2 * len(members))
        row = members[int((shares - prices[members]).argmin())]
        short[row] = min(short[row], cost - prices[members].sum())
    return short
