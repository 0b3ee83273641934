"""DBA-1, density-based algorithm, first stage."""

import numpy as np

from algorithms.jit import kernel
from algorithms.microaggregation.method import Method
from algorithms.search.kernels import nearest_places, squared_distances
from algorithms.search.pool import Pool
from algorithms.types import Labels, Mask, Matrix


def dba1(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` by ``k``, the densest neighbourhood first.

    The neighbourhood of a row is the row and the ``k - 1`` free rows nearest to it, and the denser
    the smaller the sum of squares about its mean. The densest becomes a group, then the next; rows
    that are left join the group with the nearest centroid [LWHC10]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Group size, ``1 <= k <= n``.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time about O(n² d k), for each group spoils the neighbourhoods of about ``k²`` rows; memory
    O(n (d + k)), and no matrix of distances. Deterministic. The last groups take what is left over
    everywhere, and rows that are left may all join one group: groups over ``2k - 1`` rows are
    possible and kept, as in the paper.

    Examples
    --------
    >>> dba1(np.array([[0.0], [9.0], [1.0], [8.5]]), k=2)
    array([1, 0, 1, 0])
    """
    n = len(x)
    pool = Pool(x)
    columns = x.T.copy(order="C")  # a free row keeps its numbers, one that was taken becomes NaN
    neighbourhoods = np.full((n, k), -1, dtype=np.int64)
    sums = np.full(n, np.inf)
    spoiled = np.ones(n, dtype=bool)
    while len(pool) >= k:
        find_neighbourhoods(columns, x, spoiled, neighbourhoods, sums)
        members = neighbourhoods[int(sums.argmin())].copy()
        pool.cut_rows(members)
        columns[:, members] = np.nan
        sums[members] = np.inf
        spoiled = holds_any(neighbourhoods, members, pool.labels)
    pool.join_nearest()
    return pool.labels


@kernel
def find_neighbourhoods(
    columns: Matrix, x: Matrix, wanted: Mask, neighbourhoods: Labels, sums: Matrix
) -> None:
    """Find the neighbourhood of each wanted row, and its sum of squares about its mean."""
    n, d = x.shape
    k = neighbourhoods.shape[1]
    distances = np.empty(n)
    mean = np.empty(d)
    for row in range(n):
        if not wanted[row]:
            continue
        squared_distances(columns, n, x[row], distances)
        distances[row] = -1.0
        members = np.sort(nearest_places(distances, n, k))
        mean[:] = 0.0
        for member in members:
            mean += x[member]
        mean /= k
        total = 0.0
        for member in members:
            for j in range(d):
                difference = x[member, j] - mean[j]
                total += difference * difference
        neighbourhoods[row] = members
        sums[row] = total


@kernel
def holds_any(neighbourhoods: Labels, taken: Labels, labels: Labels) -> Mask:
    """Mark the free rows whose neighbourhood holds one of the rows just taken."""
    marked = np.zeros(labels.size, dtype=np.bool_)
    is_taken = np.zeros(labels.size, dtype=np.bool_)
    is_taken[taken] = True
    for row in range(labels.size):
        if labels[row] < 0:
            for member in neighbourhoods[row]:
                if is_taken[member]:
                    marked[row] = True
                    break
    return marked


METHOD = Method(
    run=dba1,
    summary=(
        "Groups are formed first where records lie closest together. Records that are left over "
        "join the nearest group."
    ),
    paper="LWHC10",
)
