"""Cuts a path into groups at the least loss, by dynamic programming.

``cost[e]`` is the least loss of the first ``e`` records of the path. Its last group holds the ``m``
records before ``e``, and ``k <= m < 2k``: a larger group could be cut in two at no loss. So

    cost[e] = min over m of cost[e - m] + loss of the m records before e,

where ties go to the largest group. Only differences between the last ``2k`` costs
matter, and all kernels keep costs relative to one of those: what a long path adds up to does not
take digits from the choice that is made at its end.
"""

import math

import numpy as np
from numpy.typing import NDArray

from algorithms.jit import kernel
from algorithms.rounding.centroids import nearest_integer
from algorithms.rounding.grid import Grid
from algorithms.types import Integers, Labels, Matrix, Order

Sizes = NDArray[np.unsignedinteger]
"""For each place of the path, how many records the best last group before it holds."""

LANES = 128
"""Places whose last groups are measured side by side."""

EXACT_FLOAT = 2**52
EXACT_INT = 2**62
"""Whole numbers below these are added and multiplied without a rounding error or an overflow."""


def by_row(labels: Labels, path: Order) -> Labels:
    """Give the labels of a path, which come in its order, in the order of the rows.

    Examples
    --------
    >>> by_row(np.array([0, 0, 1, 1]), np.array([2, 0, 3, 1]))
    array([0, 1, 0, 1])
    """
    labels_by_row = np.empty_like(labels)
    labels_by_row[path] = labels
    return labels_by_row


def cut_path(x: Matrix, k: int, grid: Grid | None = None) -> tuple[Labels, float]:
    """Cut the rows of ``x``, as they come, into groups of ``k`` to ``2k - 1`` at the least loss.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records along a path, ``n >= k``.
    k : int
        Smallest group allowed.
    grid : Grid, optional
        The values that can be published; without it a group is represented by its average.

    Returns
    -------
    labels : Labels of shape (n,)
        Group of each row, numbered along the path.
    loss : float
        Sum of squared distances to the published average of each group.

    Notes
    -----
    Time O(k n d). The sum of squares of a group is found by adding one record after the other to
    its mean [WEL62]_, from nothing for every group: all terms are positive, and no digits cancel.

    Examples
    --------
    >>> cut_path(np.array([[1.0], [2.0], [3.0], [8.0], [9.0]]), k=2)
    (array([0, 0, 0, 1, 1]), 2.5)
    """
    n, d = x.shape
    step = np.zeros(d) if grid is None else grid.step
    origin = np.zeros(d) if grid is None else grid.origin
    columns = _columns_after_padding(x, k)
    sizes = _no_sizes(n, k)
    losses = cut_real(columns, k, origin, step, sizes)
    return follow(sizes), math.fsum(losses)


def cut_whole(values: Integers, k: int) -> tuple[Labels, int]:
    """Cut whole numbers, as they come, where a group is represented by whole numbers, too.

    Parameters
    ----------
    values : Integers of shape (n, d)
        Records along a path, ``n >= k``.
    k : int
        Smallest group allowed.

    Returns
    -------
    labels : Labels of shape (n,)
        Group of each row, numbered along the path.
    loss : int
        Sum of squared distances to the rounded average of each group.

    Notes
    -----
    Exact. A bound on every sum is computed beforehand, from ``k``, ``d`` and the largest difference
    between records that could share a group: up to ``2**52`` sums are kept in floating-point
    numbers, which hold them exactly and several of which fit into a register; up to ``2**62`` in
    64-bit integers; and where those could overflow, choices are made by `cut_path`, and the loss is
    added up in unbounded integers.

    Examples
    --------
    >>> cut_whole(np.array([[1], [2], [2], [3], [4], [4], [6], [6], [8], [10]]), k=3)
    (array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2]), 13)
    """
    n, d = values.shape
    sizes = _no_sizes(n, k)
    bound = _largest_sum(values, k)
    losses: Matrix | Integers
    if bound < EXACT_FLOAT:
        losses = cut_lanes(_columns_after_padding(values - values[0], k), k, sizes)
    elif bound < EXACT_INT:
        losses = cut_integers(values, k, sizes)
    else:
        offset = values.astype(np.float64) - values[0].astype(np.float64)
        labels, _ = cut_path(offset, k, Grid(np.zeros(d), np.ones(d), np.ones(d, dtype=bool)))
        return labels, _unbounded_loss(values, labels)
    return follow(sizes), sum(int(loss) for loss in losses.tolist())


