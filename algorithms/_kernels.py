"""Compiled loops that several methods share.

Records lie in columns here, ``columns[j, i]`` being attribute ``j`` of the ``i``-th record held:
the inner loops then run over records side by side, while each record's own sum keeps its order. A
record that was taken is NaN from then on, and no comparison ever chooses it.
"""

import numpy as np

from algorithms._jit import kernel
from algorithms.types import Labels, Mask, Matrix

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


@kernel
def squared_distance(columns: Matrix, i: int, point: Matrix) -> float:
    """Sum one record's squared differences from ``point``, in the order of the columns."""
    total = 0.0
    for j in range(columns.shape[0]):
        difference = columns[j, i] - point[j]
        total += difference * difference
    return total


@kernel
def closest(distances: Matrix, held: int) -> int:
    """Find the smallest distance; the first of equals."""
    best = -1
    smallest = np.inf
    for i in range(held):
        if distances[i] < smallest:
            smallest = distances[i]
            best = i
    return best


@kernel
def nearest_in_shell(
    columns: Matrix,
    held: int,
    from_seed: Matrix,
    point: Matrix,
    away: float,
    skip: int,
    hint: int,
) -> tuple[int, float]:
    """Find the record nearest to ``point`` without measuring all of them; the first of equals.

    ``from_seed`` holds the squared distances of all records from a point that was measured before,
    the seed, and ``away`` is the distance of ``point`` from it. By the triangle inequality a record
    can be the nearest only if the two are close. The record ``hint`` is measured first, to have a
    bound early; ``skip`` is left out. Without any other record the result is -1 and infinity.
    """
    best = -1
    smallest = np.inf
    low, high = 0.0, np.inf
    for turn in range(-1, held):
        i = hint if turn < 0 else turn
        # a record that was taken is NaN and fails the comparison
        if i < 0 or i == skip or not (low <= from_seed[i] <= high):
            continue
        square = squared_distance(columns, i, point)
        if square < smallest or (square == smallest and i < best):
            best = i
            smallest = square
            reach = np.sqrt(square) * (1.0 + 1e-9)
            low = max(away - reach, 0.0) ** 2 * (1.0 - 1e-9)
            high = (away + reach) ** 2 * (1.0 + 1e-9)
    return best, smallest


@kernel
def grow_around_centroid(
    columns: Matrix, held: int, from_seed: Matrix, near: Labels, size: int
) -> Labels:
    """Gather ``size`` records, one after the other the nearest to the centroid of those so far.

    ``near`` are the records nearest to the seed in this order, the seed the first; ``from_seed``
    holds the squared distances of all records from it, and records gathered are struck out there.
    Only where the records near the seed leave a doubt are the others looked at.
    """
    d = columns.shape[0]
    seed = near[0]
    horizon = np.sqrt(from_seed[near[-1]]) * (1.0 - 1e-9)
    places = np.empty(size, dtype=np.int64)
    total = columns[:, seed].copy()
    centroid = total.copy()
    places[0] = seed
    from_seed[seed] = np.nan
    for count in range(1, size):
        away = 0.0
        for j in range(d):
            difference = centroid[j] - columns[j, seed]
            away += difference * difference
        away = np.sqrt(away)
        best = -1
        smallest = np.inf
        for i in near:
            if not np.isnan(from_seed[i]):
                square = squared_distance(columns, i, centroid)
                if square < smallest or (square == smallest and i < best):
                    best = i
                    smallest = square
        if not np.sqrt(smallest) * (1.0 + 1e-9) + away < horizon:
            best, _ = nearest_in_shell(columns, held, from_seed, centroid, away, -1, best)
        places[count] = best
        from_seed[best] = np.nan
        for j in range(d):
            total[j] += columns[j, best]
            centroid[j] = total[j] / (count + 1)
    return places


@kernel
def nearest_to_any(
    columns: Matrix, held: int, from_seed: Matrix, seed: Matrix, members: Matrix
) -> tuple[int, float]:
    """Find the record nearest to any of ``members`` (one per row); the first of equals.

    ``from_seed`` holds the squared distances of all records from the seed: a record much farther
    out than all members need not be measured.
    """
    reach = 0.0
    for member in members:
        square = 0.0
        for j in range(seed.size):
            square += (member[j] - seed[j]) ** 2
        reach = max(reach, np.sqrt(square))
    best = closest(from_seed, held)
    smallest = np.inf
    high = np.inf
    for turn in range(-1, held):
        i = best if turn < 0 else turn
        if i < 0 or not from_seed[i] <= high:
            continue
        square = np.inf
        for member in members:
            square = min(square, squared_distance(columns, i, member))
        if square < smallest or (square == smallest and i < best):
            smallest = square
            best = i
            high = (reach + np.sqrt(smallest)) ** 2 * (1.0 + 1e-9)
    return best, smallest


