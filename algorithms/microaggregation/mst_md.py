"""M-d, minimum spanning tree partitioning with MD inside large components."""

import numpy as np

from algorithms.jit import kernel
from algorithms.local_search.divide import split_large
from algorithms.microaggregation.md import form_groups
from algorithms.microaggregation.method import Method
from algorithms.types import Labels, Matrix


def mst_md(x: Matrix, k: int) -> Labels:
    """Group the rows of ``x`` by cutting the long edges of their minimum spanning tree.

    Edges are cut, the longest first, wherever both sides keep at least ``k`` rows; a component of
    ``2k`` rows or more is split by MD with groups that grow around their centroid [LM05]_.

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
    Time O(n² d) for the tree, and that of MD within components; memory O(n d), for distances are
    computed as the tree grows and not kept. Deterministic.

    Examples
    --------
    >>> mst_md(np.array([[0.0], [9.0], [1.0], [8.0], [7.0]]), k=2)
    array([0, 1, 0, 1, 1])
    """
    parents, lengths, order = grow_tree(x.T.copy(order="C"))
    components = cut_edges(parents, lengths, order, k)
    return split_large(x, components, k, _cut_pairs)


def _cut_pairs(x: Matrix, k: int) -> Labels:
    pool = form_groups(x, k, grow="centroid")
    pool.join_nearest()
    return pool.labels


@kernel
def grow_tree(columns: Matrix) -> tuple[Labels, Matrix, Labels]:
    """Grow a minimum spanning tree from row 0.

    Returns the parent of each row, the squared length of the edge to it, and the rows in the order
    in which they joined. Ties go to the edge to the lowest row.
    """
    d, n = columns.shape
    parents = np.full(n, -1, dtype=np.int64)
    lengths = np.full(n, np.inf)
    order = np.zeros(n, dtype=np.int64)
    joined = np.zeros(n, dtype=np.bool_)
    lengths[0] = 0.0
    joined[0] = True
    current = 0
    for step in range(1, n):
        following = -1
        for i in range(n):
            if joined[i]:
                continue
            square = 0.0
            for j in range(d):
                difference = columns[j, i] - columns[j, current]
                square += difference * difference
            if square < lengths[i]:
                lengths[i] = square
                parents[i] = current
            if following < 0 or lengths[i] < lengths[following]:
                following = i
        joined[following] = True
        order[step] = following
        current = following
    return parents, lengths, order


@kernel
def cut_edges(parents: Labels, lengths: Matrix, order: Labels, k: int) -> Labels:
    """Cut edges, the longest first, wherever both sides keep ``k`` rows; number the components."""
    n = parents.size
    below = np.ones(n, dtype=np.int64)  # rows of the component at and below each row
    for step in range(n - 1, 0, -1):
        row = order[step]
        below[parents[row]] += below[row]
    top = parents.copy()  # the parent within the component, -1 at its root
    for row in np.argsort(-lengths, kind="mergesort"):
        if top[row] < 0:
            continue
        root = top[row]
        while top[root] >= 0:
            root = top[root]
        if below[row] < k or below[root] - below[row] < k:
            continue
        above = top[row]
        while above >= 0:
            below[above] -= below[row]
            above = top[above]
        top[row] = -1
    components = np.empty(n, dtype=np.int64)
    count = 0
    for row in order:
        if top[row] < 0:
            components[row] = count
            count += 1
        else:
            components[row] = components[top[row]]
    return components


METHOD = Method(
    run=mst_md,
    summary=(
        "All records are connected by the shortest possible network. Its longest links are cut "
        "where both sides stay large enough, and large parts are divided into groups."
    ),
    paper="LM05",
)
