"""The negative part of a symmetric matrix, with the same bits on every machine."""

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Matrix

EPSILON = float(np.finfo(np.float64).eps)
LEAST = 1e-300
"""In place of a length of 0."""

MOST_SWEEPS = 60
"""Sweeps for one eigenvalue; two are usual."""


@kernel
def negative_part(matrix: Matrix) -> float:
    """Replace a symmetric matrix by the sum of its negative eigenvalues times their projectors.

    The libraries of linear algebra choose the order of their sums by the machine; loops do not.
    All inner loops run along rows, where sums are not reordered.

    Parameters
    ----------
    matrix : Matrix of shape (n, n)
        Overwritten by its negative part.

    Returns
    -------
    float
        The sum of the negative eigenvalues.

    Notes
    -----
    Householder reflections to a tridiagonal matrix, implicit QL steps for its eigenvalues and
    vectors, and reflections back. Time O(n³).
    """
    n = matrix.shape[0]
    reflected = matrix.copy()
    diagonal, beside = np.empty(n), np.zeros(n)
    scales = _tridiagonal(reflected, diagonal, beside)
    vectors = np.eye(n)
    _diagonalise(diagonal, beside, vectors)
    total = 0.0
    matrix[:, :] = 0.0
    for place in range(n):
        value = diagonal[place]
        if value < 0.0:
            total += value
            vector = vectors[place]
            _reflect_back(reflected, scales, vector)
            for i in range(n):
                factor = value * vector[i]
                for j in range(i + 1):
                    matrix[i, j] += factor * vector[j]
    for i in range(n):
        for j in range(i):
            matrix[j, i] = matrix[i, j]
    return total


@kernel
def _tridiagonal(a: Matrix, diagonal: Matrix, beside: Matrix) -> Matrix:
    """Reduce a matrix to tridiagonal form; its rows then hold the reflections.

    Row i of the matrix holds the vector of the reflection that clears what lies beyond the
    element beside the diagonal, in columns below i; the scales of all are returned.
    """
    n = a.shape[0]
    scales = np.zeros(n)
    image = np.empty(n)
    for i in range(n - 1, 0, -1):
        row = a[i]
        square = 0.0
        for j in range(i - 1):
            square += row[j] * row[j]
        if square == 0.0:
            beside[i] = row[i - 1]
            continue
        length = np.sqrt(square + row[i - 1] * row[i - 1])
        if row[i - 1] > 0.0:
            length = -length
        beside[i] = length
        row[i - 1] -= length
        scale = 2.0 / (square + row[i - 1] * row[i - 1])
        scales[i] = scale
        image[:i] = 0.0
        for j in range(i):
            factor = row[j]
            other = a[j]
            for c in range(i):
                image[c] += factor * other[c]
        overlap = 0.0
        for j in range(i):
            image[j] *= scale
            overlap += image[j] * row[j]
        overlap *= 0.5 * scale
        for j in range(i):
            image[j] -= overlap * row[j]
        for j in range(i):
            other = a[j]
            first, second = row[j], image[j]
            for c in range(i):
                other[c] -= first * image[c] + second * row[c]
    for i in range(n):
        diagonal[i] = a[i, i]
    return scales


@kernel
def _reflect_back(reflected: Matrix, scales: Matrix, vector: Matrix) -> None:
    """Turn an eigenvector of the tridiagonal matrix into one of the matrix."""
    for i in range(1, vector.size):
        if scales[i] != 0.0:
            overlap = 0.0
            row = reflected[i]
            for j in range(i):
                overlap += row[j] * vector[j]
            overlap *= scales[i]
            for j in range(i):
                vector[j] -= overlap * row[j]


@kernel
def _diagonalise(diagonal: Matrix, beside: Matrix, vectors: Matrix) -> None:
    """Find the eigenvalues of a tridiagonal matrix, and turn the rows of ``vectors`` to theirs."""
    n = diagonal.size
    for i in range(1, n):
        beside[i - 1] = beside[i]
    beside[n - 1] = 0.0
    for low in range(n):
        sweeps = 0
        high = _end(diagonal, beside, low)
        while high > low and sweeps < MOST_SWEEPS:
            sweeps += 1
            shift = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low])
            root = np.sqrt(shift * shift + 1.0)
            shift = (
                diagonal[high]
                - diagonal[low]
                + beside[low] / (shift + (root if shift >= 0.0 else -root))
            )
            sine, cosine, moved = 1.0, 1.0, 0.0
            for i in range(high - 1, low - 1, -1):
                f = sine * beside[i]
                b = cosine * beside[i]
                # only numbers that underflow have no length; to lose their vectors is safe
                root = max(np.sqrt(f * f + shift * shift), LEAST)
                beside[i + 1] = root
                sine = f / root
                cosine = shift / root
                shift = diagonal[i + 1] - moved
                root = (diagonal[i] - shift) * sine + 2.0 * cosine * b
                moved = sine * root
                diagonal[i + 1] = shift + moved
                shift = cosine * root - b
                first, second = vectors[i], vectors[i + 1]
                for c in range(n):
                    f = second[c]
                    second[c] = sine * first[c] + cosine * f
                    first[c] = cosine * first[c] - sine * f
            diagonal[low] -= moved
            beside[low] = shift
            beside[high] = 0.0
            high = _end(diagonal, beside, low)


@kernel
def _end(diagonal: Matrix, beside: Matrix, low: int) -> int:
    """Find the last row of the part that is still connected with a row."""
    high = low
    while high < diagonal.size - 1:
        size = abs(diagonal[high]) + abs(diagonal[high + 1])
        if abs(beside[high]) <= EPSILON * size:
            break
        high += 1
    return high
