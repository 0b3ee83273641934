"""The second stage that DBA-2, MDAV-2 and TFRP-2 share: dissolve groups, then split large ones."""

import numpy as np

from algorithms.jit import kernel
from algorithms.local_search.divide import Split, split_large
from algorithms.search.pool import centroids_of
from algorithms.types import Labels, Matrix


def dissolve_and_split(
    x: Matrix, labels: Labels, k: int, split: Split, largest: int | None = None
) -> Labels:
    """Dissolve groups whose members fit better elsewhere, then split groups of ``2k`` rows or more.

    Groups are visited by decreasing sum of squares, as they were at the start. The members of a
    group are sent to the nearest other centroids, as those stand before the trial; if that lowers
    the total sum of squares it is kept.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    labels : Labels of shape (n,)
        Groups to refine.
    k : int
        Smallest group.
    split : callable
        Method that splits a group of ``2k`` rows or more.
    largest : int, optional
        A group of this size takes no more rows.
    """
    refined = labels.copy()
    dissolve(x, refined, centroids_of(x, labels), np.bincount(labels), largest or len(x))
    return split_large(x, refined, k, split)


@kernel
def dissolve(x: Matrix, labels: Labels, centroids: Matrix, sizes: Labels, largest: int) -> None:
    """Dissolve groups in place, by decreasing sum of squares at the start."""
    n, d = x.shape
    groups = sizes.size
    start = np.zeros(groups)
    for i in range(n):
        for j in range(d):
            difference = x[i, j] - centroids[labels[i], j]
            start[labels[i]] += difference * difference
    goals = np.empty(n, dtype=np.int64)
    for group in np.argsort(-start, kind="mergesort"):
        members = np.flatnonzero(labels == group)
        change = 0.0
        possible = True
        for member in members:
            goals[member] = -1
            best = np.inf
            for other in range(groups):
                if other == group or sizes[other] == 0 or sizes[other] >= largest:
                    continue
                square = 0.0
                for j in range(d):
                    difference = x[member, j] - centroids[other, j]
                    square += difference * difference
                if square < best:
                    best = square
                    goals[member] = other
            possible = possible and goals[member] >= 0
            for j in range(d):
                difference = x[member, j] - centroids[group, j]
                change -= difference * difference
        if not possible:
            continue
        # the rise in each group that takes members in, with all that come to it
        arriving = goals[members]
        for goal in np.unique(arriving):
            came = members[arriving == goal]
            size = sizes[goal]
            for j in range(d):
                shift = 0.0
                for member in came:
                    shift += x[member, j] - centroids[goal, j]
                for member in came:
                    difference = x[member, j] - centroids[goal, j]
                    change += difference * difference
                change -= shift * shift / (size + came.size)
        if change < 0.0:
            for goal in np.unique(arriving):
                came = members[arriving == goal]
                for j in range(d):
                    total = centroids[goal, j] * sizes[goal]
                    for member in came:
                        total += x[member, j]
                    centroids[goal, j] = total / (sizes[goal] + came.size)
                sizes[goal] += came.size
            labels[members] = arriving
            sizes[group] = 0
