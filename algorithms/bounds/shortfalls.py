"""Proves bounds from prices: by how much groups may cost less than they are worth."""

import time
from dataclasses import dataclass
from itertools import chain

import numpy as np

from algorithms.bounds.cuts import cut_arrays
from algorithms.bounds.guessing import all_squares
from algorithms.bounds.pricing import TINY, answer
from algorithms.bounds.programme import Prices, Rules
from algorithms.types import Labels, Mask, Matrix

SAME = 1e-9
"""Prices that differ by this share are kept as they were."""


@dataclass(frozen=True, eq=False)
class Proof:
    """What prices prove.

    Attributes
    ----------
    bound : float
        No partition that obeys the rules costs less.
    reached : float
        The bound if there are no groups but those that were looked at.
    prices : Prices
    groups : list of Labels
        Groups that cost less than they are worth.
    """

    bound: float
    reached: float
    prices: Prices
    groups: list[Labels]


class Shortfalls:
    """The shortfall of each row at the last prices, which is looked for again only if it may grow.

    Of every group that falls short, one row is known to fall short by as much or more. If no price
    of its rows rose, and no cut that it pays for became cheaper, the group falls short by no more
    than before. That row then still bounds it, unless it is searched again: the row may answer for
    the group no longer, so all rows are searched again that may do so in its place.

    Attributes
    ----------
    squares : Matrix of shape (n, n)
        Squared distances; infinite where rules keep rows apart.
    near : Labels of shape (n, width)
        The nearest others of each row.
    sums : Matrix of shape (n, 2 k - 1)
        Sums of the squared distances to the 0, 1, ... nearest others.
    """

    def __init__(self, x: Matrix, k: int, width: int) -> None:
        n = len(x)
        self.squares = all_squares(np.ascontiguousarray(x))
        self.near, self.sums = _nearest(self.squares, k, width)
        self._k, self._rules, self._work = k, Rules(), 0
        self._prices = Prices(np.full(n, -np.inf))
        self._found, self._proven = np.full(n, -np.inf), np.full(n, -np.inf)
        self._kept: dict[tuple[int, int], float] = {}

    def prove(self, prices: Prices, rules: Rules, work: int, deadline: float) -> Proof:
        """Prove a bound from prices.

        Parameters
        ----------
        prices : Prices
        rules : Rules
        work : int
            Pairs of rows that may be looked at for one row and one size of its group.
        deadline : float
            When to give up.
        """
        prices = _kept(prices, self._prices)
        again = self._again(prices, rules, work)
        cuts, ring = cut_arrays(len(again), prices.cuts), ring_of(len(again), rules)
        group = np.zeros(2 * self._k - 1, dtype=np.int64)
        groups = []
        for row in np.flatnonzero(again).tolist():
            self._proven[row] = self._found[row] = -np.inf
            if time.monotonic() > deadline:
                continue
            size, self._found[row], self._proven[row] = answer(
                self.squares, self.sums, prices.rows, cuts, ring, self._k, work, row, group
            )
            if size:
                groups.append(group[:size].copy())
        # a partition has no more groups than this
        most = len(again) // self._k
        reached, bound = (
            prices.value() + float(np.sort(least)[:most].sum())
            for least in (self._found, self._proven)
        )
        return Proof(bound, reached, prices, groups)

    def _again(self, prices: Prices, rules: Rules, work: int) -> Mask:
        """Choose rows whose shortfall may be larger than it was, or was not proven to be 0."""
        raised, changed = prices.rows > self._prices.rows, prices.rows != self._prices.rows
        for cut in {**prices.cuts, **self._prices.cuts}:
            before, after = (found.cuts.get(cut, 0.0) for found in (self._prices, prices))
            if after != before:
                members = [row for row, _ in cut[1]]
                changed[members] = True
                raised[members] |= after < before
        lifted = list(chain.from_iterable(self._rules.without(rules)))
        raised[lifted] = changed[lifted] = True
        changed[list(chain.from_iterable(rules.without(self._rules)))] = True
        for pair in self._rules.apart - rules.apart:
            self.squares[pair] = self.squares[pair[::-1]] = self._kept.pop(pair)
        for pair in rules.apart - self._rules.apart:
            self._kept[pair] = float(self.squares[pair])
            self.squares[pair] = self.squares[pair[::-1]] = np.inf
        short = self._proven < -2.0 * TINY
        again = self._seen_from(prices, raised) | (short & self._seen_from(prices, changed))
        if work > self._work:
            again |= self._proven < self._found
        before = -1
        while before < again.sum():
            before = int(again.sum())
            # another row may now answer for the group that a row answered for
            again |= self._seen_from(prices, again & short)
        self._prices, self._rules, self._work = prices, rules, work
        return again

    def _seen_from(self, prices: Prices, rows: Mask) -> Mask:
        """Choose rows that may answer for a group that holds one of some rows."""
        if rows.all():
            return rows
        reach = 2.0 * (2 * self._k - 1) * prices.rows
        seen: Mask = np.any(self.squares[:, rows] < reach[:, np.newaxis], axis=1)
        return seen | rows


def _kept(prices: Prices, before: Prices) -> Prices:
    """Keep the prices that have hardly changed."""
    near = np.abs(prices.rows - before.rows) <= SAME * np.abs(prices.rows)
    cuts = {}
    for cut, price in prices.cuts.items():
        old = before.cuts.get(cut, 0.0)
        cuts[cut] = old if abs(price - old) <= SAME * price else price
    return Prices(np.where(near, before.rows, prices.rows), cuts)


def ring_of(n: int, rules: Rules) -> Labels:
    """Tie rows that must be together into rings: list the next of each, itself if it is alone."""
    ring = np.arange(n)
    for i, j in sorted(rules.together):
        row = ring[i]
        while row not in (i, j):
            row = ring[row]
        if row != j:
            ring[i], ring[j] = ring[j], ring[i]
    return ring


def _nearest(squares: Matrix, k: int, width: int) -> tuple[Labels, Matrix]:
    """Find the nearest others of each row, and add up its squared distances to them."""
    n = len(squares)
    width = min(max(width, 2 * k - 2), n - 1)
    near = np.empty((n, width), dtype=np.int64)
    sums = np.full((n, 2 * k - 1), np.inf)
    count = min(width, 2 * k - 2)
    for row in range(n):
        ranked = np.argsort(squares[row], kind="stable")
        near[row] = ranked[ranked != row][:width]
        sums[row, : count + 1] = np.cumsum([0.0, *squares[row, near[row, :count]]])
    return near, sums
