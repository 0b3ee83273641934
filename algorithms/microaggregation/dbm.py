"""DBM, density-based microaggregation."""

from typing import Annotated

import numpy as np
from annotated_types import Gt
from scipy.spatial import cKDTree

from algorithms.microaggregation.mdav import mdav
from algorithms.microaggregation.method import Method
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
    Time O(n log n) in few dimensions for the clusters and O(n² d / k) for MDAV, memory O(n d) and
    the neighbours of one row. Deterministic: a row near cores of several clusters joins the one
    with the lowest number, and clusters are numbered by their lowest core. A cluster that keeps
    fewer than ``k`` rows that way is dissolved like noise; where no cluster is left, all rows are
    one. The figures that the paper prints cannot be had; see ``docs/methods/dbm.md``.

    References
    ----------
    .. [DB13] Das and Borah, "A density-based micro aggregation technique for privacy-preserving
       data mining", Int. J. Res. Eng. Technol. 2, special issue 2 (2013).

    Examples
    --------
    >>> dbm(np.array([[0.0], [9.0], [1.0], [8.0], [30.0]]), k=2, eps=1.5)
    array([0, 1, 0, 1, 1])
    """
    clusters = _join_noise(x, _clusters(x, k, elbow(x, k) if eps is None else eps), k)
    labels = np.empty(len(x), dtype=np.int64)
    groups = 0
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        parts = mdav(x[members], k)
        labels[members] = groups + parts
        groups += int(parts.max()) + 1
    return labels


def elbow(x: Matrix, k: int) -> float:
    """Read a radius off the curve of distances to the ``k``-th neighbour."""
    reach, _ = cKDTree(x).query(x, k=[k])
    curve = np.sort(reach[:, 0])[::-1]
    place = np.arange(len(curve))
    # twice the area of the triangle between a point and the ends of the curve
    drop = np.abs((curve[-1] - curve[0]) * place - (len(curve) - 1) * (curve - curve[0]))
    return float(max(curve[drop.argmax()], np.finfo(float).tiny))


def _clusters(x: Matrix, k: int, eps: float) -> Labels:
    """Run DBSCAN; rows outside all clusters are noise."""
    n = len(x)
    tree = cKDTree(x)
    core = tree.query_ball_point(x, eps, return_length=True) >= k
    labels = np.full(n, NOISE, dtype=np.int64)
    clusters = 0
    for row in np.flatnonzero(core):
        if labels[row] != NOISE:
            continue
        labels[row] = clusters
        waiting = [row]
        while waiting:
            for neighbour in tree.query_ball_point(x[waiting.pop()], eps):
                if core[neighbour] and labels[neighbour] == NOISE:
                    labels[neighbour] = clusters
                    waiting.append(neighbour)
        clusters += 1
    borders = labels.copy()
    for row in np.flatnonzero(~core):
        near = [labels[i] for i in tree.query_ball_point(x[row], eps) if core[i]]
        borders[row] = min(near, default=NOISE)
    return borders


def _join_noise(x: Matrix, clusters: Labels, k: int) -> Labels:
    joined = clusters.copy()
    sizes = np.bincount(clusters[clusters != NOISE], minlength=1)
    joined[np.isin(joined, np.flatnonzero(sizes < k))] = NOISE
    noise, settled = np.flatnonzero(joined == NOISE), np.flatnonzero(joined != NOISE)
    if not settled.size:
        return np.zeros(len(x), dtype=np.int64)
    if noise.size:
        _, nearest = cKDTree(x[settled]).query(x[noise])
        joined[noise] = joined[settled[nearest]]
    return joined


METHOD = Method(run=dbm, paper="DB13")
