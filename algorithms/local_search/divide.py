"""Divides groups that are large enough for two: once each, or until none is left."""

from collections.abc import Callable

import numpy as np

from algorithms.types import Labels, Matrix

Split = Callable[[Matrix, int], Labels]
"""Groups the rows of a matrix into groups of at least ``k``."""


def split_large(x: Matrix, groups: Labels, k: int, split: Split) -> Labels:
    """Split every group of ``2k`` rows or more, and number all groups from 0."""
    labels = np.empty(len(x), dtype=np.int64)
    count = 0
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        parts = split(x[members], k) if len(members) >= 2 * k else np.zeros(1, dtype=np.int64)
        labels[members] = count + parts
        count += int(parts.max()) + 1
    return labels


def split_until_small(x: Matrix, k: int, split: Split) -> Labels:
    """Split the rows of ``x``, and the parts again, until no group holds ``2k`` rows."""
    labels = np.zeros(len(x), dtype=np.int64)
    count = 1
    large = [np.arange(len(x))] if len(x) >= 2 * k else []
    while large:
        rows = large.pop()
        parts = split(x[rows], k)
        numbers = np.append(labels[rows[0]], count + np.arange(parts.max()))
        labels[rows] = numbers[parts]
        count += int(parts.max())
        large += [rows[parts == part] for part in np.flatnonzero(np.bincount(parts) >= 2 * k)]
    return labels
