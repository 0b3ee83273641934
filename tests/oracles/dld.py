"""DLD from the full matrix of distances."""

import numpy as np

from algorithms.search.linkage import Linkage
from algorithms.types import Matrix


def distance_linkage(original: Matrix, published: Matrix) -> Linkage:
    n = len(original)
    expected = optimistic = pessimistic = nearest = 0.0
    for i, point in enumerate(published):
        distances = np.zeros(n)
        for j in range(original.shape[1]):
            distances += (original[:, j] - point[j]) ** 2
        closer = int((distances < distances[i]).sum())
        tied = int((distances == distances[i]).sum())
        expected += min(max(2 - closer, 0) / tied, 1.0)
        optimistic += closer + tied <= 2
        pessimistic += closer < 2
        nearest += (closer == 0) / tied
    return Linkage(*(100.0 * total / n for total in (expected, optimistic, pessimistic, nearest)))
