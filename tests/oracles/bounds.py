"""The best of all partitions, one by one, and bounds from all pairs."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog

from algorithms.bounds.cuts import Cut
from algorithms.bounds.programme import Prices, Rules
from algorithms.types import Matrix

NO_RULES = Rules()


def least_sse(tables: Matrix, k: int, weights: Matrix | None = None) -> Matrix:
    """Try all partitions of each of some tables of one shape, as subsets of rows in bits."""
    n = tables.shape[1]
    amounts = np.ones(n) if weights is None else weights
    best = np.full((2**n, len(tables)), np.inf)
    best[0] = 0.0
    sse = np.empty_like(best)
    for rows in range(1, 2**n):
        chosen = [row for row in range(n) if rows >> row & 1]
        group, own = tables[:, chosen], amounts[chosen, np.newaxis]
        centres = (own * group).sum(axis=1, keepdims=True) / own.sum()
        sse[rows] = (own * (group - centres) ** 2).sum(axis=(1, 2))
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


def all_groups(x: Matrix, k: int, rules: Rules = NO_RULES) -> list[tuple[tuple[int, ...], float]]:
    """List every group of ``k`` to ``2k - 1`` rows that obeys rules, and its SSE."""
    return [
        (group, float(((x[list(group)] - x[list(group)].mean(axis=0)) ** 2).sum()))
        for size in range(k, min(2 * k - 1, len(x)) + 1)
        for group in itertools.combinations(range(len(x)), size)
        if obeys(group, rules)
    ]


def obeys(group: tuple[int, ...], rules: Rules) -> bool:
    """Check that a group holds both or neither of each pair that is together, and no pair apart."""
    return all((i in group) == (j in group) for i, j in rules.together) and not any(
        i in group and j in group for i, j in rules.apart
    )


def all_partitions(rows: tuple[int, ...], k: int) -> Iterator[list[tuple[int, ...]]]:
    """List every partition of some rows into groups of at least ``k``."""
    if not rows:
        yield []
    for size in range(k, len(rows) + 1):
        for others in itertools.combinations(rows[1:], size - 1):
            group = (rows[0], *others)
            rest = tuple(row for row in rows if row not in group)
            yield from ([group, *groups] for groups in all_partitions(rest, k))


def least_sse_with_rules(x: Matrix, k: int, rules: Rules) -> float:
    """Try all partitions that obey rules; infinite if there is none."""
    costs = dict(all_groups(x, k, rules))
    return min(
        (
            sum(costs[group] for group in groups)
            for groups in all_partitions(tuple(range(len(x))), k)
            if all(group in costs for group in groups)
        ),
        default=np.inf,
    )


def counted(cut: Cut, group: tuple[int, ...]) -> int:
    """Count what a group counts as in a cut."""
    denominator, parts = cut
    return sum(part for row, part in parts if row in group) // denominator


def violation(cut: Cut, groups: list[tuple[int, ...]], fractions: Matrix) -> float:
    """Compute by how much fractions of groups count more than a cut allows."""
    denominator, parts = cut
    most = sum(part for _, part in parts) // denominator
    counts = [fraction * counted(cut, g) for g, fraction in zip(groups, fractions, strict=True)]
    return float(sum(counts) - most)


def fractional_sse(x: Matrix, k: int) -> float:
    """Choose fractions of groups that hold each row once, at the least SSE."""
    _, solved = _fractions(x, k)
    return float(solved.fun)


def fractions_of_groups(x: Matrix, k: int) -> tuple[list[tuple[int, ...]], Matrix]:
    """Choose fractions of groups that hold each row once, at the least SSE; return them."""
    groups, solved = _fractions(x, k)
    return groups, np.asarray(solved.x)


def _fractions(x: Matrix, k: int) -> tuple[list[tuple[int, ...]], Any]:
    groups, costs = zip(*all_groups(x, k), strict=True)
    holds = np.array([[float(row in group) for group in groups] for row in range(len(x))])
    return list(groups), linprog(costs, A_eq=holds, b_eq=np.ones(len(x)))


def shortfalls(x: Matrix, k: int, prices: Prices, rules: Rules = NO_RULES) -> Matrix:
    """Find by how much the groups that each row answers for cost less than they are worth."""
    squares = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
    short = np.zeros(len(x))
    for group, cost in all_groups(x, k, rules):
        members = list(group)
        shares = squares[np.ix_(members, members)].sum(axis=1) / (2 * len(members))
        row = members[int((shares - prices.rows[members]).argmin())]
        paid = sum(price * counted(cut, group) for cut, price in prices.cuts.items())
        short[row] = min(short[row], cost + paid - prices.rows[members].sum())
    return short
