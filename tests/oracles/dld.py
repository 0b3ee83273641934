"""DLD from the full matrix of distances."""

import numpy as np

from algorithms.types import Matrix


def distance_linkage(original: Matrix, published: Matrix) -> float:
    total = 0.0
    for i, point in enumerate(published):
        distances = np.zeros(len(original))
        for j in range(original.shape[1]):
            distances += (original[:, j] - point[j]) ** 2
        closer = int((distances < distances[i]).sum())
        tied = int((distances == distances[i]).sum())
        total += min(max(2 - closer, 0) / tied, 1.0)
    return 100.0 * total / len(original)