def cut_published(x: Matrix, k: int, grid: Grid | None = None) -> Labels:
    """Cut the rows of ``x``, as they come, so that what will be published loses least.

    One column of whole numbers is cut exactly by `cut_whole`, anything else by `cut_path`.
    """
    if grid is not None and x.shape[1] == 1 and grid.whole[0]:
        return cut_whole(grid.steps_from_origin(x), k)[0]
    return cut_path(x, k, grid)[0]


def _columns_after_padding(x: Matrix | Integers, k: int) -> Matrix:
    """Lay out columns one after the other, with room for groups that would start too early."""
    reach = 2 * k - 1
    columns = np.empty((x.shape[1], reach + len(x)))
    columns[:, :reach] = x[:1].T
    columns[:, reach:] = x.T
    return columns


def _largest_sum(values: Integers, k: int) -> int:
    """Bound all sums: differences, squares of a group, and the costs of places near each other.

    A group holds less than ``2k`` records, and costs differ by less than four groups.
    """
    spreads = [int(column.max()) - int(column.min()) for column in values.T]
    if max(spreads) >= EXACT_INT:
        return max(spreads)
    return max(*spreads, 16 * k * sum(int(widest(column, 2 * k)) ** 2 for column in values.T))


def _no_sizes(n: int, k: int) -> Sizes:
    return np.zeros(n + 1, dtype=np.min_scalar_type(2 * k - 1))


def _unbounded_loss(values: Integers, labels: Labels) -> int:
    """Add up the loss of groups along a path in Python's own integers."""
    loss = 0
    for column in values.T.astype(object):
        for group in np.split(column, np.flatnonzero(np.diff(labels)) + 1):
            centroid = nearest_integer(sum(group), len(group))
            loss += sum((value - centroid) ** 2 for value in group)
    return loss


