"""k-Ward, hierarchical grouping that stops at k."""

import numpy as np

from algorithms.jit import kernel
from algorithms.local_search.divide import split_until_small
from algorithms.microaggregation.method import Method
from algorithms.search.pool import Pool
from algorithms.types import Labels, Matrix


def kward(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` by merging the closest groups until all hold ``k`` rows.

    The two rows farthest from each other take their ``k - 1`` nearest rows; every other row is a
    group of its own. The two groups whose union raises the sum of squares least are merged, but
    never two that hold ``k`` rows each, until all do; groups of ``2k`` rows or more are treated in
    the same way again [DM02]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group, ``1 <= k <= n``.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time between O(n² d) and O(n³ d), memory O(n d): each group remembers its nearest partner, and
    no matrix of distances is kept. Deterministic. A group that needs rows may merge with one that
    has enough of them.

    Examples
    --------
    >>> kward(np.array([[0.0], [9.0], [1.0], [8.0], [7.0]]), k=2)
    array([0, 1, 0, 1, 1])
    """
    return split_until_small(x, k, lambda rows, k: merge(rows, _two_ends(rows, k), k))


def _two_ends(x: Matrix, k: int) -> Labels:
    """Form the two groups at the ends; all other rows stay alone."""
    pool = Pool(x)
    one, other = pool.farthest_pair()
    pool.cut(one, k)
    pool.cut(other if pool.labels[other] < 0 else pool.farthest_from_row(one), k)
    alone = pool.labels < 0
    labels = pool.labels.copy()
    labels[alone] = 2 + np.arange(alone.sum())
    return labels


@kernel
def merge(x: Matrix, labels: Labels, k: int) -> Labels:
    """Merge groups until each holds ``k`` rows; number them from 0 by their lowest row."""
    n, d = x.shape
    groups = labels.max() + 1
    sizes = np.zeros(groups, dtype=np.int64)
    centroids = np.zeros((groups, d))
    for row in range(n):
        sizes[labels[row]] += 1
        centroids[labels[row]] += x[row]
    for group in range(groups):
        centroids[group] /= sizes[group]
    into = np.arange(groups)
    partner = np.full(groups, -1, dtype=np.int64)
    cost = np.full(groups, np.inf)
    stale = np.ones(groups, dtype=np.bool_)
    small = 0
    for group in range(groups):
        small += sizes[group] < k
    while small > 0:
        # only groups that need rows look for a partner: of two that may merge, one does
        best = -1
        for group in range(groups):
            if sizes[group] == 0 or sizes[group] >= k:
                continue
            if stale[group]:
                cost[group] = np.inf
                for other in range(groups):
                    if other == group or sizes[other] == 0:
                        continue
                    square = 0.0
                    for j in range(d):
                        difference = centroids[group, j] - centroids[other, j]
                        square += difference * difference
                    rise = square * sizes[group] * sizes[other] / (sizes[group] + sizes[other])
                    if rise < cost[group]:
                        cost[group] = rise
                        partner[group] = other
                stale[group] = False
            if best < 0 or cost[group] < cost[best]:
                best = group
        one, other = min(best, partner[best]), max(best, partner[best])
        small -= int(sizes[one] < k) + int(sizes[other] < k)
        total = sizes[one] + sizes[other]
        for j in range(d):
            centroids[one, j] = (
                centroids[one, j] * sizes[one] + centroids[other, j] * sizes[other]
            ) / total
        sizes[one] = total
        sizes[other] = 0
        into[other] = one
        small += total < k
        stale[one] = True
        # a union is no nearer to a third group than the nearer of its parts was (Ward's rise is
        # reducible), so that only groups which had one of them for a partner must look again
        for group in range(groups):
            stale[group] = stale[group] or partner[group] == one or partner[group] == other
    numbers = np.full(groups, -1, dtype=np.int64)
    merged = np.empty(n, dtype=np.int64)
    count = 0
    for row in range(n):
        group = labels[row]
        while into[group] != group:
            group = into[group]
        if numbers[group] < 0:
            numbers[group] = count
            count += 1
        merged[row] = numbers[group]
    return merged


METHOD = Method(
    run=kward,
    summary=(
        "The two most similar groups of records are merged, again and again, until every group is"
        " large enough. Groups that become too large are divided in the same way."
    ),
    paper="DM02",
)
