"""The linear programme that chooses fractions of the groups that are known."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algorithms.bounds.cuts import Cut, flattened, limit
from algorithms.types import Labels, Mask, Matrix

Group = tuple[int, ...]
Pair = tuple[int, int]

WHOLE = 1e-6
"""Fractions below this, or so near to 1, are taken for 0 and 1."""


MOST_NODES = 1_000
"""Nodes of the search for a partition of known groups."""


@dataclass(frozen=True)
class Rules:
    """Pairs of rows that groups must hold both or neither of, and pairs that no group may hold."""

    together: frozenset[Pair] = frozenset()
    apart: frozenset[Pair] = frozenset()

    def without(self, others: "Rules") -> list[Pair]:
        """List the pairs of rules that are not among others."""
        return sorted([*(self.together - others.together), *(self.apart - others.apart)])


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of rows, which a group is worth, and of cuts, which it costs more."""

    rows: Matrix
    cuts: dict[Cut, float] = field(default_factory=dict)

    def value(self) -> float:
        """Compute the bound, if no group costs less than it is worth."""
        return float(self.rows.sum() - sum(limit(cut) * p for cut, p in self.cuts.items()))

    def towards(self, other: "Prices", share: float) -> "Prices":
        """Move towards other prices by a share of the way."""
        cuts = {
            cut: (1.0 - share) * self.cuts.get(cut, 0.0) + share * other.cuts.get(cut, 0.0)
            for cut in {**self.cuts, **other.cuts}
        }
        return Prices((1.0 - share) * self.rows + share * other.rows, cuts)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a linear programme chooses, and its prices.

    Attributes
    ----------
    value : float
        What the fractions cost.
    groups : list of Group
    fractions : Matrix
        How much of each group is chosen.
    prices : Prices
    """

    value: float
    groups: list[Group]
    fractions: Matrix
    prices: Prices

    def parts(self) -> tuple[list[Group], Matrix]:
        """List the groups that are chosen in part, and their fractions."""
        some = (self.fractions > WHOLE) & (self.fractions < 1.0 - WHOLE)
        return [self.groups[i] for i in np.flatnonzero(some)], self.fractions[some]

    def partition(self) -> list[Group] | None:
        """List the groups if each is chosen whole or not at all, and they hold each row once."""
        whole = np.flatnonzero(self.fractions >= 1.0 - WHOLE)
        return partition(len(self.prices.rows), [self.groups[i] for i in whole])


class Programme:
    """The linear programme with the groups and cuts that are known.

    Attributes
    ----------
    costs : dict of Group to float
        The SSE of each group.
    cuts : list of Cut
    most : Matrix of shape (n,)
        The most that a row may pay, which keeps the programme feasible where groups are missing.
    """

    def __init__(self, x: Matrix) -> None:
        self.costs: dict[Group, float] = {}
        self.cuts: list[Cut] = []
        self.most = np.full(len(x), np.inf)
        self._x = x

    def add(self, groups: Iterable[Labels]) -> int:
        """Add groups that are new; return how many."""
        before = len(self.costs)
        for group in groups:
            rows = tuple(sorted(group.tolist()))
            if rows not in self.costs:
                members = self._x[group]
                self.costs[rows] = float(((members - members.mean(axis=0)) ** 2).sum())
        return len(self.costs) - before

    def solve(self, rules: Rules, seconds: float) -> Solution | None:
        """Solve the programme; return None if time runs out."""
        # imported late: reading a spec must not wait for scipy
        from scipy.optimize import linprog

        n, groups = len(self._x), list(self.costs)
        holds = _holds(n, groups)
        costs = np.array(list(self.costs.values()))
        most = np.where(_obeys(holds, rules), np.inf, 0.0)
        boxed = np.flatnonzero(np.isfinite(self.most))
        if boxed.size:
            from scipy.sparse import hstack

            holds = hstack([holds, _holds(n, [(row,) for row in boxed.tolist()])])
            costs = np.append(costs, self.most[boxed])
            most = np.append(most, np.full(boxed.size, np.inf))
        limits: dict[str, Any] = {}
        if self.cuts:
            limits = {"A_ub": _counted(self.cuts, holds), "b_ub": [limit(cut) for cut in self.cuts]}
        solved = linprog(
            costs,
            A_eq=holds,
            b_eq=np.ones(n),
            bounds=np.column_stack([np.zeros(most.size), most]),
            method="highs",
            options={"time_limit": seconds},
            **limits,
        )
        if solved.status != 0:
            return None
        paid = np.maximum(-solved.ineqlin.marginals, 0.0).tolist()
        prices = Prices(np.asarray(solved.eqlin.marginals), dict(zip(self.cuts, paid, strict=True)))
        return Solution(float(solved.fun), groups, solved.x[: len(groups)], prices)

    def keep(self, prices: Prices, most: float) -> None:
        """Forget groups that cost more than they are worth by more than ``most``."""
        groups = list(self.costs)
        costs = np.array(list(self.costs.values()))
        holds = _holds(len(self._x), groups)
        more = costs - holds.T @ prices.rows
        if prices.cuts:
            more += _counted(list(prices.cuts), holds).T @ np.array(list(prices.cuts.values()))
        self.costs = {groups[i]: float(costs[i]) for i in np.flatnonzero(more <= most)}

    def whole(self, seconds: float) -> list[Group] | None:
        """Look for a partition of known groups that costs least; return None if none is found."""
        from scipy.optimize import LinearConstraint, milp

        groups = list(self.costs)
        solved = milp(
            np.array(list(self.costs.values())),
            constraints=LinearConstraint(_holds(len(self._x), groups), 1.0, 1.0),
            integrality=1,
            bounds=(0.0, 1.0),
            options={"node_limit": MOST_NODES, "time_limit": max(seconds, 0.0)},
        )
        found = [] if solved.x is None else np.flatnonzero(solved.x > 0.5).tolist()
        return partition(len(self._x), [groups[i] for i in found])


def partition(n: int, groups: list[Group]) -> list[Group] | None:
    """Return the groups if they hold each row once."""
    rows = sorted(row for group in groups for row in group)
    return groups if rows == list(range(n)) else None


def _holds(n: int, groups: list[Group]) -> Any:
    """Lay out the rows that each group holds, as a matrix with a column for each group."""
    from scipy.sparse import csc_array

    starts = np.cumsum([0, *map(len, groups)])
    rows = np.array([row for group in groups for row in group], dtype=np.int64)
    return csc_array((np.ones(rows.size), rows, starts), shape=(n, len(groups)))


def _obeys(holds: Any, rules: Rules) -> Mask:
    """Choose the groups that obey rules, from a matrix of the rows that each group holds."""
    allowed = np.ones(holds.shape[1], dtype=np.bool_)
    by_row = holds.tocsr()
    for pairs, banned in ((rules.together, 1), (rules.apart, 2)):
        for i, j in pairs:
            held = np.zeros(allowed.size, dtype=np.int64)
            for row in (i, j):
                held[by_row.indices[by_row.indptr[row] : by_row.indptr[row + 1]]] += 1
            allowed &= held != banned
    return allowed


def _counted(cuts: list[Cut], holds: Any) -> Any:
    """Count what each group counts as in each cut."""
    from scipy.sparse import csr_array

    numbers, rows, parts = flattened(cuts)
    numerators = csr_array((parts, (numbers, rows)), shape=(len(cuts), holds.shape[0]))
    counted = (numerators @ holds).tocsr()
    denominators = np.array([denominator for denominator, _ in cuts], dtype=np.float64)
    # the numerators are whole: half of one more is safe from rounding
    counted.data = (counted.data + 0.5) // np.repeat(denominators, np.diff(counted.indptr))
    counted.eliminate_zeros()
    return counted