@kernel
def cut_real(columns: Matrix, k: int, origin: Matrix, step: Matrix, sizes: Sizes) -> Matrix:
    """Find the best last group before every place; return the parts whose sum is the least loss.

    A group is represented by its average, in columns with a step by the nearest point of the grid.
    Values are taken from that of the last record, so that digits they share are not carried along.
    """
    reach = 2 * k - 1
    n = columns.shape[1] - reach
    cost = _no_cost(k)
    losses = np.empty((k, LANES))
    mean, sse = np.empty(LANES), np.empty(LANES)
    parts = np.zeros(n // LANES + 2)
    for start in range(0, n, LANES):
        lanes = min(LANES, n - start)
        losses[:] = 0.0
        for j in range(len(columns)):
            last = columns[j, start + reach :]
            mean[:] = 0.0
            sse[:] = 0.0
            for m in range(1, 2 * k):
                joining = columns[j, start + reach + 1 - m :]
                share, shrink = 1.0 / m, (m - 1) / m
                for i in range(lanes):
                    difference = (joining[i] - last[i]) - mean[i]
                    mean[i] += difference * share
                    sse[i] += difference * difference * shrink
                if m < k:
                    continue
                loss = losses[reach - m]
                for i in range(lanes):
                    loss[i] += sse[i]
                if step[j] > 0.0:
                    for i in range(lanes):
                        loss[i] += m * off_grid(mean[i] + (last[i] - origin[j]), step[j])
        parts[start // LANES] = _choose(cost, losses, lanes, sizes[start + 1 :])
    parts[-1] = cost[reach - 1]
    return parts


@kernel
def off_grid(mean: float, step: float) -> float:
    """Measure how far a mean is from the nearest multiple of a step, squared."""
    steps = mean / step
    difference: float = (steps - np.rint(steps)) * step
    return difference * difference


@kernel
def cut_lanes(columns: Matrix, k: int, sizes: Sizes) -> Matrix:
    """Do the same for whole numbers with small sums.

    A group of ``m`` with the sum ``s`` and the rounded average ``c`` loses the sum of its squares
    less ``c (2s - mc)``.
    """
    reach = 2 * k - 1
    n = columns.shape[1] - reach
    cost = _no_cost(k)
    losses = np.empty((k, LANES))
    sums, squares = np.empty(LANES), np.empty(LANES)
    parts = np.zeros(n // LANES + 2)
    for start in range(0, n, LANES):
        lanes = min(LANES, n - start)
        losses[:] = 0.0
        for j in range(len(columns)):
            last = columns[j, start + reach :]
            sums[:] = 0.0
            squares[:] = 0.0
            for m in range(1, 2 * k):
                joining = columns[j, start + reach + 1 - m :]
                for i in range(lanes):
                    difference = joining[i] - last[i]
                    sums[i] += difference
                    squares[i] += difference * difference
                if m < k:
                    continue
                loss = losses[reach - m]
                share = 1.0 / m
                for i in range(lanes):
                    centroid = np.rint(sums[i] * share)
                    loss[i] += squares[i] - centroid * (2 * sums[i] - m * centroid)
        parts[start // LANES] = _choose(cost, losses, lanes, sizes[start + 1 :])
    parts[-1] = cost[reach - 1]
    return parts


@kernel
def _no_cost(k: int) -> Matrix:
    """Make room for the costs of ``2k - 1`` places and those of the lanes after them."""
    cost = np.full(2 * k - 1 + LANES, np.inf)
    cost[2 * k - 2] = 0.0  # before the first record
    return cost


@kernel
def _choose(cost: Matrix, losses: Matrix, lanes: int, sizes: Sizes) -> float:
    """Choose the best last group in each lane; return the amount then taken off all costs.

    The first row of ``losses`` belongs to the largest groups. The costs of the last places become
    those of the places before the next lanes.
    """
    k = len(losses)
    reach = 2 * k - 1
    for i in range(lanes):
        before = cost[i : i + k]
        best, row = np.inf, 0
        for j in range(k):
            loss = before[j] + losses[j, i]
            better = loss < best  # in two steps, which need no jump
            best = loss if better else best
            row = j if better else row
        sizes[i] = reach - row
        cost[i + reach] = best
    # never infinite: the place before the first record is among these, or a group fits after it
    base: float = cost[lanes : lanes + reach].min()
    for i in range(reach):
        cost[i] = cost[lanes + i] - base
    return base


@kernel
def cut_integers(values: Integers, k: int, sizes: Sizes) -> Integers:
    """Do the same for whole numbers in 64-bit integers.

    A start ``s`` is given up for good once a later start ``t`` that is open to the same groups
    costs less: every group from ``s`` then holds one from ``t``, which loses no more. This is the
    break of IMHMI.
    """
    n, d = values.shape
    ring = 2 * k
    never = np.int64(EXACT_INT)
    cost = np.full(ring, never)
    cost[0] = 0
    sums = np.empty(d, dtype=np.int64)
    parts = np.zeros(n // ring + 1, dtype=np.int64)
    for e in range(1, n + 1):
        best, size = never, 0
        if e >= k:
            first = max(e - ring + 1, 0)
            for s in range(first, e - k):
                if cost[s % ring] > cost[(e - k) % ring]:
                    cost[s % ring] = never
            while cost[first % ring] == never and first < e - k:
                first += 1
            sums[:] = 0
            squares = np.int64(0)
            for m in range(1, e - first + 1):
                for j in range(d):
                    difference = values[e - m, j] - values[e - 1, j]
                    sums[j] += difference
                    squares += difference * difference
                before = cost[(e - m) % ring]
                if m >= k and before < never:
                    loss = before + squares
                    for j in range(d):
                        centroid = (2 * sums[j] + m) // (2 * m)
                        loss -= centroid * (2 * sums[j] - m * centroid)
                    if loss <= best:
                        best, size = loss, m
        sizes[e] = size
        cost[e % ring] = best
        if e % ring == 0:
            parts[e // ring - 1] = cost.min()
            for i in range(ring):
                if cost[i] < never:
                    cost[i] -= parts[e // ring - 1]
    parts[-1] = cost[n % ring]
    return parts


@kernel
def widest(values: Integers, length: int) -> np.int64:
    """Bound the difference between any two values less than ``length`` places apart."""
    most, low, high = np.int64(0), values[0], values[0]
    for start in range(0, values.size, length):
        lower, higher = values[start], values[start]
        for i in range(start, min(start + length, values.size)):
            lower, higher = min(lower, values[i]), max(higher, values[i])
        most = max(most, max(high, higher) - min(low, lower))
        low, high = lower, higher
    return most


@kernel
def follow(sizes: Sizes) -> Labels:
    """Walk back from the end of the path, group by group, and number the groups from its start."""
    n = sizes.size - 1
    count = 0
    e = np.int64(n)
    while e > 0:
        e -= np.int64(sizes[e])
        count += 1
    labels = np.empty(n, dtype=np.int64)
    e = np.int64(n)
    while e > 0:
        count -= 1
        s = e - np.int64(sizes[e])
        labels[s:e] = count
        e = s
    return labels
