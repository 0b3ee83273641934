"""Raises a bound by columns and cuts, for partitions that obey some rules."""

import time
from dataclasses import dataclass

import numpy as np

from algorithms.bounds.guessing import guess
from algorithms.bounds.pricing import TINY
from algorithms.bounds.programme import Group, Prices, Programme, Rules, Solution
from algorithms.bounds.separation import violated_cuts
from algorithms.bounds.shortfalls import Proof, Shortfalls
from algorithms.types import Labels, Matrix

GUESS_NEIGHBOURS = 30
"""Rows around each row from which groups are guessed, or as many as a group may need."""

CALM, CALMER = 0.3, 0.6
"""Weight of the previous prices among those that are tried next, when groups are searched and when
they are guessed: the prices of the programme alone oscillate."""

FIRST_WORK, WORK_FACTOR, MOST_WORK = 2**17, 4, 2**28
"""Pairs of rows looked at for one row and one size of its group: at first, the factor by which they
rise if that is not enough, and the limit."""

LEAST_SAVING, FAILED_GUESSES = 1e-5, 8
"""Share of the programme's value that guesses must save, and how many in a row may fail to."""

NEAR, VERY_NEAR = 0.1, 0.01
"""Share of the gap to the best partition that the bound may lack of the programme's value when cuts
are added, and when there are no more cuts."""

LEAST_GAIN, FAILED_CUTS = 0.01, 4
"""Share of the gap that cuts must close, and how often in a row they may fail to."""

SHARE_FOR_WHOLE = 0.2
"""Share of the time left that may be spent on a partition of the groups known."""

OPTIMAL = 1e-7
"""Share of its SSE by which a partition may exceed a bound that proves it optimal."""


@dataclass(frozen=True, eq=False)
class Node:
    """Partitions that obey rules, and what is proven of them.

    Attributes
    ----------
    rules : Rules
    bound : float
        None of them costs less.
    prices : Prices
        The prices that prove it.
    """

    rules: Rules
    bound: float
    prices: Prices


