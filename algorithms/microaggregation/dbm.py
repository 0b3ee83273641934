"""DBM, density-based microaggregation."""

from typing import Annotated

import numpy as np
from annotated_types import Gt

from algorithms.jit import kernel
from algorithms.local_search.divide import split_large
from algorithms.microaggregation.mdav import mdav
from algorithms.microaggregation.method import Method
from algorithms.search.kernels import squared_distances
from algorithms.types import Labels, Matrix

NOISE = -1


def dbm(x: Matrix, k: int, *, eps: Annotated[float, Gt(0)] | None = None) -> Labels:
    """Group the rows of ``x`` within the clusters that DBSCAN finds.

    Rows with at least ``k`` rows within ``eps``, themselves included, are cores; cores within
    ``eps`` of each other form a cluster, and rows near a core join it. Each other row joins the
    cluster of the nearest row that has one. Clusters of ``2k`` rows or more are split by MDAV
    [DB13]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group, ``1 <= k <= n``.
    eps : float, optional
        Radius of a neighbourhood. By default it is read off the curve of the distances from each
        row to its ``k``-th neighbour (itself the first), in decreasing order: the distance at the
        point of the curve farthest from the line between its ends. The paper leaves it open.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d), memory O(n d). Deterministic: a row near cores of several clusters joins the one
    with the lowest number, and clusters are numbered by their lowest core. A cluster that keeps
    fewer than ``k`` rows that way is dissolved like noise; where no cluster is left, all rows are
    one. The figures that the paper prints cannot be reproduced; see ``docs/methods/dbm.md``.

    Examples
    --------
    >>> dbm(np.array([[0.0], [9.0], [1.0], [8.0], [30.0]]), k=2, eps=1.5)
    array([0, 1, 0, 1, 1])
    """
    radius = elbow(x, k) if eps is None else eps
    clusters = _join_noise(x, find_clusters(x.T.copy(order="C"), k, radius), k)
    return split_large(x, clusters, k, mdav)


def elbow(x: Matrix, k: int) -> float:
    """Read a radius off the curve of distances to the ``k``-th neighbour."""
    # imported late: reading a spec must not wait for scipy
    from scipy.spatial import cKDTree

    reach, _ = cKDTree(x).query(x, k=[k])
    curve = np.sort(reach[:, 0])[::-1]
    place = np.arange(len(curve))
    # twice the area of the triangle between a point and the ends of the curve
    drop = np.abs((curve[-1] - curve[0]) * place - (len(curve) - 1) * (curve - curve[0]))
    return float(max(curve[drop.argmax()], np.finfo(float).tiny))


@kernel
def find_clusters(columns: Matrix, k: int, eps: float) -> Labels:
    """Run DBSCAN; rows outside all clusters are noise."""
    n = columns.shape[1]
    distances = np.empty(n)
    core = np.empty(n, dtype=np.bool_)
    for row in range(n):
        squared_distances(columns, n, columns[:, row].copy(), distances)
        near = 0
        for other in range(n):
            near += distances[other] <= eps * eps
        core[row] = near >= k
    labels = np.full(n, NOISE, dtype=np.int64)
    waiting = np.empty(n, dtype=np.int64)
    clusters = 0
    for start in range(n):
        if not core[start] or labels[start] != NOISE:
            continue
        labels[start] = clusters
        waiting[0] = start
        count = 1
        while count > 0:
            count -= 1
            squared_distances(columns, n, columns[:, waiting[count]].copy(), distances)
            for other in range(n):
                # a border row stays with the first cluster that finds it
                if distances[other] <= eps * eps and labels[other] == NOISE:
                    labels[other] = clusters
                    if core[other]:
                        waiting[count] = other
                        count += 1
        clusters += 1
    return labels


def _join_noise(x: Matrix, clusters: Labels, k: int) -> Labels:
    joined = clusters.copy()
    sizes = np.bincount(clusters[clusters != NOISE], minlength=1)
    joined[np.isin(joined, np.flatnonzero(sizes < k))] = NOISE
    noise, settled = np.flatnonzero(joined == NOISE), np.flatnonzero(joined != NOISE)
    if not settled.size:
        return np.zeros(len(x), dtype=np.int64)
    if noise.size:
        # imported late: reading a spec must not wait for scipy
        from scipy.spatial import cKDTree

        _, nearest = cKDTree(x[settled]).query(x[noise])
        joined[noise] = joined[settled[nearest]]
    return joined


METHOD = Method(
    run=dbm,
    summary=(
        "Records that lie densely together are gathered into clusters, and large clusters are "
        "divided into groups."
    ),
    paper="DB13",
)
