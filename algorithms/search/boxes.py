"""Rows in a tree of boxes, for searches that leave out whole boxes."""

from dataclasses import dataclass

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Integers, Labels, Matrix

LEAF = 128
"""Rows measured together: more cost distances, fewer cost boxes."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Rows in the leaves of a k-d tree, and the boxes around the rows of each node.

    Leaves are the first nodes, numbered in their order; the root is the last node.

    Attributes
    ----------
    rows : Integers of shape (n,)
        Row numbers, leaf by leaf.
    columns : Matrix of shape (d, n)
        Coordinates of these rows.
    starts : Labels of shape (leaves + 1,)
        Where the rows of each leaf start, and where the last leaf ends.
    low, high : Matrix of shape (d, nodes)
        The smallest and the largest coordinates of the rows of each node.
    halves : Labels of shape (nodes - leaves, 2)
        The two nodes into which each node that is no leaf is cut.
    first : Labels of shape (nodes,)
        The first leaf of each node.
    """

    rows: Integers
    columns: Matrix
    starts: Labels
    low: Matrix
    high: Matrix
    halves: Labels
    first: Labels

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return self.starts.size - 1


def boxes_around(x: Matrix, leaf: int) -> Boxes:
    """Halve the rows along their widest column, until at most ``leaf`` are left in each leaf."""
    leaves: list[Integers] = []
    halves: list[tuple[int, int]] = []

    def cut(rows: Integers) -> int:
        """Give a leaf its number, and the other nodes negative numbers."""
        if len(rows) <= leaf:
            leaves.append(rows)
            return len(leaves) - 1
        widest = int(np.argmax([np.ptp(x[rows, j]) for j in range(x.shape[1])]))
        # a full sort: where a partial one leaves ties depends on the machine
        order = np.argsort(x[rows, widest], kind="stable")
        lower, upper = np.split(rows[order], [len(rows) // 2])
        del rows, order
        halves.append((cut(lower), cut(upper)))
        return -len(halves)

    cut(np.arange(len(x)))
    rows = np.concatenate(leaves)
    starts = np.concatenate([[0], np.cumsum([len(each) for each in leaves])])
    columns = np.empty(x.shape[::-1])
    for j in range(x.shape[1]):
        columns[j] = x[rows, j]
    children = np.array(halves, dtype=np.int64).reshape(-1, 2)
    children = np.where(children < 0, len(leaves) - 1 - children, children)
    nodes = len(leaves) + len(children)
    low, high = np.empty((x.shape[1], nodes)), np.empty((x.shape[1], nodes))
    low[:, : len(leaves)] = np.minimum.reduceat(columns, starts[:-1], axis=1)
    high[:, : len(leaves)] = np.maximum.reduceat(columns, starts[:-1], axis=1)
    first = np.arange(nodes)
    for node, (one, other) in enumerate(children.tolist(), start=len(leaves)):
        low[:, node] = np.minimum(low[:, one], low[:, other])
        high[:, node] = np.maximum(high[:, one], high[:, other])
        first[node] = first[one]
    return Boxes(rows, columns, starts, low, high, children, first)


@kernel
def measure(
    bottoms: Matrix, tops: Matrix, begin: int, end: int, bottom: Matrix, top: Matrix, out: Matrix
) -> None:
    """Write the squared distances of some boxes to one box; a row is a box of no size.

    Box distances are summed like distances and so never exceed them, not even by rounding.
    """
    total = out[: end - begin]
    total[:] = 0.0
    for j in range(bottoms.shape[0]):
        lows, highs = bottoms[j, begin:end], tops[j, begin:end]
        floor, ceiling = bottom[j], top[j]
        for i in range(total.size):
            gap = max(max(lows[i] - ceiling, floor - highs[i]), 0.0)
            total[i] += gap * gap


@kernel
def gap_between(low: Matrix, high: Matrix, node: int, bottom: Matrix, top: Matrix) -> float:
    """Give the squared distance of a node's box to another box."""
    total = 0.0
    for j in range(low.shape[0]):
        gap = max(max(low[j, node] - top[j], bottom[j] - high[j, node]), 0.0)
        total += gap * gap
    return total
