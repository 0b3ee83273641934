"""A spatial index over records that can be removed, for exact searches in large tables.

The records are halved along the widest side of their bounding box until they fill leaves of
``WIDTH``. Each ``WIDTH`` leaves have a node above them, each ``WIDTH`` nodes another, up to a
single one; halves are taken so that all are parts of the same halving. What lies below a node is
measured side by side, leaves as much as boxes. Boxes are kept tight when records leave, and where
there is no record there is NaN, which no comparison ever chooses.

The gap between a point and a box, and how far the box reaches from it, are summed as a distance
is, column by column: rounding being monotonic, no record in the box can come out nearer or farther,
and a search gives the same rows as one through all records.
"""

from typing import NamedTuple

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Labels, Matrix, Order

WIDTH = 32
"""Most records in a leaf, and most children of a node."""

BALL_WEIGHT = 0.5
"""Weight of the ball where the reach of a box is bounded; the bound holds for any above 0."""


class Tree(NamedTuple):
    """Records that can be found and removed.

    Attributes
    ----------
    centre : array of shape (d,)
        The average of the records when the tree was built.
    blocks : array of shape (leaves, d + 1, WIDTH)
        The records of each leaf in columns, and their squared distances from the centre as one
        more; NaN where a slot is empty.
    rows : array of shape (leaves, WIDTH)
        Their row numbers.
    boxes : array of shape (nodes, 2, d + 1, WIDTH)
        Least and greatest values below each child of a node, NaN where there are no records.
    starts : Labels of shape (levels + 1,)
        Number of the first node of each level, that above the leaves being 1.
    places : Labels of shape (n,)
        Where each row is, in ``rows`` laid flat.
    bounds : array of shape (levels + 2, WIDTH)
        Room for what is known of the children on the way down, and of the records in a leaf.
    work : Labels of shape (1,)
        Columns of blocks and boxes that were measured so far, in multiples of those of a leaf.
    """

    centre: Matrix
    blocks: Matrix
    rows: Labels
    boxes: Matrix
    starts: Labels
    places: Labels
    bounds: Matrix
    work: Labels


