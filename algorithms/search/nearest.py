"""The nearest targets of points, with the number of targets at each distance.

Attackers link by the nearest or second nearest record, and bounds add up the nearest k - 1: both
need the smallest distances and how many targets lie at each of them. Ties are exact, because
distances are summed column by column. Answers for disjoint sets of targets can be merged.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from algorithms.jit import in_threads, kernel
from algorithms.search.boxes import LEAF, Boxes, boxes_around, gap_between, measure
from algorithms.types import Integers, Labels, Matrix, Order

PIECE = 16
"""Leaves of points that one thread searches at a time."""

POINTS = 32
"""Points that are searched together."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Distinct points in a tree of boxes, and the number of records at each.

    Attributes
    ----------
    boxes : Boxes
        The tree.
    counts : Integers of shape (n,)
        Number of records at each point, in the order of the tree.
    """

    boxes: Boxes
    counts: Integers


@dataclass(frozen=True, eq=False)
class Nearest:
    """The smallest squared distances from each point, and the number of targets at each.

    Attributes
    ----------
    squares : Matrix of shape (m, enough)
        Different squared distances in ascending order, infinite where there are no more. Those
        beyond the nearest ``enough`` targets are left out.
    counts : Integers of shape (m, enough)
        Number of targets at each distance, 0 where it is infinite.
    """

    squares: Matrix
    counts: Integers

    @property
    def reach(self) -> Matrix:
        """Squared distance of the last of the nearest ``enough`` targets; infinite if fewer."""
        complete = self.counts.sum(axis=1) >= self.squares.shape[1]
        last = np.where(self.counts > 0, self.squares, -np.inf).max(axis=1)
        return np.where(complete, last, np.inf)


def distinct(x: Matrix) -> tuple[Order, Labels, Integers]:
    """Find the distinct rows.

    Returns
    -------
    rows : Order
        A row number for each distinct row, in the order of their values.
    labels : Labels of shape (n,)
        Position in ``rows`` of each row's values.
    counts : Integers
        Number of copies of each distinct row.

    Examples
    --------
    >>> distinct(np.array([[2.0], [1.0], [2.0]]))
    (array([1, 0]), array([1, 0, 1]), array([1, 2]))
    """
    order = np.lexsort(x.T)
    fresh = np.zeros(len(order), dtype=bool)
    fresh[0] = True
    for column in x.T:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = np.cumsum(fresh) - 1
    starts = np.flatnonzero(fresh)
    return order[starts], labels, np.diff(starts, append=len(order))


def targets_at(points: Matrix, counts: Integers) -> Targets:
    """Put distinct points into a tree of boxes."""
    boxes = boxes_around(points, LEAF)
    return Targets(boxes, counts[boxes.rows])


def nearest(points: Matrix, targets: Targets, enough: int, reach: Matrix | None = None) -> Nearest:
    """Find the nearest ``enough`` targets of each point, and all that tie with the last of them.

    Parameters
    ----------
    points : Matrix of shape (m, d)
        Where to search from.
    targets : Targets
        Where to search.
    enough : int
        Number of targets to find, counted as records.
    reach : Matrix of shape (m,), optional
        Largest squared distance that matters for each point; by default infinite.

    Examples
    --------
    >>> targets = targets_at(np.array([[0.0], [1.0], [5.0]]), np.array([1, 3, 1]))
    >>> nearest(np.array([[0.0], [4.0]]), targets, 2)
    Nearest(squares=array([[0., 1.],
           [1., 9.]]), counts=array([[1, 3],
           [1, 3]]))
    """
    if not len(points):
        return Nearest(np.empty((0, enough)), np.empty((0, enough), dtype=np.int64))
    asked = boxes_around(points, POINTS)
    found = nearest_of(asked, targets, enough, None if reach is None else reach[asked.rows])
    back = np.empty_like(asked.rows)
    back[asked.rows] = np.arange(asked.rows.size)
    return Nearest(found.squares[back], found.counts[back])


def nearest_of(asked: Boxes, targets: Targets, enough: int, reach: Matrix | None = None) -> Nearest:
    """Find the nearest targets of points that are in boxes already, in the order of the boxes."""
    n = asked.rows.size
    within = np.full(n, np.inf) if reach is None else reach
    squares, counts = np.full((n, enough), np.inf), np.zeros((n, enough), dtype=np.int64)
    tree = targets.boxes
    in_threads(
        lambda leaf: _search(
            asked.columns, asked.starts, asked.low, asked.high, leaf,
            min(leaf + PIECE, asked.leaves), tree.columns, targets.counts, tree.starts, tree.low,
            tree.high, tree.halves, within, squares, counts,
        ),
        range(0, asked.leaves, PIECE),
    )  # fmt: skip
    return Nearest(squares, counts)


def added(found: Nearest, points: Labels, answers: Nearest) -> Nearest:
    """Add the answers of other targets to what some points have found.

    Parameters
    ----------
    found : Nearest
        The nearest targets of each point so far.
    points : Labels of shape (a,)
        Point that each answer is for; a point may have several.
    answers : Nearest
        The nearest of other targets, for as many of them.

    Examples
    --------
    >>> found = Nearest(np.array([[1.0, 4.0]]), np.array([[1, 1]]))
    >>> more = Nearest(np.array([[1.0, np.inf]]), np.array([[2, 0]]))
    >>> added(found, np.array([0]), more)
    Nearest(squares=array([[ 1., inf]]), counts=array([[3, 0]]))
    """
    squares, counts = found.squares.copy(), found.counts.copy()
    _add(squares, counts, points, answers.squares, answers.counts)
    return Nearest(squares, counts)


@kernel
def _add(
    squares: Matrix, counts: Integers, points: Labels, more: Matrix, more_counts: Integers
) -> None:
    for answer in range(points.size):
        point = points[answer]
        for place in range(more.shape[1]):
            if more_counts[answer, place] > 0:
                square, count = more[answer, place], more_counts[answer, place]
                _count(square, count, squares[point], counts[point])


@kernel
def _count(square: float, count: int, squares: Matrix, counts: Integers) -> float:
    """Count targets at a distance, drop distances beyond enough targets, and give the reach."""
    enough = squares.size
    place = 0
    while place < enough and squares[place] < square:
        place += 1
    if place < enough:
        if squares[place] == square:
            counts[place] += count
        else:
            for later in range(enough - 1, place, -1):
                squares[later] = squares[later - 1]
                counts[later] = counts[later - 1]
            squares[place] = square
            counts[place] = count
    total = 0
    reach = np.inf
    for each in range(enough):
        if total >= enough:
            squares[each] = np.inf
            counts[each] = 0
        elif counts[each] > 0:
            total += counts[each]
            if total >= enough:
                reach = squares[each]
    return reach


@kernel
def _search(
    points: Matrix,
    point_starts: Labels,
    point_low: Matrix,
    point_high: Matrix,
    begin: int,
    end: int,
    columns: Matrix,
    target_counts: Integers,
    starts: Labels,
    low: Matrix,
    high: Matrix,
    halves: Labels,
    within: Matrix,
    squares: Matrix,
    counts: Integers,
) -> None:
    """Search from the points in the leaves from ``begin`` to ``end``.

    Each leaf's points go together through the leaves of targets, the closest box first, and boxes
    that overlap by the distance of their centres. Distances that equal the reach count.
    """
    leaves = starts.size - 1
    from_box = np.empty(LEAF)
    from_point = np.empty(LEAF)
    for leaf in range(begin, end):
        start, stop = point_starts[leaf], point_starts[leaf + 1]
        bottom, top = point_low[:, leaf], point_high[:, leaf]
        reach = within[start:stop].copy()
        farthest = reach.max()
        waiting = [(0.0, 0.0, low.shape[1] - 1)]
        while waiting:
            apart, _, node = heapq.heappop(waiting)
            if apart > farthest:
                break
            if node >= leaves:
                for half in halves[node - leaves]:
                    gap = gap_between(low, high, half, bottom, top)
                    if gap <= farthest:
                        centres = 0.0
                        for j in range(bottom.size):
                            away = low[j, half] + high[j, half] - bottom[j] - top[j]
                            centres += away * away
                        heapq.heappush(waiting, (gap, centres, half))
                continue
            first, last = starts[node], starts[node + 1]
            measure(points, points, start, stop, low[:, node], high[:, node], from_box)
            for i in range(stop - start):
                if from_box[i] <= reach[i]:
                    point = points[:, start + i]
                    measure(columns, columns, first, last, point, point, from_point)
                    for other in range(last - first):
                        if from_point[other] <= reach[i]:
                            found = _count(
                                from_point[other],
                                target_counts[first + other],
                                squares[start + i],
                                counts[start + i],
                            )
                            reach[i] = min(reach[i], found)
            farthest = reach.max()
