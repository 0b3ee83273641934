"""mu-Approx, groups from a forest of nearest neighbours."""

import numpy as np

from algorithms.jit import kernel
from algorithms.microaggregation.method import Method
from algorithms.search.kernels import squared_distances
from algorithms.search.pool import Pool
from algorithms.types import Labels, Matrix


def mu_approx(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` by cutting a forest of nearest neighbours into trees of about ``k``.

    Each tree of fewer than ``k`` rows is joined, from the one row of it that points nowhere yet, to
    the nearest row outside it. Trees of more than ``max(2k - 1, 3k - 5)`` rows are cut in two, and
    what then has ``2k`` rows or more gives a group of ``k`` around the row farthest from its
    centroid [DSS08]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group, ``1 <= k <= n``.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(n² d), memory O(n d). Deterministic. The descriptions we have leave choices open; here,
    small trees are joined by the lowest row first, an edge is cut if both sides keep ``k`` rows, of
    several the one whose smaller side is largest, or the longest if these tie, and a tree that no
    edge splits so is divided at the row all of whose branches are small: branches go, the largest
    first, to a part of their own until it holds ``k`` rows, if ``k`` remain.

    Examples
    --------
    >>> mu_approx(np.array([[0.0], [9.0], [1.0], [8.0], [7.0]]), k=2)
    array([0, 1, 0, 1, 1])
    """
    targets = point_to_neighbours(x.T.copy(order="C"), k)
    limit = max(2 * k - 1, 3 * k - 5)
    labels = np.empty(len(x), dtype=np.int64)
    groups = 0
    waiting = _trees(targets)
    while waiting:
        rows = waiting.pop()
        parts = _cut(x, rows, targets, k) if len(rows) > limit else None
        if parts is not None:
            waiting += parts
            continue
        for group in _cut_groups(x, rows, k):
            labels[group] = groups
            groups += 1
    return np.unique(labels, return_inverse=True)[1]


@kernel
def point_to_neighbours(columns: Matrix, k: int) -> Labels:
    """Let trees of fewer than ``k`` rows point to the nearest row outside; -1 where none points."""
    n = columns.shape[1]
    targets = np.full(n, -1, dtype=np.int64)
    if n <= k:
        # one tree, whatever it looks like
        for row in range(1, n):
            targets[row] = row - 1
        return targets
    tree = np.arange(n)
    sizes = np.ones(n, dtype=np.int64)
    distances = np.empty(n)
    for start in range(n):
        while sizes[tree[start]] < k:
            # the one row of the tree that points nowhere
            row = start
            while targets[row] >= 0:
                row = targets[row]
            squared_distances(columns, n, columns[:, row].copy(), distances)
            nearest = -1
            for other in range(n):
                if tree[other] != tree[row] and (
                    nearest < 0 or distances[other] < distances[nearest]
                ):
                    nearest = other
            targets[row] = nearest
            joined, left = tree[nearest], tree[row]
            sizes[joined] += sizes[left]
            for other in range(n):
                if tree[other] == left:
                    tree[other] = joined
    return targets


def _trees(targets: Labels) -> list[Labels]:
    """List the rows of each tree."""
    roots = np.arange(len(targets))
    for row in range(len(targets)):
        end = row
        while targets[end] >= 0:
            end = targets[end]
        roots[row] = end
    return [np.flatnonzero(roots == root) for root in np.unique(roots)[::-1]]


def _cut(x: Matrix, rows: Labels, targets: Labels, k: int) -> list[Labels] | None:
    """Cut a tree in two parts of at least ``k`` rows; None if that is impossible."""
    inside = set(rows.tolist())
    children: dict[int, list[int]] = {row: [] for row in inside}
    for row in rows.tolist():
        if int(targets[row]) in inside:
            children[int(targets[row])].append(row)
    root = next(row for row in rows.tolist() if int(targets[row]) not in inside)
    order = [root]
    for row in order:
        order += children[row]
    below = dict.fromkeys(order, 1)
    for row in reversed(order[1:]):
        below[int(targets[row])] += below[row]
    edges = [row for row in order[1:] if min(below[row], len(rows) - below[row]) >= k]
    if edges:
        row = max(
            edges,
            key=lambda row: (
                min(below[row], len(rows) - below[row]),
                float(((x[row] - x[targets[row]]) ** 2).sum()),
                -row,
            ),
        )
        part = _subtree(row, children)
        targets[row] = -1
        return [np.setdiff1d(rows, part), part]
    return _divide_star(rows, children, below, order, k)


def _subtree(row: int, children: dict[int, list[int]]) -> Labels:
    rows = [row]
    for parent in rows:
        rows += children[parent]
    return np.sort(np.array(rows))


def _divide_star(
    rows: Labels,
    children: dict[int, list[int]],
    below: dict[int, int],
    order: list[int],
    k: int,
) -> list[Labels] | None:
    """Divide a tree at the row all of whose branches hold fewer than ``k`` rows."""
    centre = order[0]
    while True:
        heavy = [child for child in children[centre] if below[child] >= k]
        if not heavy:
            break
        centre = heavy[0]
    branches = [_subtree(child, children) for child in children[centre]]
    above = np.setdiff1d(rows, _subtree(centre, children))
    if above.size:
        branches.append(above)
    part: list[int] = []
    for branch in sorted(branches, key=lambda branch: (-len(branch), int(branch[0]))):
        if len(part) < k:
            part += branch.tolist()
    rest = np.setdiff1d(rows, part)
    # the part is no tree, but too small to be cut again
    return [rest, np.sort(np.array(part))] if len(rest) >= k else None


def _cut_groups(x: Matrix, rows: Labels, k: int) -> list[Labels]:
    """Cut groups of ``k`` from a tree until fewer than ``2k`` rows are left."""
    pool = Pool(x[rows])
    groups = []
    while len(pool) >= 2 * k:
        pool.cut(pool.farthest_from(pool.centroid()), k)
        groups.append(rows[pool.last])
    pool.cut_rest()
    return [*groups, rows[pool.last]]


METHOD = Method(
    run=mu_approx,
    summary=(
        "Each record is linked to a record near it, and the trees that result are cut into groups"
        " of similar size."
    ),
    paper="DSS08",
)
