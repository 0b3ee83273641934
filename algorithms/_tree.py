"""A spatial index over records that can be removed, for exact searches in large tables.

The records are halved along the widest side of their bounding box until few enough are left for a
leaf. Nodes are numbered as in a heap: the children of node ``i`` are ``2i + 1`` and ``2i + 2``, and
the leaves are the last nodes. Boxes are kept tight when records leave. The gap between a point and
a box is summed as a distance is, column by column: rounding being monotonic, no record in the box
can come out nearer, and a search gives the same rows as one through all records.
"""

from typing import NamedTuple

import numpy as np

from algorithms._jit import kernel
from algorithms.types import Labels, Matrix, Order

LEAF = 16
"""Records in a leaf, at the most."""


class Tree(NamedTuple):
    """Records that can be found and removed.

    Attributes
    ----------
    blocks : array of shape (leaves, d, LEAF)
        The records of each leaf in columns, NaN where there is none.
    rows : array of shape (leaves, LEAF)
        Their row numbers.
    boxes : array of shape (nodes, 2, d)
        Least and greatest values below each node, infinite the wrong way round if it is empty.
    places : Labels of shape (n,)
        Where each row is, in ``rows`` laid flat.
    """

    blocks: Matrix
    rows: Labels
    boxes: Matrix
    places: Labels


@kernel
def build(x: Matrix, rows: Order) -> Tree:
    """Index the given rows of ``x``."""
    d = x.shape[1]
    leaves = 1
    while leaves * LEAF < rows.size:
        leaves *= 2
    tree = Tree(
        np.full((leaves, d, LEAF), np.nan),
        np.full((leaves, LEAF), -1, dtype=np.int64),
        np.empty((2 * leaves - 1, 2, d)),
        np.full(x.shape[0], -1, dtype=np.int64),
    )
    below, values = rows.copy(), np.empty(rows.size)
    starts = np.zeros(2 * leaves, dtype=np.int64)
    stops = np.full(2 * leaves, rows.size, dtype=np.int64)
    for node in range(leaves - 1):
        start, stop = starts[node], stops[node]
        half = (start + stop) // 2
        widest, side = -1.0, 0
        for j in range(d):
            least, greatest = np.inf, -np.inf
            for row in below[start:stop]:
                least = min(least, x[row, j])
                greatest = max(greatest, x[row, j])
            if greatest - least > widest:
                widest = greatest - least
                side = j
        for i in range(start, stop):
            values[i] = x[below[i], side]
        _part(values, below, start, stop, half)
        starts[2 * node + 1], stops[2 * node + 1] = start, half
        starts[2 * node + 2], stops[2 * node + 2] = half, stop
    for leaf in range(leaves):
        node = leaves - 1 + leaf
        for slot in range(stops[node] - starts[node]):
            row = below[starts[node] + slot]
            tree.rows[leaf, slot] = row
            tree.places[row] = leaf * LEAF + slot
            for j in range(d):
                tree.blocks[leaf, j, slot] = x[row, j]
        _fit_leaf(tree, leaf)
    for node in range(leaves - 2, -1, -1):
        _fit_node(tree, node)
    return tree


@kernel
def remove(tree: Tree, row: int) -> None:
    """Take a row out."""
    leaf, slot = divmod(tree.places[row], LEAF)
    for j in range(tree.blocks.shape[1]):
        tree.blocks[leaf, j, slot] = np.nan
    changed = _fit_leaf(tree, leaf)
    node = tree.blocks.shape[0] - 1 + leaf
    while changed and node > 0:
        node = (node - 1) // 2
        changed = _fit_node(tree, node)


@kernel
def nearest(tree: Tree, point: Matrix, rows: Labels, squares: Matrix) -> int:
    """Find the rows nearest to ``point``, as many as ``rows`` holds, and return how many there are.

    They are written to ``rows``, the nearest first, and their squared distances to ``squares``; of
    equals the lowest row comes first.
    """
    leaves = tree.blocks.shape[0]
    count = rows.size
    rows[:] = tree.places.size
    squares[:] = np.inf
    nodes = np.empty(64, dtype=np.int64)
    gaps = np.empty(64)
    total = np.empty(LEAF)
    nodes[0], gaps[0] = 0, _gap(tree, 0, point, np.inf)
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        if not gaps[waiting] <= squares[-1]:
            continue
        if node < leaves - 1:
            left, right = 2 * node + 1, 2 * node + 2
            to_left, to_right = (
                _gap(tree, left, point, squares[-1]),
                _gap(tree, right, point, squares[-1]),
            )
            if to_left < to_right:
                left, right, to_left, to_right = right, left, to_right, to_left
            if to_left <= squares[-1]:
                nodes[waiting], gaps[waiting] = left, to_left
                waiting += 1
            if to_right <= squares[-1]:
                nodes[waiting], gaps[waiting] = right, to_right
                waiting += 1
            continue
        leaf = node - leaves + 1
        total[:] = 0.0
        for j in range(point.size):
            value = point[j]
            column = tree.blocks[leaf, j]
            for i in range(LEAF):
                difference = column[i] - value
                total[i] += difference * difference
        for i in range(LEAF):
            square = total[i]
            row = tree.rows[leaf, i]
            if square < squares[-1] or (square == squares[-1] and row < rows[-1]):
                place = count - 1
                while place > 0 and (
                    square < squares[place - 1]
                    or (square == squares[place - 1] and row < rows[place - 1])
                ):
                    squares[place] = squares[place - 1]
                    rows[place] = rows[place - 1]
                    place -= 1
                squares[place] = square
                rows[place] = row
    while count > 0 and squares[count - 1] == np.inf:
        count -= 1
    return count


@kernel
def _part(values: Matrix, rows: Order, start: int, stop: int, middle: int) -> None:
    """Exchange entries until those before ``middle`` are no greater than those from there on."""
    low, high = start, stop - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break


@kernel
def _gap(tree: Tree, node: int, point: Matrix, bound: float) -> float:
    """Bound the squared distance between a point and the records below a node; infinite if none."""
    box = tree.boxes[node]
    total = 0.0
    for j in range(point.size):
        gap = max(box[0, j] - point[j], point[j] - box[1, j], 0.0)
        total += gap * gap
        if total > bound:
            break
    return total


@kernel
def _fit_leaf(tree: Tree, leaf: int) -> bool:
    """Draw the box of a leaf around its records; tell whether it changed."""
    box = tree.boxes[tree.blocks.shape[0] - 1 + leaf]
    changed = False
    for j in range(box.shape[1]):
        least, greatest = np.inf, -np.inf
        for i in range(LEAF):
            value = tree.blocks[leaf, j, i]
            # NaN fails both comparisons
            if value < least:
                least = value
            if value > greatest:
                greatest = value
        changed = changed or least != box[0, j] or greatest != box[1, j]
        box[0, j], box[1, j] = least, greatest
    return changed


@kernel
def _fit_node(tree: Tree, node: int) -> bool:
    """Draw the box of a node around its children's; tell whether it changed."""
    box, left, right = tree.boxes[node], tree.boxes[2 * node + 1], tree.boxes[2 * node + 2]
    changed = False
    for j in range(box.shape[1]):
        least = min(left[0, j], right[0, j])
        greatest = max(left[1, j], right[1, j])
        changed = changed or least != box[0, j] or greatest != box[1, j]
        box[0, j], box[1, j] = least, greatest
    return changed
