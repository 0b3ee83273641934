"""A lower bound close to the optimum, for small tables: all groups in a linear programme."""

from dataclasses import dataclass

import numpy as np

from algorithms.bounds.branching import branch_and_price
from algorithms.bounds.pricing import TINY
from algorithms.bounds.programme import Group
from algorithms.bounds.relaxation import Relaxation
from algorithms.local_search.search import search
from algorithms.types import Labels, Matrix

LARGEST_TABLE = 5_000
"""Rows of the largest table; the squared distances of all pairs are in memory."""


@dataclass(frozen=True)
class GroupBound:
    """A lower bound from groups.

    Attributes
    ----------
    value : float
        No partition into groups of at least ``k`` rows has a smaller SSE, rounding aside.
    rounds : int
        How often prices were tested.
    cuts : int
        How many cuts have a price in the proof for all partitions.
    groups : tuple of Group
        The best partition known: the start, improved by local search, or a better one that was
        found on the way.
    optimal : bool
        Whether its SSE exceeds the value by a ten-millionth at most.
    """

    value: float
    rounds: int
    cuts: int
    groups: tuple[Group, ...]
    optimal: bool


def group_bound(
    x: Matrix, k: int, start: Labels, seconds: float, rounds: float = np.inf
) -> GroupBound:
    """Bound the SSE of any partition from below, by prices of rows that no group can beat.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records, ``k <= n <= LARGEST_TABLE``.
    k : int
        Smallest group allowed.
    start : Labels of shape (n,)
        Groups to start from, the better the sooner the bound is close. If one of them holds fewer
        than ``k`` rows, the start is one group of all rows, which the local search divides.
    seconds : float
        When to stop, counted from the end of the local search; what is proven by then is a bound.
    rounds : float
        How often prices may be tested. If this ends the search, and not time, the bound does not
        depend on the machine.

    Notes
    -----
    A partition is a choice of groups that holds each row once, and a group of ``2k`` rows or more
    could be divided at no loss. If fractions of groups may be chosen as well, the least loss is the
    value of a linear programme with a column for each group of ``k`` to ``2k - 1`` rows, and never
    exceeds that of a partition. Its dual gives each row a price, such that no group costs less than
    the prices of its rows; columns are generated where one does.

    Fractions lose less than partitions, so cuts are added: inequalities that every partition meets.
    At most one group holds two of three rows or more [JPSP08]_; in general, each row of a set
    counts as a fraction, a group counts as the sum over its rows rounded down, and all groups
    together count at most as much as the set, rounded down. A cut has a price too, which a group
    pays in addition to its SSE, as often as it counts.

    The bound holds for any prices p of rows and any prices q of cuts that are not negative. Let a
    group G of m rows cost its SSE and what it pays for cuts. The SSE is the sum of squared
    distances over all pairs, divided by m; half of each pair's share is that of either row. If G
    costs less than the prices of its rows, so does its SSE, and so does the share of one row: let
    the row that falls short most answer for G. Each row answers for one group of a partition at
    most, and of these there are at most n / k, hence::

        sum over rows of p_i - sum over cuts of limit_c q_c + sum over the n / k least s_i

    is a bound, where s_i is the least of cost(G) - p(G) for which i answers, or 0. The programme
    only suggests prices. At first groups are guessed, for as long as that lowers the value of the
    programme. Then those for which a row answers are searched by branch and bound, and where that
    takes too long, the rest is counted with its bound.

    Where cuts no longer help, partitions are divided into those with two rows in one group and
    those with the two apart, each with a bound of its own. This ends with the SSE of a best
    partition, or with the budget.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [8.0], [9.0]])
    >>> found = group_bound(x, k=2, start=np.array([0, 0, 1, 1]), seconds=60.0)
    >>> round(found.value, 6), found.optimal
    (2.5, True)
    """
    if np.bincount(start).min() < k:
        start = np.zeros(len(x), dtype=np.int64)
    labels = search(x, start, k, iterations=20 * (len(x) // k))
    relaxation = Relaxation(x, k, labels, seconds, rounds)
    root, solution = relaxation.root()
    bound = branch_and_price(relaxation, root, solution)
    return GroupBound(
        min(bound, relaxation.best) * (1.0 - TINY),
        relaxation.rounds,
        sum(price > 0.0 for price in root.prices.cuts.values()),
        tuple(sorted(relaxation.groups)),
        bool(bound >= relaxation.enough),
    )
