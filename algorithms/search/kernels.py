"""Compiled loops that several methods share.

Records lie in columns here: ``columns[j, i]`` is attribute ``j`` of the ``i``-th of ``length``
records. The inner loops then run over records side by side, while each record's own sum keeps its
order. A record that was taken is NaN from then on, and no comparison ever chooses it.
"""

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Labels, Mask, Matrix

CACHED_ROWS = 1024
"""Rows that are handled together, few enough to stay in the nearest cache."""


@kernel
def squared_distances(columns: Matrix, length: int, point: Matrix, out: Matrix) -> None:
    """Write the squared distance of each record to ``point``."""
    for start in range(0, length, CACHED_ROWS):
        measure_block(columns, start, min(start + CACHED_ROWS, length), point, out)


@kernel
def measure_block(columns: Matrix, start: int, stop: int, point: Matrix, out: Matrix) -> None:
    """Write the squared distances of some records to ``point``."""
    # views from zero on: what the compiler can prove, it does in parallel
    total = out[start:stop]
    total[:] = 0.0
    for j in range(columns.shape[0]):
        column = columns[j, start:stop]
        value = point[j]
        for i in range(total.size):
            difference = column[i] - value
            total[i] += difference * difference


@kernel
def measure_farthest(columns: Matrix, length: int, point: Matrix, out: Matrix) -> int:
    """Write all squared distances to ``point``, and find the largest; ties go to the first."""
    best = -1
    for start in range(0, length, CACHED_ROWS):
        stop = min(start + CACHED_ROWS, length)
        measure_block(columns, start, stop, point, out)
        best = farther(out, start, stop, best)
    return best


@kernel
def measure_nearest(
    columns: Matrix, length: int, point: Matrix, out: Matrix, first: int, spare: int, count: int
) -> Labels:
    """Write all squared distances to ``point``, and find the ``count`` smallest, in order.

    The record ``first`` comes first, whatever its distance, and ``spare`` is left out unless -1.
    """
    heap = np.empty(count, dtype=np.int64)
    size = 0
    for start in range(0, length, CACHED_ROWS):
        stop = min(start + CACHED_ROWS, length)
        measure_block(columns, start, stop, point, out)
        if start <= first < stop:
            out[first] = -1.0
        if start <= spare < stop:
            out[spare] = np.nan
        size = nearer(out, start, stop, heap, size)
    return in_order(out, heap[:size])


@kernel
def farthest_place(distances: Matrix, length: int) -> int:
    """Find the largest distance; ties go to the first record."""
    return farther(distances, 0, length, -1)


@kernel
def farther(distances: Matrix, start: int, stop: int, best: int) -> int:
    """Find the largest of some distances and the one at ``best``, if any; ties go to the first."""
    largest = distances[best] if best >= 0 else -1.0
    for i in range(start, stop):
        if distances[i] > largest:
            largest = distances[i]
            best = i
    return best


@kernel
def nearest_places(distances: Matrix, length: int, count: int) -> Labels:
    """Find the ``count`` smallest distances, in order; ties go to the first record."""
    heap = np.empty(count, dtype=np.int64)
    return in_order(distances, heap[: nearer(distances, 0, length, heap, 0)])


@kernel
def nearer(distances: Matrix, start: int, stop: int, heap: Labels, size: int) -> int:
    """Put the smallest of some distances into a heap; return its size.

    The best so far stand in the heap, the worst of them on top: a distance that is no better than
    that one, and that is nearly every distance, costs one comparison.
    """
    while size < heap.size and start < stop:
        if not np.isnan(distances[start]):
            child = size
            size += 1
            while child > 0:
                parent = (child - 1) // 2
                # ties: the later record is the worse
                if distances[heap[parent]] > distances[start]:
                    break
                heap[child] = heap[parent]
                child = parent
            heap[child] = start
        start += 1
    if start < stop:
        worst = distances[heap[0]]
        for i in range(start, stop):
            if distances[i] < worst:
                sink(distances, heap, size, i)
                worst = distances[heap[0]]
    return size


