"""Compiled loops that search around a seed, all distances from which are known.

Records lie in columns, as in ``kernels``; by the triangle inequality most need not be measured.
"""

import numpy as np

from algorithms.jit import kernel
from algorithms.search.kernels import nearest_places, squared_distance, squared_distances
from algorithms.types import Labels, Matrix


@kernel
def closest(distances: Matrix, length: int) -> int:
    """Find the smallest distance; ties go to the first record."""
    best = -1
    smallest = np.inf
    for i in range(length):
        if distances[i] < smallest:
            smallest = distances[i]
            best = i
    return best


@kernel
def nearest_in_shell(
    columns: Matrix,
    length: int,
    from_seed: Matrix,
    point: Matrix,
    away: float,
    skip: int,
    hint: int,
) -> tuple[int, float]:
    """Find the record nearest to ``point`` without measuring all of them; ties go to the first.

    ``from_seed`` holds the squared distances of all records from a point that was measured before,
    the seed, and ``away`` is the distance of ``point`` from it. By the triangle inequality a record
    can be the nearest only if the two are close. The record ``hint`` is measured first, to have a
    bound early; ``skip`` is left out. If there is no other record, the result is -1 and infinity.
    """
    best = -1
    smallest = np.inf
    low, high = 0.0, np.inf
    for turn in range(-1, length):
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
    columns: Matrix, length: int, from_seed: Matrix, near: Labels, size: int
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
            best, _ = nearest_in_shell(columns, length, from_seed, centroid, away, -1, best)
        places[count] = best
        from_seed[best] = np.nan
        for j in range(d):
            total[j] += columns[j, best]
            centroid[j] = total[j] / (count + 1)
    return places


@kernel
def nearest_to_any(
    columns: Matrix, length: int, from_seed: Matrix, seed: Matrix, members: Matrix
) -> tuple[int, float]:
    """Find the record nearest to any of ``members`` (one per row); ties go to the first record.

    ``from_seed`` holds the squared distances of all records from the seed: a record much farther
    out than all members need not be measured.
    """
    reach = 0.0
    for member in members:
        square = 0.0
        for j in range(seed.size):
            square += (member[j] - seed[j]) ** 2
        reach = max(reach, np.sqrt(square))
    best = closest(from_seed, length)
    smallest = np.inf
    high = np.inf
    for turn in range(-1, length):
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
    length: int,
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
    distances = np.empty(length)
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
        # the records nearby bound the distance of the nearest: often that is enough
        for place in range(nearby.size):
            hinted[place] = np.nan
            if nearby[place] != candidate and not np.isnan(from_seed[nearby[place]]):
                hinted[place] = squared_distance(columns, nearby[place], point)
        chosen = nearby[nearest_places(hinted, nearby.size, k)]
        bound, reach = 0.0, 0.0
        for place in chosen:
            square = squared_distance(columns, place, point)
            bound += np.sqrt(square) / (k if literal else k + 1)
            reach = max(reach, np.sqrt(square))
        if to_group >= gamma * bound * (1.0 + 1e-9):
            continue
        if not np.sqrt(from_seed[candidate]) + reach * (1.0 + 1e-9) < horizon:
            squared_distances(columns, length, point, distances)
            for other in joining[:joined]:
                distances[other] = np.nan
            distances[candidate] = np.nan
            chosen = nearest_places(distances, length, k)
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
