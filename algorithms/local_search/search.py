"""The search: local moves until none reduces the loss, then annealing within the budget."""

import math
import time
from dataclasses import replace

import numpy as np

from algorithms.cutting import cut_published
from algorithms.local_search.anneal import dissolve_everywhere
from algorithms.local_search.chains import Chains
from algorithms.local_search.divide import split_large
from algorithms.local_search.groups import Groups, groups_of, most_and_largest
from algorithms.local_search.moves import descend_everywhere
from algorithms.local_search.recut import recut
from algorithms.local_search.units import repair, split_units
from algorithms.problem import Bound
from algorithms.rounding.grid import Grid
from algorithms.search.neighbours import neighbours
from algorithms.search.opposites import cut_all_opposites
from algorithms.search.pool import centroids_of
from algorithms.types import Found, Labels, Matrix, Order, Watch, numbered

HOT, COLD = 0.15, 0.005
"""Temperatures at the start and at the end, in units of what a group loses on average."""

SLICE = 256
"""Iterations at one temperature, at the least."""

RECUTS = 5
RECUT_GAIN = 0.01
RECUT_ROWS = 50_000
"""Most times that groups are recut before the annealing, the share that a recut must save for
another, and the most records for which it is done: a path through more takes too long."""


def search(
    x: Matrix,
    labels: Labels,
    k: int,
    grid: Grid | None = None,
    *,
    iterations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    chains: int = 1,
    watch: Watch | None = None,
    units: Labels | None = None,
    bound: Bound | None = None,
    gap: float | None = None,
) -> Labels:
    """Improve groups until the budget is spent; the published loss never rises.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    labels : Labels of shape (n,)
        Groups of at least ``k`` of them.
    k : int
        Smallest group allowed.
    grid : Grid, optional
        The values that can be published; without it a group is represented by its average.
    iterations : int, optional
        Rounds of ruin and recreate; without any budget, `default_iterations`.
    seconds : float, optional
        Budget in seconds, the search for neighbours included; the first budget spent ends the
        search.
    seed : int
        Seed of the random numbers.
    chains : int
        Number of chains among which the iterations are shared, and which run at the same time.
    watch : callable, optional
        Called with the progress, and with the best groups found so far.
    units : Labels of shape (n,), optional
        The unit of each record. With it, groups are repaired first, and every group found holds
        records of at least ``k`` units.
    bound : Bound, optional
        A lower bound on the loss of any groups.
    gap : float, optional
        With a bound, the search ends as soon as the groups lose at most so many per cent more.
    """
    started = time.monotonic()
    n, d = x.shape
    if k == 1:
        return np.arange(n)
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64)
    if d == 1 and units is None:
        return _cut_column(x, k, grid)
    if units is None:
        start = _split(x, labels, k)
    else:
        labels = _repaired(x, labels, k, grid, units)
        start = split_units(x, labels, k, units, _pairs)
        large = np.bincount(start)[start] > most_and_largest(units, k)[1]
        if large.any():
            # they stay as they are: every group would need as much room as the largest
            found = start.copy()
            rest = np.flatnonzero(~large)
            if rest.size:
                own = search(
                    x[rest],
                    numbered(start[rest]),
                    k,
                    grid,
                    iterations=iterations,
                    seconds=seconds,
                    seed=seed,
                    chains=chains,
                    watch=None if watch is None else _watch_of_rest(watch, x, found, rest, grid),
                    units=units[rest],
                    bound=None if bound is None else _bound_of_rest(bound, found, rest),
                    gap=gap,
                )
                found = _joined(found, rest, own)
            return _better(x, numbered(found), labels, grid)
    near = neighbours(x, min(max(10, 3 * k // 2), n - 1))
    groups = _descend(x, near, start, k, grid, seed, units)
    count = np.count_nonzero(groups.sizes)
    if iterations is None and seconds is None:
        iterations = default_iterations(n, k if units is None else n // count)
    average = math.fsum(groups.costs) / count
    slice_length = max(SLICE, n // 64)
    done, least = 0, np.inf
    annealed = Chains(groups, chains, seed)
    while True:
        loss = annealed.loss
        if loss < least:
            best, least = annealed.labels.copy(), loss
            near_optimum = (
                bound is not None
                and gap is not None
                and least <= bound.most(gap)
                and bound.proves(numbered(best), gap)
            )
        elapsed = time.monotonic() - started
        share = max(
            elapsed / seconds if seconds is not None else 0.0,
            done / iterations if iterations else float(iterations == 0),
        )
        if watch is not None:
            stopped = near_optimum and share < 1.0
            watch(done, min(share, 1.0), Found(least, best, planned=iterations, stopped=stopped))
        if near_optimum:
            return numbered(best)
        if share >= 1.0:
            return _better(x, numbered(best), labels, grid)
        rounds = chains * slice_length
        if iterations is not None:
            rounds = min(rounds, iterations - done)
        annealed.anneal(rounds, average * HOT * (COLD / HOT) ** share)
        done += rounds


def default_iterations(n: int, k: int) -> int:
    """Choose the number of iterations: some ten seconds on a thousand records.

    An iteration takes a time that grows as k². There are four times the square of the number of
    groups, at most (3,000,000 + 30 n) / k². Where units count, k is the average size of groups.
    """
    return min(4 * (n // k) ** 2, (3_000_000 + 30 * n) // k**2)


def loss_of(x: Matrix, labels: Labels, grid: Grid | None = None) -> float:
    """Add up the squared distances from the published average of each group."""
    centres = centroids_of(x, labels)
    if grid is not None:
        rounded = grid.step > 0.0
        step, origin = grid.step[rounded], grid.origin[rounded]
        centres[:, rounded] = np.rint((centres[:, rounded] - origin) / step) * step + origin
    return float(((x - centres[labels]) ** 2).sum())


def _bound_of_rest(bound: Bound, labels: Labels, rest: Order) -> Bound:
    """Give the bound for a search that changes the groups of some records only."""
    return Bound(bound.value, lambda own: bound.loss(_joined(labels, rest, own)))


def _watch_of_rest(
    watch: Watch, x: Matrix, labels: Labels, rest: Order, grid: Grid | None
) -> Watch:
    """Tell a watch the groups of all records, though some only are searched."""

    def told(done: int, share: float, found: Found | None = None, /) -> None:
        assert found is not None
        assert found.labels is not None
        every = _joined(labels, rest, found.labels)
        found = replace(found, loss=loss_of(x, every, grid), labels=every)
        watch(done, share, found)

    return told


def _joined(labels: Labels, rest: Order, own: Labels) -> Labels:
    """Put the groups of some records beside those of all others."""
    joined = labels.copy()
    joined[rest] = len(labels) + own
    return numbered(joined)


def _repaired(x: Matrix, labels: Labels, k: int, grid: Grid | None, units: Labels) -> Labels:
    """Repair groups; those of one column, or its best cut, whichever then loses less."""
    repaired = repair(x, labels, k, units)
    if x.shape[1] > 1:
        return repaired
    return _better(x, repair(x, _cut_column(x, k, grid), k, units), repaired, grid)


def _better(x: Matrix, labels: Labels, others: Labels, grid: Grid | None) -> Labels:
    """Choose the groups that lose less when they are published, the first of equals."""
    return labels if loss_of(x, labels, grid) <= loss_of(x, others, grid) else others


def _cut_column(x: Matrix, k: int, grid: Grid | None) -> Labels:
    """Group one column: in their order, records are cut at the least loss of all partitions."""
    order = np.argsort(x[:, 0], kind="stable")
    labels = np.empty(len(x), dtype=np.int64)
    labels[order] = cut_published(x[order], k, grid)
    return labels


def _split(x: Matrix, labels: Labels, k: int) -> Labels:
    """Split groups of ``2k`` records or more into pairs at opposite ends, as MDAV does."""
    large = np.flatnonzero(np.bincount(labels)[labels] >= 2 * k)
    if not large.size:
        return labels
    split = labels.copy()
    split[large] = len(x) + split_large(x[large], labels[large], k, _pairs)
    return numbered(split)


def _pairs(x: Matrix, k: int) -> Labels:
    pool = cut_all_opposites(x, k)
    pool.join_nearest()
    return pool.labels


def _descend(
    x: Matrix,
    near: Labels,
    labels: Labels,
    k: int,
    grid: Grid | None,
    seed: int,
    units: Labels | None,
) -> Groups:
    """Make moves until none saves anything; then recut along the path through groups, and repeat.

    A recut moves records through a whole chain of groups at once, which rescues bad starts. It
    counts records, not units, and repairing its groups was never found to pay.
    """
    best = _descended(groups_of(x, near, labels, k, grid, seed, units))
    for _ in range(RECUTS if len(x) <= RECUT_ROWS and units is None else 0):
        cut = recut(x, numbered(best.labels), k, grid)
        groups = _descended(groups_of(x, near, cut, k, grid, seed))
        before, after = best.costs.sum(), groups.costs.sum()
        if after < before:
            best = groups
        if after >= (1.0 - RECUT_GAIN) * before:
            break
    return best


def _descended(groups: Groups) -> Groups:
    descend_everywhere(groups)
    dissolve_everywhere(groups)
    return groups
