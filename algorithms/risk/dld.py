"""DLD, distance-linkage disclosure."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from algorithms.types import Labels, Matrix

CANDIDATES = 8
"""Neighbours looked at before ties; more than this many records at the second distance are rare."""

SLACK = 1.0 + 1e-9
"""Widens a radius from the tree, which sums in another order than we do."""


def distance_linkage(original: Matrix, published: Matrix) -> float:
    """Measure how many records an attacker links who holds the originals.

    A published record is linked when its own original is the nearest or the second nearest of all
    originals [CPD13]_. Where originals tie, the attacker picks at random, and what can be expected
    of that counts.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original.

    Returns
    -------
    float
        Linked records in per cent.

    Notes
    -----
    Time about O(n log n) in few dimensions, memory O(n d): a tree finds the neighbours of each
    distinct published record, and distances are then summed anew, column by column, so that ties
    are exact.

    References
    ----------
    .. [CPD13] Chettri, Paul and Dutta, "Statistical disclosure control for data privacy
       preservation", Int. J. Comput. Appl. 80 (2013).

    Examples
    --------
    >>> distance_linkage(np.array([[0.0], [1.0], [8.0], [9.0]]), np.full((4, 1), 3.0))
    50.0
    """
    points, of_record = np.unique(published, axis=0, return_inverse=True)
    tree = cKDTree(original)
    closest, second, at_closest, at_second = _two_nearest(tree, original, points)
    own = _squared(original, published)
    closest, second = closest[of_record], second[of_record]
    chance = np.where(
        own == closest,
        np.minimum(2.0 / at_closest[of_record], 1.0),
        np.where(own == second, 1.0 / at_second[of_record], 0.0),
    )
    # two or more records at the smallest distance fill both places
    chance[(own > closest) & (at_closest[of_record] > 1)] = 0.0
    return float(100.0 * chance.mean())


def _two_nearest(
    tree: cKDTree, original: Matrix, points: Matrix
) -> tuple[Matrix, Matrix, Labels, Labels]:
    """Find the two smallest distances from each point, and how many records lie at each."""
    count = min(CANDIDATES, len(original))
    rough, neighbours = tree.query(points, k=np.arange(1, count + 1))
    squares = np.stack([_squared(original[column], points) for column in neighbours.T], axis=1)
    closest, second, at_closest, at_second = _summarise(squares)
    if count < len(original):
        # the second place may be shared beyond the candidates: look at the whole ball around those
        crowded = np.flatnonzero(rough[:, -1] <= SLACK * np.sqrt(second))
        for i in crowded:
            radius = SLACK * np.sqrt(second[i] if np.isfinite(second[i]) else closest[i])
            ball = np.array(tree.query_ball_point(points[i], radius))
            repeated = np.broadcast_to(points[i], (len(ball), points.shape[1]))
            summary = _summarise(_squared(original[ball], repeated)[np.newaxis])
            closest[i], second[i], at_closest[i], at_second[i] = (part[0] for part in summary)
    return closest, second, at_closest, at_second


def _summarise(squares: Matrix) -> tuple[Matrix, Matrix, Labels, Labels]:
    closest = squares.min(axis=1)
    beyond = np.where(squares > closest[:, np.newaxis], squares, np.inf)
    second = beyond.min(axis=1)
    at_closest: NDArray[np.int64] = (squares == closest[:, np.newaxis]).sum(axis=1)
    at_second: NDArray[np.int64] = (squares == second[:, np.newaxis]).sum(axis=1)
    return closest, second, at_closest, np.maximum(at_second, 1)


def _squared(a: Matrix, b: Matrix) -> Matrix:
    """Sum squared differences column by column, in the same order whatever the number of rows."""
    total = np.zeros(len(a))
    for j in range(a.shape[1]):
        total += (a[:, j] - b[:, j]) ** 2
    return total
