"""Chains: copies of the groups that are annealed at the same time and exchange their changes.

Between two exchanges each chain anneals on its own, and its changes stay near the groups that it
dissolves. An exchange makes one partition of all of them: it takes over the changes of every chain
where these do not meet. Where two chains changed the same records, the groups that lose less are
kept. So two chains get about as far as one chain that makes the rounds of both.
"""

import math

import numpy as np

from algorithms.jit import in_threads, kernel
from algorithms.local_search.anneal import anneal
from algorithms.local_search.groups import RANDOM, SPARE, Groups, fill
from algorithms.random_numbers import seeded
from algorithms.types import Labels, Mask, Matrix

SHARED = frozenset({"x", "near", "facts", "origin", "step", "units"})
"""Arrays of groups that never change."""


class Chains:
    """Chains that begin with the same groups.

    The groups depend on the number of chains and on the seed, never on the number of threads.

    Parameters
    ----------
    groups : Groups
        Where all chains begin; the first chain changes them.
    count : int
        Number of chains.
    seed : int
        Seed of the random numbers; the first chain goes on with those of ``groups``.

    Attributes
    ----------
    labels : Labels of shape (n,)
        The group of each record, as an arbitrary number.
    costs : Matrix of shape (groups,)
        The loss of each group when it is published, 0 for numbers that are not used.
    """

    def __init__(self, groups: Groups, count: int, seed: int) -> None:
        self._chains = [groups, *(_copied(groups, (seed, chain)) for chain in range(1, count))]
        self.labels, self.costs = groups.labels, groups.costs

    @property
    def loss(self) -> float:
        """The loss of the groups when they are published."""
        return math.fsum(self.costs)

    def anneal(self, rounds: int, temperature: float) -> None:
        """Do some rounds, shared among all chains, and exchange the changes."""
        count = len(self._chains)
        if count == 1:
            anneal(self._chains[0], rounds, temperature)
            return

        def go_on(place: int) -> None:
            take_up(self._chains[place], before)
            anneal(self._chains[place], (rounds + count - 1 - place) // count, temperature)

        before = self.labels.copy()
        in_threads(go_on, range(count))
        self.labels, self.costs = self._chains[0].labels, self._chains[0].costs
        for chain in self._chains[1:]:
            self.labels, self.costs = merged(
                before, self.labels, self.costs, chain.labels, chain.costs
            )


def _copied(groups: Groups, seed: tuple[int, int]) -> Groups:
    """Copy groups, with random numbers of their own."""
    own = {name: each.copy() for name, each in groups._asdict().items() if name not in SHARED}
    copied = groups._replace(**own)
    copied.counts[RANDOM:] = seeded(seed)
    return copied


def take_up(groups: Groups, labels: Labels) -> None:
    """Take up another partition of the same records, numbered from 0."""
    groups.labels[:] = labels
    groups.sizes[:] = 0
    groups.costs[:] = 0.0
    groups.rounding[:] = 0.0
    groups.counts[SPARE] = 0
    fill(groups)


def merged(
    before: Labels, labels: Labels, costs: Matrix, others: Labels, other_costs: Matrix
) -> tuple[Labels, Matrix]:
    """Join the changes that two partitions have made to one before.

    Parameters
    ----------
    before : Labels of shape (n,)
        The group of each record before the changes.
    labels, others : Labels of shape (n,)
        Its group in each of the two partitions.
    costs, other_costs : Matrix of shape (groups,)
        The loss of each group.

    Returns
    -------
    labels : Labels of shape (n,)
        The group of each record.
    costs : Matrix of shape (groups,)
        The loss of each group.
    """
    taken = take_others(before, labels, costs, others, other_costs)
    return _renumbered(np.where(taken, costs.size + others, labels), costs, other_costs)


@kernel
def _renumbered(labels: Labels, costs: Matrix, other_costs: Matrix) -> tuple[Labels, Matrix]:
    """Give groups numbers from 0, in the order of their first records."""
    numbers = np.full(costs.size + other_costs.size, -1)
    joined, joined_costs = np.empty_like(labels), np.zeros(numbers.size)
    count = 0
    for i in range(labels.size):
        group = labels[i]
        if numbers[group] < 0:
            numbers[group] = count
            other = group - costs.size
            joined_costs[count] = costs[group] if other < 0 else other_costs[other]
            count += 1
        joined[i] = numbers[group]
    return joined, joined_costs[:count]


@kernel
def take_others(
    before: Labels, labels: Labels, costs: Matrix, others: Labels, other_costs: Matrix
) -> Mask:
    """Mark the records whose group of the second partition is taken.

    Groups of both partitions that share records are decided together, with all groups that these
    share records with. The second partition is taken where only it has changed, and where both
    have changed and it loses less.
    """
    count = costs.size
    first = _unchanged(before, labels, count)
    second = _unchanged(before, others, other_costs.size)
    parents = np.arange(count + other_costs.size)
    for i in range(labels.size):
        _unite(parents, labels[i], count + others[i])
    losses, other_losses = np.zeros(parents.size), np.zeros(parents.size)
    changed, other_changed = np.zeros(parents.size, np.bool_), np.zeros(parents.size, np.bool_)
    seen = np.zeros(parents.size, np.bool_)
    for i in range(labels.size):
        root = _root(parents, labels[i])
        if not seen[labels[i]]:
            seen[labels[i]] = True
            losses[root] += costs[labels[i]]
            changed[root] |= not first[labels[i]]
        other = count + others[i]
        if not seen[other]:
            seen[other] = True
            other_losses[root] += other_costs[others[i]]
            other_changed[root] |= not second[others[i]]
    taken = np.zeros(labels.size, np.bool_)
    for i in range(labels.size):
        root = _root(parents, labels[i])
        better = other_losses[root] < losses[root]
        taken[i] = other_changed[root] and (not changed[root] or better)
    return taken


@kernel
def _unchanged(before: Labels, labels: Labels, count: int) -> Mask:
    """Mark the groups that were there before."""
    origins = np.full(count, -1)
    same = np.ones(count, np.bool_)
    sizes = np.zeros(count, np.int64)
    sizes_before = np.zeros(before.max() + 1, np.int64)
    for i in range(labels.size):
        group = labels[i]
        sizes[group] += 1
        sizes_before[before[i]] += 1
        if origins[group] < 0:
            origins[group] = before[i]
        same[group] &= origins[group] == before[i]
    for group in range(count):
        if sizes[group] > 0:
            same[group] &= sizes[group] == sizes_before[origins[group]]
    return same


@kernel
def _root(parents: Labels, node: int) -> int:
    """Find the node that stands for all nodes joined with one."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@kernel
def _unite(parents: Labels, one: int, other: int) -> None:
    """Join two nodes, and all nodes that are joined with them."""
    one, other = _root(parents, one), _root(parents, other)
    if one < other:
        parents[other] = one
    else:
        parents[one] = other