@kernel
def build(x: Matrix, rows: Order) -> Tree:
    """Index the given rows of ``x``."""
    d = x.shape[1]
    leaves = max((rows.size + WIDTH - 1) // WIDTH, 1)
    starts = np.zeros(16, dtype=np.int64)
    level, nodes, count = 1, 0, leaves
    while True:
        count = (count + WIDTH - 1) // WIDTH
        starts[level] = nodes
        nodes += count
        if count == 1:
            break
        level += 1
    centre = np.zeros(d)
    for row in rows:
        for j in range(d):
            centre[j] += x[row, j] / rows.size
    tree = Tree(
        centre,
        np.full((leaves, d + 1, WIDTH), np.nan),
        np.full((leaves, WIDTH), -1, dtype=np.int64),
        np.full((nodes, 2, d + 1, WIDTH), np.nan),
        starts[: level + 1].copy(),
        np.full(x.shape[0], -1, dtype=np.int64),
        np.empty((level + 2, WIDTH)),
        np.zeros(1, dtype=np.int64),
    )
    ordered = _halve(x, rows)
    for place in range(rows.size):
        row = ordered[place]
        leaf, slot = divmod(place, WIDTH)
        tree.rows[leaf, slot] = row
        tree.places[row] = place
        square = 0.0
        for j in range(d):
            tree.blocks[leaf, j, slot] = x[row, j]
            square += (x[row, j] - centre[j]) ** 2
        tree.blocks[leaf, d, slot] = square
    for leaf in range(leaves):
        for j in range(d + 1):
            _fit(tree, leaf, j)
    return tree


@kernel
def remove(tree: Tree, row: int) -> None:
    """Take a row out."""
    leaf, slot = divmod(tree.places[row], WIDTH)
    node, child = divmod(leaf, WIDTH)
    box = tree.boxes[tree.starts[1] + node]
    for j in range(tree.blocks.shape[1]):
        value = tree.blocks[leaf, j, slot]
        tree.blocks[leaf, j, slot] = np.nan
        if value == box[0, j, child] or value == box[1, j, child]:
            _fit(tree, leaf, j)


@kernel
def rows_left(tree: Tree, count: int) -> Order:
    """List the ``count`` rows that were not removed."""
    rows = np.empty(count, dtype=np.int64)
    listed = 0
    for leaf in range(tree.rows.shape[0]):
        for slot in range(WIDTH):
            if not np.isnan(tree.blocks[leaf, 0, slot]):
                rows[listed] = tree.rows[leaf, slot]
                listed += 1
    return rows


@kernel
def nearest(tree: Tree, point: Matrix, rows: Labels, squares: Matrix) -> int:
    """Find the rows nearest to ``point``, as many as ``rows`` holds, and return how many there are.

    They are written to ``rows``, the nearest first, and their squared distances to ``squares``;
    ties go to the lowest row.
    """
    count = rows.size
    rows[:] = tree.places.size
    squares[:] = np.inf
    top = tree.starts.size - 1
    at = np.zeros(top + 1, dtype=np.int64)
    level = top
    _measure_gaps(tree, level, at[level], point)
    while level <= top:
        bounds = tree.bounds[level]
        child, least = -1, np.inf
        for i in range(WIDTH):
            if bounds[i] < least:
                child, least = i, bounds[i]
        if child < 0 or least > squares[-1]:
            level += 1
            continue
        bounds[child] = np.inf
        below = at[level] * WIDTH + child
        if level > 1:
            level -= 1
            at[level] = below
            _measure_gaps(tree, level, at[level], point)
            continue
        total = tree.bounds[0]
        _measure(tree, below, point)
        worst, some = squares[-1], 0
        for i in range(total.size):
            some += total[i] <= worst
        if some == 0:
            continue
        for i in range(WIDTH):
            square = total[i]
            row = tree.rows[below, i]
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
def farthest(tree: Tree, point: Matrix) -> int:
    """Find the row farthest from ``point``, -1 if the tree is empty; ties go to the lowest row."""
    best, largest = -1, -1.0
    top = tree.starts.size - 1
    at = np.zeros(top + 1, dtype=np.int64)
    level = top
    offset = point - tree.centre
    _measure_reaches(tree, level, at[level], point, offset)
    while level <= top:
        bounds = tree.bounds[level]
        child, greatest = -1, -1.0
        for i in range(WIDTH):
            if bounds[i] > greatest:
                child, greatest = i, bounds[i]
        if child < 0 or greatest < largest:
            level += 1
            continue
        bounds[child] = -1.0
        below = at[level] * WIDTH + child
        if level > 1:
            level -= 1
            at[level] = below
            _measure_reaches(tree, level, at[level], point, offset)
            continue
        total = tree.bounds[0]
        _measure(tree, below, point)
        some = 0
        for i in range(total.size):
            some += total[i] >= largest
        if some == 0:
            continue
        for i in range(WIDTH):
            row = tree.rows[below, i]
            if total[i] > largest or (total[i] == largest and row < best):
                best, largest = row, total[i]
    return best


@kernel
def _measure(tree: Tree, leaf: int, point: Matrix) -> None:
    """Measure the squared distances of the records in a leaf."""
    block = tree.blocks[leaf]
    total = tree.bounds[0]
    tree.work[0] += 1
    total[:] = 0.0
    for j in range(point.size):
        value = point[j]
        column = block[j]
        for i in range(total.size):
            difference = column[i] - value
            total[i] += difference * difference


@kernel
def _measure_gaps(tree: Tree, level: int, node: int, point: Matrix) -> None:
    """Bound the squared distances between a point and the records below each child from below."""
    box = tree.boxes[tree.starts[level] + node]
    total = tree.bounds[level]
    tree.work[0] += 2
    total[:] = 0.0
    for j in range(point.size):
        value = point[j]
        low, high = box[0, j], box[1, j]
        for i in range(total.size):
            gap = low[i] - value
            other = value - high[i]
            gap = other if other > gap else gap
            gap = 0.0 if gap < 0.0 else gap
            total[i] += gap * gap


@kernel
def _measure_reaches(tree: Tree, level: int, node: int, point: Matrix, offset: Matrix) -> None:
    """Bound the squared distances between a point and the records below each child from above.

    The farthest corner of the box gives one bound. It lies far outside of the ball around the
    centre that holds the records, too, so that a second bound uses both: with a multiplier m >= 0
    for being in the ball, of squared radius s, and all coordinates taken from the centre,

        |x - p|² <= |x - p|² + m (s - |x|²) <= (1 + m) s + |p|² - sum of x_j (2 p_j + m x_j)

    where each term of the sum is least at -p_j / m, or the closest that the box allows.
    """
    box = tree.boxes[tree.starts[level] + node]
    total, inside = tree.bounds[level], tree.bounds[-1]
    tree.work[0] += 3
    total[:] = 0.0
    inside[:] = 0.0
    square = 0.0
    for j in range(point.size):
        value, away, centre = point[j], offset[j], tree.centre[j]
        ideal = -away / BALL_WEIGHT
        square += away * away
        low, high = box[0, j], box[1, j]
        for i in range(total.size):
            reach = value - low[i]
            other = high[i] - value
            reach = other if other > reach else reach
            total[i] += reach * reach
            least = low[i] - centre
            most = high[i] - centre
            best = ideal if ideal > least else least
            best = most if best > most else best
            inside[i] += best * (2.0 * away + BALL_WEIGHT * best)
    radius = box[1, point.size]
    for i in range(total.size):
        outer = (1.0 + BALL_WEIGHT) * radius[i] + square
        # the second bound is summed in another order than distances are: leave room for rounding
        bound = outer * (1.0 + 1e-9) - inside[i]
        total[i] = bound if bound < total[i] else total[i]


@kernel
def _fit(tree: Tree, leaf: int, j: int) -> None:
    """Draw the box of a leaf around its records in one column, and the boxes above it."""
    column = tree.blocks[leaf, j]
    low, high = column, column
    below = leaf
    for level in range(1, tree.starts.size):
        least, greatest = np.inf, -np.inf
        for i in range(WIDTH):
            # NaN fails both comparisons
            least = low[i] if low[i] < least else least
            greatest = high[i] if high[i] > greatest else greatest
        if least > greatest:
            least, greatest = np.nan, np.nan
        node, child = divmod(below, WIDTH)
        box = tree.boxes[tree.starts[level] + node]
        low, high = box[0, j], box[1, j]
        if least == low[child] and greatest == high[child]:
            break
        low[child], high[child] = least, greatest
        below = node


@kernel
def _halve(x: Matrix, rows: Order) -> Order:
    """Order rows so that leaves and nodes are what halving along the widest sides leaves."""
    d = x.shape[1]
    ordered, values = rows.copy(), np.empty(rows.size)
    low, high = np.empty(d), np.empty(d)
    starts, stops = np.empty(128, dtype=np.int64), np.empty(128, dtype=np.int64)
    starts[0], stops[0] = 0, rows.size
    waiting = 1
    while waiting > 0:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        if stop - start <= WIDTH:
            continue
        # what a node can hold that is the largest of those smaller than this part
        whole = WIDTH
        while whole * WIDTH < stop - start:
            whole *= WIDTH
        middle = start + ((stop - start) // 2 + whole // 2) // whole * whole
        low[:], high[:] = np.inf, -np.inf
        for row in ordered[start:stop]:
            for j in range(d):
                value = x[row, j]
                low[j] = value if value < low[j] else low[j]
                high[j] = value if value > high[j] else high[j]
        side = 0
        for j in range(d):
            if high[j] - low[j] > high[side] - low[side]:
                side = j
        for i in range(start, stop):
            values[i] = x[ordered[i], side]
        _part(values, ordered, start, stop, middle)
        starts[waiting], stops[waiting] = start, middle
        starts[waiting + 1], stops[waiting + 1] = middle, stop
        waiting += 2
    return ordered


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