class Relaxation:
    """The linear programme, its proofs, and the best partition that is known.

    Parameters
    ----------
    x : Matrix of shape (n, d)
    k : int
        Least group size.
    labels : Labels of shape (n,)
        A partition into groups of at least ``k`` rows.
    seconds, rounds : float and int
        The budget; the first to be spent ends the search.

    Attributes
    ----------
    groups : list of Group
        The best partition that is known.
    best : float
        Its SSE.
    rounds : int
        How often prices were tested.
    """

    def __init__(self, x: Matrix, k: int, labels: Labels, seconds: float, rounds: float) -> None:
        n = len(x)
        self.k, self.rounds = k, 0
        self.shortfalls = Shortfalls(x, k, GUESS_NEIGHBOURS)
        self.programme = Programme(x)
        self.programme.add(np.flatnonzero(labels == group) for group in range(labels.max() + 1))
        self.groups = list(self.programme.costs)
        self.best = sum(self.programme.costs.values())
        near = self.shortfalls.near
        for size in range(k - 1, min(k, n - 1) + 1):
            self.programme.add(np.append(near[row, :size], row) for row in range(n))
        self._deadline, self._most_rounds = time.monotonic() + seconds, rounds
        self._work = FIRST_WORK

    @property
    def enough(self) -> float:
        """A bound that proves the best partition known to be optimal."""
        return (1.0 - OPTIMAL) * self.best - TINY

    def solve(self, rules: Rules) -> Solution | None:
        """Solve the programme, or return None if the budget is spent."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0.0 or self.rounds >= self._most_rounds:
            return None
        solution = self.programme.solve(rules, seconds)
        if solution is not None:
            self._consider(solution.partition())
        return solution

    def root(self) -> tuple[Node, Solution | None]:
        """Prove a bound for all partitions; return it with the last solution of the programme."""
        # the prices of the neighbour bound, which no group can beat
        prices = Prices(self.shortfalls.sums[:, self.k - 1] / (2 * self.k))
        root = Node(Rules(), prices.value(), prices)
        root, solution = self.tighten(root, self._guess(prices))
        if solution is not None and root.bound < self.enough:
            # a group that costs so much more than it is worth is in no better partition
            self.programme.keep(root.prices, self.best - root.bound + TINY)
            seconds = (self._deadline - time.monotonic()) * SHARE_FOR_WHOLE
            self._consider(self.programme.whole(seconds))
        return root, solution

    def tighten(self, node: Node, start: Prices | None = None) -> tuple[Node, Solution | None]:
        """Raise the bound of a node by columns and cuts, until these hardly help.

        Parameters
        ----------
        node : Node
        start : Prices, optional
            Prices near those to be tried, if those of the node are not.

        Returns
        -------
        node : Node
            With its new bound.
        solution : Solution or None
            The last of the programme, or None if the budget is spent.
        """
        rules, bound, proven = node.rules, node.bound, node.prices
        prices = start or proven
        self.programme.cuts = list(prices.cuts)
        solution = self.solve(rules)
        calm, failed, before = CALM, 0, -np.inf
        while solution is not None and bound < self.enough:
            tried = solution.prices.towards(prices, calm)
            proof = self.shortfalls.prove(tried, rules, self._work, self._deadline)
            self.rounds += 1
            if proof.bound > bound:
                bound, proven, prices = proof.bound, proof.prices, proof.prices
            space, gap = solution.value - bound, self.best - bound
            more_work = self._needs_more_work(proof, solution)
            added = self.programme.add(proof.groups)
            cuts = 0
            if space < NEAR * gap and failed < FAILED_CUTS:
                cuts = self._cut(solution, prices)
            if cuts:
                failed = failed + 1 if solution.value - before < LEAST_GAIN * gap else 0
                before = solution.value
            elif space < VERY_NEAR * gap and not more_work:
                break
            if added or cuts:
                calm, solution = CALM, self.solve(rules)
            elif not more_work:
                if calm == 0.0:
                    break
                calm = 0.0  # test the prices of the programme themselves
        return Node(rules, bound, proven), solution

    def _consider(self, groups: list[Group] | None) -> None:
        """Remember a partition if it is the best so far."""
        if groups is None:
            return
        sse = sum(self.programme.costs[group] for group in groups)
        if sse < self.best:
            self.groups, self.best = groups, sse

    def _guess(self, prices: Prices) -> Prices:
        """Add groups that are easily found; return the moving average of prices."""
        n, k = len(prices.rows), self.k
        members, sizes = np.zeros((n, 2 * k - 1), dtype=np.int64), np.zeros(n, dtype=np.int64)
        solution = self.solve(Rules())
        calm, flat = CALMER, 0
        while solution is not None and flat < FAILED_GUESSES:
            prices = solution.prices.towards(prices, calm)
            guess(self.shortfalls.squares, self.shortfalls.near, prices.rows, k, members, sizes)
            if self.programme.add([members[row, : sizes[row]] for row in np.flatnonzero(sizes)]):
                before = solution.value
                calm, solution = CALMER, self.solve(Rules())
                saved = solution is not None and before - solution.value > LEAST_SAVING * before
                flat = 0 if saved else flat + 1
            elif calm == 0.0:
                break
            else:
                calm = 0.0
        return prices

    def _needs_more_work(self, proof: Proof, solution: Solution) -> bool:
        """Grant more work if groups that were not looked at are most of what the bound lacks."""
        unseen = proof.reached - proof.bound
        lacks = max((solution.value - proof.bound) / 2.0, OPTIMAL * self.best)
        if not unseen > lacks or self._work >= MOST_WORK:
            return False
        self._work = min(WORK_FACTOR * self._work, MOST_WORK)
        return True

    def _cut(self, solution: Solution, prices: Prices) -> int:
        """Add cuts that a solution violates in place of those that nothing pays for; count them."""
        known = self.programme.cuts
        cuts = violated_cuts(solution, set(known))
        if cuts:
            paid = (solution.prices.cuts, prices.cuts)
            kept = [cut for cut in known if any(prices.get(cut, 0.0) > 0.0 for prices in paid)]
            self.programme.cuts = kept + cuts
        return len(cuts)
