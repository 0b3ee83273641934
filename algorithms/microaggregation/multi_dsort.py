"""Multi-DSort, multi-dimensional sorting."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from algorithms.jit import kernel
from algorithms.microaggregation.method import Method
from algorithms.microaggregation.ps import cut_ends
from algorithms.search.kernels import CACHED_ROWS
from algorithms.search.pool import Pool
from algorithms.search.scan import COMPACT_BELOW
from algorithms.types import Integers, Labels, Matrix

GONE = -1
"""The sum of a row that was taken: sums are only lowered, and no free row has one below 0."""


def multi_dsort(x: Matrix, k: int, *, sort: Literal["each_round", "once"] = "each_round") -> Labels:
    """Group the rows of ``x`` by ``k``, two groups per round from the ends of a ranked list.

    Rows are sorted by the sum of their ranks in each attribute, and groups are cut from the ends of
    that list as in P-S, each taking the row nearest to its centroid so far [MKM12]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``; the last group may hold up to ``2k - 1`` rows.
    sort : {"each_round", "once"}
        Whether the free rows are ranked again in each round, as in the paper's pseudo-code, or all
        rows once.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d), memory O(n d). Deterministic. Equal values are ranked by row. The figures that the
    paper prints cannot be reproduced on standardised data; see ``docs/methods/multi_dsort.md``.

    Examples
    --------
    >>> multi_dsort(np.array([[0.0], [9.0], [1.0], [8.0]]), k=2)
    array([0, 1, 0, 1])
    """
    ranking = _RankSums(x, each_round=sort == "each_round")
    return cut_ends(x, k, "centroid", ranking.ends)


def ranks_of(x: Matrix) -> Integers:
    """Rank the values of each column from 0 up; ties go to the lowest row."""
    return np.argsort(np.argsort(x, axis=0, kind="stable"), axis=0, kind="stable")


class _RankSums:
    """Sums of ranks among the free rows."""

    def __init__(self, x: Matrix, *, each_round: bool) -> None:
        ranks = ranks_of(x)
        self._ranks = ranks.T.astype(np.int32).copy(order="C")
        self._sums = ranks.sum(axis=1, dtype=np.int64)
        self._rows = np.arange(len(x))
        self._each_round = each_round

    def ends(self, pool: Pool) -> tuple[int, int]:
        """Find the first and the last of the free rows."""
        gone = find_gone(self._rows, self._sums, pool.labels)
        if self._each_round:
            lower_ranks(self._ranks, self._sums, gone)
        self._sums[gone] = GONE
        if len(pool) < COMPACT_BELOW * self._rows.size:
            free = self._sums > GONE
            self._rows, self._sums = self._rows[free], self._sums[free]
            self._ranks = self._ranks[:, free].copy(order="C")
        first, last = find_ends(self._sums)
        return int(self._rows[first]), int(self._rows[last])


@kernel
def find_gone(rows: Labels, sums: Labels, labels: Labels) -> Labels:
    """Find the places of rows that were taken since they were last looked for."""
    gone = np.empty(rows.size, dtype=np.int64)
    count = 0
    for place in range(rows.size):
        if labels[rows[place]] >= 0 and sums[place] > GONE:
            gone[count] = place
            count += 1
    return gone[:count]


@kernel
def find_ends(sums: Labels) -> tuple[int, int]:
    """Find the places of the smallest and the largest sum.

    As in a stable sort: the first of the smallest, and the last of the largest.
    """
    first, last = -1, -1
    for place in range(sums.size):
        if sums[place] <= GONE:
            continue
        if first < 0 or sums[place] < sums[first]:
            first = place
        if last < 0 or sums[place] >= sums[last]:
            last = place
    return first, last


@kernel
def lower_ranks(ranks: NDArray[np.int32], sums: Labels, gone: Labels) -> None:
    """Lower each sum of ranks by the number of ranks below it that the places ``gone`` held."""
    below = np.empty(CACHED_ROWS, dtype=np.int32)
    for start in range(0, sums.size, CACHED_ROWS):
        total = sums[start : min(start + CACHED_ROWS, sums.size)]
        count = below[: total.size]
        count[:] = 0
        for j in range(ranks.shape[0]):
            column = ranks[j, start : start + total.size]
            for place in gone:
                rank = ranks[j, place]
                for i in range(count.size):
                    count[i] += np.int32(column[i] > rank)
        for i in range(count.size):
            total[i] -= count[i]


METHOD = Method(
    run=multi_dsort,
    summary=(
        "Records are ranked in each averaged column and sorted by the sum of their ranks. Groups "
        "are formed at both ends of this list: the record at an end is grouped with the records "
        "most similar to it."
    ),
    paper="MKM12",
)