@kernel
def joining_by_neighbourhood(
    columns: Matrix,
    held: int,
    from_seed: Matrix,
    nearby: Labels,
    k: int,
    members: Matrix,
    room: int,
    gamma: float,
    literal: bool,
) -> Labels:
    """Choose which of a group's next neighbours join it, by the rule of CV-MDAV.

    ``nearby`` are the records nearest to the seed in this order: ``k`` that may join, and at least
    ``k`` more. One joins if it is nearer to the centroid of the group than ``gamma`` times its
    distance from the centroid of itself (unless ``literal``) and its ``k`` nearest free records.
    Records that join are struck out in ``from_seed``.
    """
    d = columns.shape[0]
    horizon = np.sqrt(from_seed[nearby[-1]]) * (1.0 - 1e-9)
    point = np.empty(d)
    distances = np.empty(held)
    hinted = np.empty(nearby.size)
    total = np.zeros(d)
    for member in members:
        total += member
    size = members.shape[0]
    joining = np.empty(k, dtype=np.int64)
    joined = 0
    for candidate in nearby[:k]:
        if joined >= room:
            break
        point[:] = columns[:, candidate]
        to_group = 0.0
        for j in range(d):
            to_group += (point[j] - total[j] / size) ** 2
        to_group = np.sqrt(to_group)
        # the records nearby tell how far the nearest can be at the most: often that is enough
        for place in range(nearby.size):
            hinted[place] = np.nan
            if nearby[place] != candidate and not np.isnan(from_seed[nearby[place]]):
                hinted[place] = squared_distance(columns, nearby[place], point)
        chosen = nearby[nearest(hinted, nearby.size, k)]
        bound, reach = 0.0, 0.0
        for place in chosen:
            square = squared_distance(columns, place, point)
            bound += np.sqrt(square) / (k if literal else k + 1)
            reach = max(reach, np.sqrt(square))
        if to_group >= gamma * bound * (1.0 + 1e-9):
            continue
        if not np.sqrt(from_seed[candidate]) + reach * (1.0 + 1e-9) < horizon:
            squared_distances(columns, held, point, distances)
            for other in joining[:joined]:
                distances[other] = np.nan
            distances[candidate] = np.nan
            chosen = nearest(distances, held, k)
        mean = np.zeros(d)
        for place in np.sort(chosen):
            mean += columns[:, place]
        if literal:
            mean /= k
        else:
            mean = (mean + point) / (k + 1)
        to_others = 0.0
        for j in range(d):
            to_others += (point[j] - mean[j]) ** 2
        if to_group < gamma * np.sqrt(to_others):
            from_seed[candidate] = np.nan
            total += point
            size += 1
            joining[joined] = candidate
            joined += 1
    return joining[:joined]


@kernel
def farthest_pair(
    columns: Matrix,
    held: int,
    rows: Labels,
    radius: Matrix,
    reach: Matrix,
    partner: Labels,
    is_free: Mask,
    distances: Matrix,
) -> tuple[int, int]:
    """Find the rows of the two records farthest from each other; of equals the first rows.

    ``reach`` holds for each row a bound on its squared distance from any free record. It is that
    distance if the row's ``partner`` is free; since records only leave, it stays a bound if not,
    and only rows whose bound is the largest are measured anew. ``radius`` holds the distance of
    each row from one point; no two records are farther apart than the sum of theirs.
    """
    widest = 0.0
    for i in range(held):
        if is_free[rows[i]]:
            widest = max(widest, radius[rows[i]])
    while True:
        top = -1
        top_known = False
        for i in range(held):
            row = rows[i]
            if not is_free[row]:
                continue
            known = partner[row] >= 0 and is_free[partner[row]]
            if not known:
                reach[row] = min(reach[row], (radius[row] + widest) ** 2 * (1.0 + 1e-9))
            # of equal bounds one that may be wrong comes first, and of right ones the lowest row
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
        squared_distances(columns, held, columns[:, top].copy(), distances)
        distances[top] = np.nan
        other = farthest(distances, held)
        reach[row] = distances[other]
        partner[row] = rows[other]
