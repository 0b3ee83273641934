"""Compiled loops that several methods share.

Records lie in columns here, ``columns[j, i]`` being attribute ``j`` of the ``i``-th record held:
the inner loops then run over records side by side, while each record's own sum keeps its order. A
record that was taken is NaN from then on, and no comparison ever chooses it.
"""

import numpy as np

from algorithms._jit import kernel
from algorithms.types import Labels, Matrix

BLOCK = 1024
"""Records whose distances are summed together, few enough to stay in the nearest cache."""


@kernel
def squared_distances(columns: Matrix, held: int, point: Matrix, out: Matrix) -> None:
    """Write the squared distance of each record to ``point``."""
    for start in range(0, held, BLOCK):
        stop = min(start + BLOCK, held)
        total = out[
            start:stop
        ]  # views from zero on: what the compiler can prove, it does in parallel
        total[:] = 0.0
        for j in range(columns.shape[0]):
            column = columns[j, start:stop]
            value = point[j]
            for i in range(total.size):
                difference = column[i] - value
                total[i] += difference * difference


@kernel
def farthest(distances: Matrix, held: int) -> int:
    """Find the largest distance; the first of equals."""
    best = -1
    largest = -1.0
    for i in range(held):
        if distances[i] > largest:
            largest = distances[i]
            best = i
    return best


@kernel
def nearest(distances: Matrix, held: int, count: int) -> Labels:
    """Find the ``count`` smallest distances; the first of equals.

    The best so far stand in a heap, the worst of them on top: a distance that is no better than
    that one, and that is nearly every distance, costs one comparison.
    """
    heap = np.empty(count, dtype=np.int64)
    size = 0
    for i in range(held):
        if size < count:
            if np.isnan(distances[i]):
                continue
            child = size
            size += 1
            while child > 0:
                parent = (child - 1) // 2
                # of two equal distances the later record is the worse
                if distances[heap[parent]] > distances[i]:
                    break
                heap[child] = heap[parent]
                child = parent
            heap[child] = i
        elif distances[i] < distances[heap[0]]:
            hole = 0
            while True:
                child = 2 * hole + 1
                if child >= count:
                    break
                if child + 1 < count:
                    left, right = heap[child], heap[child + 1]
                    if distances[right] > distances[left] or (
                        distances[right] == distances[left] and right > left
                    ):
                        child += 1
                below = heap[child]
                if distances[below] <= distances[i]:
                    break
                heap[hole] = below
                hole = child
            heap[hole] = i
    return heap


@kernel
def add_exactly(high: Matrix, low: Matrix, j: int, value: float) -> None:
    """Add ``value`` to a running sum kept in two parts, so that no digit is lost on the way."""
    total = high[j] + value
    part = total - high[j]
    error = (high[j] - (total - part)) + (value - part)
    high[j] = total
    low[j] += error


@kernel
def sum_exactly(columns: Matrix, high: Matrix, low: Matrix) -> None:
    """Sum each attribute over all records."""
    for j in range(columns.shape[0]):
        for i in range(columns.shape[1]):
            add_exactly(high, low, j, columns[j, i])


@kernel
def take(columns: Matrix, positions: Labels, high: Matrix, low: Matrix, distances: Matrix) -> None:
    """Remove records: from the running sums, from the records held, and from the distances."""
    for i in positions:
        for j in range(columns.shape[0]):
            add_exactly(high, low, j, -columns[j, i])
            columns[j, i] = np.nan
        distances[i] = np.nan


@kernel
def compact(columns: Matrix, rows: Labels, distances: Matrix, held: int) -> int:
    """Close the gaps that taken records left, keeping the order; return how many are held."""
    kept = 0
    for i in range(held):
        if not np.isnan(columns[0, i]):
            rows[kept] = rows[i]
            distances[kept] = distances[i]
            for j in range(columns.shape[0]):
                columns[j, kept] = columns[j, i]
            kept += 1
    return kept
