"""Cohorts: groups that last over the releases of a series, with room for those who leave."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algorithms.search.neighbours import neighbours
from algorithms.series.annealing import anneal
from algorithms.series.keeping import blocks_of_last_groups, merge_lone
from algorithms.series.moves import descend, restructure
from algorithms.series.state import NEIGHBOURS, PRICE, SMALLEST_GAIN, Situation, State, state_of
from algorithms.types import Labels, Mask, Matrix, Watch, numbered

HIGHEST, RUNG, RUNGS = 64.0, 0.5**0.5, 32
"""Prices of exposure are tried from the highest downwards, in units of what MDAV loses per record,
until the loss is small enough."""

PASSES, FEWEST_PASSES, ALL_PASSES = 12, 3, 240_000
"""Most passes over all records at one price; for long tables, fewest, and records times passes."""

SLICES, STEPS, FEWEST_STEPS, ALL_STEPS = 80, 20, 2, 200_000
"""Slices of the annealing, and random moves per record in each; for long tables, fewest, and all
moves of a slice."""

HOT, COLD = 1.0, 0.01
"""Temperatures at the start and at the end, in units of what MDAV loses per record."""

LAST_SLICES, FINAL_CUT, FINAL_CUTS = 3, 0.93, 60
"""Slices that end with a descent; by how much, and how often, the price falls at the end until the
loss is small enough."""

HOPELESS = 1.1
"""Estimated loss, as a multiple of the largest one allowed, above which groups are not measured."""

DISCOUNT = 0.8
"""How much less a record that is muted one release later counts."""

MOST_CANDIDATES = 256
"""Candidates from which on nobody is expected to be muted."""


@dataclass(frozen=True)
class Cohorts:
    """How groups last over the releases of a series.

    Attributes
    ----------
    il_over_fresh : float
        Largest published loss, as a multiple of that of fresh groups of MDAV.
    leaving : float
        Share of a group that is expected to leave it from release to release.
    horizon : int
        Number of releases to come for which groups are kept large enough.
    """

    il_over_fresh: float = 1.25
    leaving: float = 0.1
    horizon: int = 8


def chances_of_muting(k: int, leaving: float, horizon: int) -> Matrix:
    """Estimate how much of the time to come a record is muted, by its number of candidates.

    A candidate is lost in each release with probability ``leaving``, independently of others. The
    record is muted as soon as it has fewer than ``k`` candidates, itself included. The new release,
    in which it is not muted, counts 1, and each later one less than the one before.

    Returns
    -------
    Matrix of shape (256,)
        Between 0 and 1; 1 for fewer than ``k`` candidates.

    Examples
    --------
    >>> chances_of_muting(k=2, leaving=0.5, horizon=1)[1:4].round(3)
    array([1.   , 0.222, 0.111])
    """
    weights = [DISCOUNT**h for h in range(1, horizon + 1)]
    chances = np.ones(MOST_CANDIDATES)
    for candidates in range(k, MOST_CANDIDATES):
        muted = sum(
            weight * _too_few(candidates - 1, k - 1, (1.0 - leaving) ** h)
            for h, weight in enumerate(weights, start=1)
        )
        chances[candidates] = muted / (1.0 + sum(weights))
    return chances


def _too_few(others: int, needed: int, staying: float) -> float:
    """Give the probability that fewer than ``needed`` of some others stay."""
    return math.fsum(
        math.comb(others, count) * staying**count * (1.0 - staying) ** (others - count)
        for count in range(min(needed, others + 1))
    )


def near_within(x: Matrix, blocks: Labels) -> Labels:
    """Find the nearest other records of each record in its block; itself where there are fewer."""
    near = np.repeat(np.arange(len(x))[:, np.newaxis], min(NEIGHBOURS, len(x) - 1), axis=1)
    order = np.argsort(blocks, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(blocks))[:-1]):
        count = min(NEIGHBOURS, len(rows) - 1)
        if count:
            near[rows, :count] = rows[neighbours(np.ascontiguousarray(x[rows]), count)]
    return near


def lasting_groups(
    facts: Situation,
    fresh: Labels,
    loss: Callable[[Labels], float],
    most: float,
    watch: Watch | None = None,
) -> tuple[Labels, Mask]:
    """Group records so that few must be muted, now and in the releases to come.

    Groups begin as those in which persons were last visible. Then records move, groups split,
    merge or are formed anew wherever that reduces the sum of squares plus a price times the
    exposure. The price falls until the published loss is small enough; after that random moves
    improve the groups, while the price is adjusted so that the loss stays at its limit. No group
    differs by exactly one person from a group of an earlier release, wherever that can be avoided.

    Parameters
    ----------
    facts : Situation
        The records, and the earlier groups of their persons.
    fresh : Labels of shape (n,)
        Groups that were formed without regard to other releases.
    loss : callable
        Gives the published loss of groups.
    most : float
        Largest published loss.
    watch : callable, optional
        Called with the progress.

    Returns
    -------
    labels : Labels of shape (n,)
        Group of each record.
    shown : Mask of shape (n,)
        Whether the record can be visible; the others must be muted.
    """
    search = _Search(facts, fresh, loss, most, watch)
    search.lower_the_price()
    if most > 0.0:
        search.anneal()
        search.lower_the_price_at_the_end()
    return search.best


class _Search:
    """The groups of a search, and the best of them so far that lose little enough."""

    def __init__(
        self,
        facts: Situation,
        fresh: Labels,
        loss: Callable[[Labels], float],
        most: float,
        watch: Watch | None,
    ) -> None:
        self.state = state_of(facts, blocks_of_last_groups(facts, fresh))
        self.loss, self.most, self.watch = loss, most, watch
        n = len(facts.x)
        self.passes = max(min(PASSES, ALL_PASSES // n), FEWEST_PASSES)
        self.steps = n * max(min(STEPS, ALL_STEPS // n), FEWEST_STEPS)
        self.least = math.inf
        self.unit = most / n
        self.state.prices[SMALLEST_GAIN] = 1e-7 * most
        unsearched = state_of(facts, fresh)
        self.best = _settled(unsearched)
        self.beyond_squares = loss(self.best[0]) - math.fsum(unsearched.squares)
        """What rounding and weights add to the sum of squares, at the last look."""

    def lower_the_price(self) -> None:
        """Lower the price from a high one until the loss is small enough."""
        price = HIGHEST * self.unit
        for rung in range(RUNGS + 1):
            self.state.prices[PRICE] = price if rung < RUNGS else 0.0
            descend(self.state, self.passes)
            self._report(0.3 * rung / RUNGS)
            if self._keep():
                break
            price *= RUNG

    def anneal(self) -> None:
        """Improve the groups by random moves; the price keeps the loss at its limit."""
        for part in range(SLICES):
            share = part / (SLICES - 1)
            anneal(self.state, self.steps, self.unit * HOT * (COLD / HOT) ** share)
            restructure(self.state)
            if part >= SLICES - LAST_SLICES:
                descend(self.state, self.passes // 2)
            self._keep()
            ratio = (self._squares + self.beyond_squares) / self.most
            if ratio > 1.0 or share > 0.2:
                self.state.prices[PRICE] *= min(max(ratio**-4, 0.7), 1.4)
            self._report(0.3 + 0.7 * share)

    def lower_the_price_at_the_end(self) -> None:
        """Lower the price a little at a time until the loss is small enough."""
        for _ in range(FINAL_CUTS):
            if self._keep():
                break
            self.state.prices[PRICE] *= FINAL_CUT
            descend(self.state, self.passes // 3)

    @property
    def _squares(self) -> float:
        return math.fsum(self.state.squares)

    def _keep(self) -> bool:
        """Keep the groups if they are allowed and the best so far; return whether they are allowed.

        Computing the published loss takes time, so groups far beyond the limit are not looked at.
        """
        squares = self._squares
        if self.state.lone.any() or squares + self.beyond_squares > HOPELESS * self.most:
            return False
        labels, shown = _settled(self.state)
        published = self.loss(labels)
        self.beyond_squares = published - squares
        if published > self.most:
            return False
        exposed = math.fsum(self.state.exposures)
        if exposed < self.least:
            self.best, self.least = (labels, shown), exposed
        return True

    def _report(self, share: float) -> None:
        if self.watch is not None:
            self.watch(int(share * SLICES), share)


def _settled(state: State) -> tuple[Labels, Mask]:
    """Give the groups without gaps in their numbers, and which records are visible."""
    merge_lone(state)
    return numbered(state.labels), state.shown.copy()
