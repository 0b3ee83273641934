"""FCM, fuzzy c-means with clusters of at least k."""

from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from algorithms.jit import kernel
from algorithms.local_search.divide import split_until_small
from algorithms.microaggregation.mdav import mdav
from algorithms.microaggregation.method import Method
from algorithms.types import Labels, Matrix

MOST_CLUSTERS = 50
"""Clusters sought at a time; larger tables are divided in several steps."""

SETTLED = 1e-6
"""Shift of the centres, in standard deviations, below which they count as settled."""


def fcm(
    x: Matrix,
    k: int,
    *,
    fuzziness: Annotated[float, Gt(1), Le(5)] = 1.2,
    restarts: Annotated[int, Ge(1), Le(100)] = 5,
    iterations: Annotated[int, Ge(1), Le(1000)] = 25,
) -> Labels:
    """Group the rows of ``x`` by fuzzy c-means, and large clusters in the same way again.

    Fuzzy c-means runs with fewer clusters and more fuzziness each time, until every cluster holds
    ``k`` rows; clusters of ``2k`` rows or more are divided in the same way again [DT03]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group, ``1 <= k <= n``.
    fuzziness : float
        Exponent of the memberships in the first run.
    restarts : int
        Most runs on one set of rows.
    iterations : int
        Most iterations of one run.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n d) per cluster sought, iteration and run; memory O(n d). Deterministic: the first
    centres are rows far from each other. The paper repeats runs until all clusters are large
    enough, which may be never; here, after the last run, the rows of clusters that are too small
    join the nearest centre of one that is not, and where no two clusters are large enough, the rows
    are grouped by MDAV.

    Examples
    --------
    >>> fcm(np.array([[0.0], [9.0], [1.0], [8.0], [7.0]]), k=2)
    array([0, 1, 0, 1, 1])
    """
    return split_until_small(
        x,
        k,
        partial(_divide, fuzziness=fuzziness, restarts=restarts, iterations=iterations),
    )


def _divide(x: Matrix, k: int, fuzziness: float, restarts: int, iterations: int) -> Labels:
    """Divide rows into at least two groups of at least ``k``."""
    clusters = min(len(x) // k, MOST_CLUSTERS)
    best: tuple[int, Labels, Matrix] | None = None
    for _ in range(restarts):
        centres = far_apart(x, clusters)
        move_centres(x, centres, fuzziness, iterations)
        nearest = nearest_centres(x, centres)
        sizes = np.bincount(nearest, minlength=clusters)
        enough = sizes >= k
        if enough.sum() > 1:
            covered = int(sizes[enough].sum())
            if best is None or covered > best[0]:
                best = covered, nearest, centres
            if covered == len(x):
                break
        if clusters == 2:
            break
        clusters = max(2, clusters * 2 // 3)
        fuzziness = 1.0 + (fuzziness - 1.0) * 1.2
    if best is None:
        return mdav(x, k)
    _, nearest, centres = best
    homes = np.flatnonzero(np.bincount(nearest, minlength=len(centres)) >= k)
    for row in np.flatnonzero(~np.isin(nearest, homes)):
        nearest[row] = homes[((centres[homes] - x[row]) ** 2).sum(axis=1).argmin()]
    return np.unique(nearest, return_inverse=True)[1]


@kernel
def far_apart(x: Matrix, count: int) -> Matrix:
    """Choose rows far from each other, beginning with the one farthest from the mean."""
    n, d = x.shape
    point = np.zeros(d)
    for row in range(n):
        point += x[row] / n
    chosen = np.empty((count, d))
    reach = np.full(n, np.inf)
    for number in range(count):
        farthest = 0
        for row in range(n):
            square = 0.0
            for j in range(d):
                difference = x[row, j] - point[j]
                square += difference * difference
            # the mean only serves to find the first
            if square < reach[row] or number == 1:
                reach[row] = square
            if reach[row] > reach[farthest]:
                farthest = row
        chosen[number] = x[farthest]
        point[:] = x[farthest]
    return chosen


@kernel
def move_centres(x: Matrix, centres: Matrix, fuzziness: float, iterations: int) -> None:
    """Iterate fuzzy c-means, moving ``centres`` in place until they settle."""
    n, d = x.shape
    count = centres.shape[0]
    squares = np.empty(count)
    weights = np.empty(count)
    power = 1.0 / (fuzziness - 1.0)
    for _ in range(iterations):
        sums = np.zeros((count, d))
        totals = np.full(count, np.finfo(np.float64).tiny)
        for row in range(n):
            for c in range(count):
                squares[c] = 0.0
                for j in range(d):
                    difference = x[row, j] - centres[c, j]
                    squares[c] += difference * difference
            smallest = squares.min()
            for c in range(count):
                # relative to the nearest, so that nothing overflows; at a centre only that counts
                weights[c] = 1.0 if squares[c] == smallest else (smallest / squares[c]) ** power
            weights /= weights.sum()
            for c in range(count):
                weight = weights[c] ** fuzziness
                totals[c] += weight
                for j in range(d):
                    sums[c, j] += weight * x[row, j]
        shift = 0.0
        for c in range(count):
            for j in range(d):
                moved = sums[c, j] / totals[c]
                shift = max(shift, abs(moved - centres[c, j]))
                centres[c, j] = moved
        if shift < SETTLED:
            break


@kernel
def nearest_centres(x: Matrix, centres: Matrix) -> Labels:
    """Find the nearest centre of each row; ties go to the first centre."""
    nearest = np.empty(x.shape[0], dtype=np.int64)
    for row in range(x.shape[0]):
        smallest = np.inf
        for c in range(centres.shape[0]):
            square = 0.0
            for j in range(x.shape[1]):
                difference = x[row, j] - centres[c, j]
                square += difference * difference
            if square < smallest:
                smallest = square
                nearest[row] = c
    return nearest


METHOD = Method(
    run=fcm,
    summary=(
        "Records are gathered into clusters around common centres by fuzzy c-means. Large "
        "clusters are divided again in the same way."
    ),
    paper="DT03",
)