@kernel
def sink(distances: Matrix, heap: Labels, size: int, i: int) -> None:
    """Put ``i`` in the place of the top of a heap."""
    hole = 0
    while 2 * hole + 1 < size:
        child = 2 * hole + 1
        if child + 1 < size and worse(distances, heap[child + 1], heap[child]):
            child += 1
        if not worse(distances, heap[child], i):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = i


@kernel
def worse(distances: Matrix, one: int, other: int) -> bool:
    """Check whether one record comes after another by distance, or by place if they tie."""
    return distances[one] > distances[other] or (distances[one] == distances[other] and one > other)


@kernel
def in_order(distances: Matrix, heap: Labels) -> Labels:
    """Turn a heap into a list, the smallest distance first."""
    for last in range(heap.size - 1, 0, -1):
        i = heap[last]
        heap[last] = heap[0]
        sink(distances, heap, last, i)
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
def sum_exactly(x: Matrix, high: Matrix, low: Matrix) -> None:
    """Sum each attribute over all records, here in rows."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            add_exactly(high, low, j, x[i, j])


@kernel
def subtract_exactly(x: Matrix, rows: Labels, high: Matrix, low: Matrix) -> None:
    """Take some records, here in rows, out of the running sums."""
    for i in rows:
        for j in range(x.shape[1]):
            add_exactly(high, low, j, -x[i, j])


@kernel
def strike_out(columns: Matrix, places: Labels, distances: Matrix) -> None:
    """Remove records from the columns and from the distances."""
    for i in places:
        columns[:, i] = np.nan
        distances[i] = np.nan


@kernel
def compact(columns: Matrix, rows: Labels, distances: Matrix, length: int) -> int:
    """Close the gaps that taken records left, keeping the order; return how many are left."""
    kept = 0
    for i in range(length):
        if not np.isnan(columns[0, i]):
            rows[kept] = rows[i]
            distances[kept] = distances[i]
            for j in range(columns.shape[0]):
                columns[j, kept] = columns[j, i]
            kept += 1
    return kept


@kernel
def squared_distance(columns: Matrix, i: int, point: Matrix) -> float:
    """Sum one record's squared differences from ``point``, in the order of the columns."""
    total = 0.0
    for j in range(columns.shape[0]):
        difference = columns[j, i] - point[j]
        total += difference * difference
    return total


@kernel
def farthest_pair(
    columns: Matrix,
    length: int,
    rows: Labels,
    radius: Matrix,
    reach: Matrix,
    partner: Labels,
    is_free: Mask,
    distances: Matrix,
) -> tuple[int, int]:
    """Find the rows of the two records farthest from each other; ties go to the first rows.

    ``reach`` holds for each row a bound on its squared distance from any free record. It is that
    distance if the row's ``partner`` is free; since records only leave, it stays a bound if not,
    and only rows whose bound is the largest are measured again. ``radius`` holds the distance of
    each row from one point; no two records are farther apart than the sum of theirs.
    """
    widest = 0.0
    for i in range(length):
        if is_free[rows[i]]:
            widest = max(widest, radius[rows[i]])
    while True:
        top = -1
        top_known = False
        for i in range(length):
            row = rows[i]
            if not is_free[row]:
                continue
            known = partner[row] >= 0 and is_free[partner[row]]
            if not known:
                reach[row] = min(reach[row], (radius[row] + widest) ** 2 * (1.0 + 1e-9))
            # ties: a bound that may be wrong comes first, then the lowest row
            if (
                top < 0
                or reach[row] > reach[rows[top]]
                or (reach[row] == reach[rows[top]] and top_known and not known)
            ):
                top = i
                top_known = known
        row = rows[top]
        if top_known:
            return min(row, partner[row]), max(row, partner[row])
        squared_distances(columns, length, columns[:, top].copy(), distances)
        distances[top] = np.nan
        other = farthest_place(distances, length)
        reach[row] = distances[other]
        partner[row] = rows[other]
