"""Links between records before and after masking, by their distances."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.types import Labels, Matrix

CANDIDATES = 16
"""Nearest published groups that are compared exactly; more of them rarely tie."""

NEAREST = 8
"""Neighbours that are searched first; more records than this rarely tie for second place."""

SLACK = 1.0 + 1e-9
"""Widens a radius from the tree, because the tree sums in a different order."""


@dataclass(frozen=True)
class Linkage:
    """Linked records in per cent.

    Attributes
    ----------
    expected : float
        Expected value if the attacker breaks ties between originals at random.
    optimistic, pessimistic : float
        If the attacker loses every tie, and if the attacker wins every tie.
    nearest : float
        Expected value if only the nearest original counts.
    """

    expected: float
    optimistic: float
    pessimistic: float
    nearest: float


def distance_linkage(original: Matrix, published: Matrix) -> Linkage:
    """Measure how many records an attacker who holds the originals can link.

    A published record is linked when its own original is the nearest or the second nearest of all
    originals [CPD13]_.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original.

    Notes
    -----
    Time about O(n log n) in few dimensions, memory O(n d): a tree finds the neighbours of each
    distinct published record, and distances are then recomputed column by column, so that ties
    are exact. In one dimension a sorted list is enough.

    The records of a group are published as one point, which has one nearest and one second nearest
    original: the expected number of linked records in a group is at most two, and at most one if
    only the nearest counts. With groups of at least ``k`` records, ``expected`` is at most 200 / k
    per cent and ``nearest`` at most 100 / k. An attacker who wins all ties can link a whole group,
    so ``pessimistic`` has no such bound.

    Examples
    --------
    >>> distance_linkage(np.array([[0.0], [1.0], [8.0], [9.0]]), np.full((4, 1), 3.0))
    Linkage(expected=50.0, optimistic=50.0, pessimistic=50.0, nearest=25.0)
    """
    points, of_record = np.unique(published, axis=0, return_inverse=True)
    find = _two_nearest_on_a_line if original.shape[1] == 1 else _two_nearest
    closest, second, at_closest, at_second = (part[of_record] for part in find(original, points))
    own = squared_distances(original, published)
    first = own == closest
    # two or more records at the smallest distance fill both places
    runner_up = (own == second) & (at_closest == 1)
    expected = np.where(first, np.minimum(2.0 / at_closest, 1.0), 0.0)
    expected[runner_up] = 1.0 / at_second[runner_up]
    surely = (first & (at_closest <= 2)) | (runner_up & (at_second == 1))
    return Linkage(
        expected=float(100.0 * expected.mean()),
        optimistic=float(100.0 * surely.mean()),
        pessimistic=float(100.0 * (first | runner_up).mean()),
        nearest=float(100.0 * np.where(first, 1.0 / at_closest, 0.0).mean()),
    )


Neighbours = tuple[Matrix, Matrix, Labels, Labels]
"""The two smallest squared distances from each point, and how many records lie at each."""


def _two_nearest(original: Matrix, points: Matrix) -> Neighbours:
    # imported late: reading a spec must not wait for scipy
    from scipy.spatial import cKDTree

    tree = cKDTree(original)
    count = min(NEAREST, len(original))
    rough, neighbours = tree.query(points, k=np.arange(1, count + 1))
    squares = np.stack(
        [squared_distances(original[column], points) for column in neighbours.T], axis=1
    )
    closest, second, at_closest, at_second = _summarise(squares)
    if count < len(original):
        # more records than the candidates may tie for second place: search the whole ball
        crowded = np.flatnonzero(rough[:, -1] <= SLACK * np.sqrt(second))
        for i in crowded:
            radius = SLACK * np.sqrt(second[i] if np.isfinite(second[i]) else closest[i])
            ball = np.array(tree.query_ball_point(points[i], radius))
            repeated = np.broadcast_to(points[i], (len(ball), points.shape[1]))
            summary = _summarise(squared_distances(original[ball], repeated)[np.newaxis])
            closest[i], second[i], at_closest[i], at_second[i] = (part[0] for part in summary)
    return closest, second, at_closest, at_second


def _two_nearest_on_a_line(original: Matrix, points: Matrix) -> Neighbours:
    values, counts = np.unique(original[:, 0], return_counts=True)
    right = np.searchsorted(values, points[:, 0])
    # the two distinct values on either side; beyond the ends nothing is near
    around = right[:, np.newaxis] + np.arange(-2, 2)
    inside = (around >= 0) & (around < values.size)
    around = np.clip(around, 0, values.size - 1)
    squares = np.where(inside, (values[around] - points) ** 2, np.inf)
    weights = np.where(inside, counts[around], 0)
    closest = squares.min(axis=1)
    is_closest = squares == closest[:, np.newaxis]
    second = np.where(is_closest, np.inf, squares).min(axis=1)
    is_second = squares == second[:, np.newaxis]
    at_closest = (weights * is_closest).sum(axis=1)
    return closest, second, at_closest, np.maximum((weights * is_second).sum(axis=1), 1)


def _summarise(squares: Matrix) -> Neighbours:
    closest = squares.min(axis=1)
    beyond = np.where(squares > closest[:, np.newaxis], squares, np.inf)
    second = beyond.min(axis=1)
    at_closest: NDArray[np.int64] = (squares == closest[:, np.newaxis]).sum(axis=1)
    at_second: NDArray[np.int64] = (squares == second[:, np.newaxis]).sum(axis=1)
    return closest, second, at_closest, np.maximum(at_second, 1)


def squared_distances(a: Matrix, b: Matrix) -> Matrix:
    """Sum squared differences column by column, so that the order never depends on the rows."""
    total = np.zeros(len(a))
    for j in range(a.shape[1]):
        total += (a[:, j] - b[:, j]) ** 2
    return total


def chances_of_known(original: Matrix, published: Matrix) -> Matrix:
    """Give the chance that each original is linked to its own record."""
    # imported late: reading a spec must not wait for scipy
    from scipy.spatial import cKDTree

    points, of_record, counts = np.unique(
        published, axis=0, return_inverse=True, return_counts=True
    )
    own = squared_distances(original, published)
    count = min(CANDIDATES, len(points))
    _, near = cKDTree(points).query(original, k=np.arange(1, count + 1))
    squares = np.stack([squared_distances(original, points[column]) for column in near.T], axis=1)
    nearest = np.minimum(squares.min(axis=1), own)
    is_nearest = squares == nearest[:, np.newaxis]
    ties = (counts[near] * is_nearest).sum(axis=1)
    # the own point is one of the nearest, even where the tree left it out among many ties
    ties = np.maximum(ties, counts[of_record.reshape(-1)])
    chances: Matrix = np.where(own == nearest, 1.0 / ties, 0.0)
    return chances
