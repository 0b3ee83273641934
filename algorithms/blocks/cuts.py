"""Cuts of a table into blocks: a tree of thresholds along principal axes, found in a sample."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.blocks.axes import principal_axes, projected
from algorithms.jit import kernel
from algorithms.random_numbers import mixed
from algorithms.types import Integers, Labels, Mask, Matrix

LARGE = 2_000_000
"""Most records that are grouped as a whole unless a plan says otherwise."""

SAMPLE_PER_BLOCK, LEAST_PER_BLOCK, MOST_SAMPLED = 2000, 100, 500_000
"""Records of the sample for each block; in larger samples than the last, at least the second."""

SHIFTED = ((0.35, 0.6, 0.4), (0.65, 0.4, 0.6))
"""Shares of the records on the left of cuts, by depth, in one round of mending and in the next: the
borders of blocks then differ."""


AT_A_TIME = 2**16
"""Records that are copied at a time, row by row, to find their blocks."""

SLACK = 0.05
"""Share of its records by which a block may be larger than asked, before it is cut again: a sample
tells its size no better."""


@dataclass(frozen=True)
class Blocks:
    """How a large set of records is cut into blocks that are grouped one by one.

    Attributes
    ----------
    rows : int
        About the largest number of records in a block.
    seams : int
        Rounds in which the table is cut elsewhere, whole groups go to the new blocks, and records
        move between groups again. Moves never increase the loss.
    """

    rows: int = 40_000
    seams: int = 1


def blocks_for(blocks: Blocks | None, records: int) -> Blocks | None:
    """Give the blocks of a plan; by default none up to 2,000,000 records.

    Examples
    --------
    >>> blocks_for(None, 2_000_000), blocks_for(None, 2_000_001)
    (None, Blocks(rows=40000, seams=1))
    """
    return Blocks() if blocks is None and records > LARGE else blocks


def share_sampled(records: int, rows: int) -> float:
    """Give the share of the records from which cuts are found; all of them if they are few.

    Examples
    --------
    >>> share_sampled(10_000_000, 40_000), share_sampled(1000, 500)
    (0.05, 1.0)
    """
    blocks = math.ceil(records / rows)
    wanted = min(SAMPLE_PER_BLOCK * blocks, max(MOST_SAMPLED, LEAST_PER_BLOCK * blocks))
    return min(wanted / records, 1.0)


def in_sample(rows: Integers, share: float) -> Mask:
    """Mark the records of the sample, by a hash of their row numbers.

    Parameters
    ----------
    rows : Integers of shape (n,)
        Row numbers in the whole table.
    share : float
        Share of the records in the sample.

    Examples
    --------
    >>> np.flatnonzero(in_sample(np.arange(20), 0.25))
    array([ 0,  3,  5,  7,  9, 19])
    """
    if share >= 1.0:
        return np.ones(len(rows), dtype=bool)
    # unsigned numbers wrap around
    hashed = mixed(rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    sampled: Mask = hashed < np.uint64(share * 2.0**64)
    return sampled


@dataclass(frozen=True, eq=False)
class Cuts:
    """A tree of cuts; small, and the same wherever it is found.

    The thresholds are values of records: they are as confidential as the records.

    Attributes
    ----------
    axes : Matrix of shape (nodes, d)
        The axis of each cut, the first cut first.
    thresholds : Matrix of shape (nodes,)
        Records up to the threshold go left, others right.
    children : Integers of shape (nodes, 2)
        The cuts on the left and on the right; ``-1 - b`` for block ``b``.
    count : int
        Number of blocks.
    """

    axes: Matrix
    thresholds: Matrix
    children: Integers
    count: int

    def assign(self, x: Matrix) -> Labels:
        """Give the block of each record."""
        blocks = np.zeros(len(x), dtype=np.int64)
        for start in range(0, len(x) if self.count > 1 else 0, AT_A_TIME):
            some = np.ascontiguousarray(x[start : start + AT_A_TIME])
            blocks[start : start + AT_A_TIME] = _assigned(
                some, self.axes, self.thresholds, self.children
            )
        return blocks

    def merged(self, enough: Callable[[Integers], bool]) -> Labels:
        """Merge each block that is too small with the nearest one beyond the cut beside it.

        Parameters
        ----------
        enough : callable
            Says whether the records of some blocks, given by their numbers, are enough for a block.

        Returns
        -------
        Labels of shape (count,)
            The new number of each block, from 0 without gaps.

        Examples
        --------
        >>> cuts, counts = cut(np.arange(8.0).reshape(-1, 1), 8, 2), np.array([2, 2, 1, 3])
        >>> cuts.merged(lambda blocks: counts[blocks].sum() >= 2)
        array([0, 1, 2, 2])
        """
        parts: list[list[Integers]] = [[] for _ in self.children]
        for node in reversed(range(len(self.children))):
            left, right = (
                [np.array([-1 - child])] if child < 0 else parts[child]
                for child in self.children[node].tolist()
            )
            # several blocks on one side are all large enough
            if (len(left) == 1 and not enough(left[0])) or (
                len(right) == 1 and not enough(right[0])
            ):
                parts[node] = [*left[:-1], np.concatenate([left[-1], right[0]]), *right[1:]]
            else:
                parts[node] = [*left, *right]
        numbers = np.zeros(self.count, dtype=np.int64)
        for number, block in enumerate(parts[0] if parts else ()):
            numbers[block] = number
        return numbers


def cut(sample: Matrix, records: int, rows: int, shares: Sequence[float] = ()) -> Cuts:
    """Find cuts that divide a table into blocks of at most about ``rows`` records.

    Parameters
    ----------
    sample : Matrix of shape (m, d)
        Some of the standardised records, in the order of their rows.
    records : int
        Records in the whole table.
    rows : int
        Most records of a block, about.
    shares : sequence of float
        Share of the records on the left of each cut, by its depth, over and over; by default cuts
        are as near to the median as blocks of one size allow.

    Notes
    -----
    Each part is cut along its own first principal axis, between two different values of the
    sample. Records that are all alike are never cut.

    Examples
    --------
    >>> cut(np.arange(9.0).reshape(-1, 1), 9, 3).assign(np.array([[0.0], [3.5], [5.0], [99.0]]))
    array([0, 1, 1, 2])
    """
    per_sampled = records / max(len(sample), 1)
    axes: list[Matrix] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    count = 0
    waiting: list[tuple[Matrix, int, int, int]] = [(sample, 0, -1, 0)]
    while waiting:
        part, depth, parent, side = waiting.pop()
        blocks = math.ceil(len(part) * per_sampled / rows - SLACK)
        share = shares[depth % len(shares)] if shares else (blocks // 2) / max(blocks, 1)
        found = _cut(part, share) if blocks > 1 else None
        place = -1 - count if found is None else len(axes)
        if parent >= 0:
            children[parent][side] = place
        if found is None:
            count += 1
            continue
        axis, threshold, left = found
        axes.append(axis)
        thresholds.append(threshold)
        children.append([0, 0])
        waiting += [(part[~left], depth + 1, place, 1), (part[left], depth + 1, place, 0)]
    return Cuts(
        np.array(axes).reshape(-1, sample.shape[1]),
        np.array(thresholds),
        np.array(children, dtype=np.int64).reshape(-1, 2),
        count,
    )


def _cut(part: Matrix, share: float) -> tuple[Matrix, float, Mask] | None:
    """Cut records in two along their first principal axis; None if they are all alike."""
    _, axes = principal_axes(part)
    along = projected(part, axes[0])
    values = np.sort(along)
    wanted = share * len(values)
    ends = np.flatnonzero(values[:-1] < values[1:])
    if not ends.size:
        return None
    # several values may be equal; the first of two ends that are as near
    end = ends[np.abs(ends + 1 - wanted).argmin()]
    threshold = float(values[end])
    return axes[0], threshold, along <= threshold


@kernel
def _assigned(x: Matrix, axes: Matrix, thresholds: Matrix, children: Integers) -> Labels:
    """Walk down the tree with each record; projections are summed as `projected` sums them."""
    n, d = x.shape
    blocks = np.empty(n, dtype=np.int64)
    for i in range(n):
        node = 0
        while node >= 0:
            along = 0.0
            for j in range(d):
                along += axes[node, j] * x[i, j]
            node = children[node, 1] if along > thresholds[node] else children[node, 0]
        blocks[i] = -1 - node
    return blocks
