"""Branch and bound over pairs of rows, so that a best partition can be proven optimal."""

import heapq

import numpy as np

from algorithms.bounds.programme import WHOLE, Pair, Rules, Solution
from algorithms.bounds.relaxation import Node, Relaxation

TRIED_PAIRS = 6
"""Pairs whose branches are compared before one is chosen."""


def branch_and_price(relaxation: Relaxation, root: Node, solution: Solution | None) -> float:
    """Raise the bound of all partitions by branches, until it is proven or time runs out.

    In one branch two rows are together, in the other they are apart. All partitions are in the
    leaves, so the least bound of these is a bound.

    Parameters
    ----------
    relaxation : Relaxation
    root : Node
        All partitions, and the bound from columns and cuts.
    solution : Solution or None
        That of the programme at the root.
    """
    # a row pays more only in branches that cost more than the best partition
    gap = relaxation.best - root.bound
    relaxation.programme.most = np.maximum(root.prices.rows, 0.0) + 2.0 * gap
    leaves, count = [(root.bound, 0, root, solution)], 0
    while True:
        bound, _, node, solution = leaves[0]
        if bound >= relaxation.enough or solution is None:
            return bound
        pair = _pair(relaxation, node, solution)
        if pair is None:
            return bound
        heapq.heappop(leaves)
        for rules in _branches(node.rules, pair):
            child, solved = relaxation.tighten(Node(rules, bound, node.prices))
            count += 1
            heapq.heappush(leaves, (child.bound, count, child, solved))


def _branches(rules: Rules, pair: Pair) -> tuple[Rules, Rules]:
    return (
        Rules(rules.together | {pair}, rules.apart),
        Rules(rules.together, rules.apart | {pair}),
    )


def _pair(relaxation: Relaxation, node: Node, solution: Solution) -> Pair | None:
    """Choose the pair whose two branches cost most more; None if groups are whole, or no time."""
    together: dict[Pair, float] = {}
    groups, fractions = solution.parts()
    for group, fraction in zip(groups, fractions.tolist(), strict=True):
        for place, i in enumerate(group):
            for j in group[place + 1 :]:
                together[i, j] = together.get((i, j), 0.0) + fraction
    paid = node.prices.rows
    promise = {
        pair: min(share, 1.0 - share) * (paid[pair[0]] + paid[pair[1]])
        for pair, share in together.items()
        if WHOLE < share < 1.0 - WHOLE
    }
    pairs = sorted(promise, key=lambda pair: (-promise[pair], pair))[:TRIED_PAIRS]
    relaxation.programme.cuts = list(node.prices.cuts)
    gap = relaxation.best - node.bound
    best, most = None, -1.0
    for pair in pairs:
        product = 1.0
        for rules in _branches(node.rules, pair):
            solved = relaxation.solve(rules)
            if solved is None:
                return None
            product *= min(max(solved.value - node.bound, 0.0), gap)
        if product > most:
            best, most = pair, product
    return best
