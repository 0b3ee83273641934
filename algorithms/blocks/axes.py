"""Principal axes in plain loops: the same on every machine, unlike those of LAPACK and BLAS."""

import numpy as np

from algorithms.jit import kernel
from algorithms.types import Matrix

SWEEPS = 30
"""Most sweeps of rotations; some ten bring all axes to the last digit."""


def principal_axes(x: Matrix) -> tuple[Matrix, Matrix]:
    """Find the directions in which records spread most.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Records.

    Returns
    -------
    spreads : Matrix of shape (d,)
        Sum of squares along each axis, the largest first.
    axes : Matrix of shape (d, d)
        One axis per row, of length 1. The coordinate with the largest weight, the first if several
        tie, weighs positively.

    Examples
    --------
    >>> spreads, axes = principal_axes(np.array([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]]))
    >>> spreads.round(9), axes[0].round(3)
    (array([4., 0.]), array([0.707, 0.707]))
    """
    scatter = scatter_of(np.asarray(x, dtype=np.float64))
    axes = np.eye(len(scatter))
    rotate(scatter, axes)
    order = np.argsort(-np.diag(scatter), kind="stable")
    axes = axes[order]
    heaviest = np.abs(axes).argmax(axis=1)
    signs = np.where(axes[np.arange(len(axes)), heaviest] < 0.0, -1.0, 1.0)
    return np.diag(scatter)[order], axes * signs[:, np.newaxis]


@kernel
def scatter_of(x: Matrix) -> Matrix:
    """Add up the products of the deviations from the mean of each two columns, row by row."""
    n, d = x.shape
    mean = np.zeros(d)
    for i in range(n):
        for j in range(d):
            mean[j] += x[i, j]
    for j in range(d):
        mean[j] /= n
    scatter = np.zeros((d, d))
    centred = np.empty(d)
    for i in range(n):
        for j in range(d):
            centred[j] = x[i, j] - mean[j]
        for j in range(d):
            for m in range(j + 1):
                scatter[j, m] += centred[j] * centred[m]
    for j in range(d):
        for m in range(j):
            scatter[m, j] = scatter[j, m]
    return scatter


@kernel
def rotate(scatter: Matrix, axes: Matrix) -> None:
    """Turn a symmetric matrix until it is diagonal, by Jacobi's rotations; ``axes`` turn along."""
    d = len(scatter)
    turned, sweeps = True, 0
    while turned and sweeps < SWEEPS:
        turned = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                turned |= _turn(scatter, axes, p, q)
        sweeps += 1


@kernel
def _turn(scatter: Matrix, axes: Matrix, p: int, q: int) -> bool:
    """Turn two axes so that they are uncorrelated; False if they are, up to the last digits."""
    product = scatter[p, q]
    if abs(product) <= 1e-17 * (abs(scatter[p, p]) + abs(scatter[q, q])):
        scatter[p, q] = 0.0
        scatter[q, p] = 0.0
        return False
    slope = (scatter[q, q] - scatter[p, p]) / (2.0 * product)
    tangent = 1.0 / (abs(slope) + np.sqrt(slope * slope + 1.0))
    if slope < 0.0:
        tangent = -tangent
    cosine = 1.0 / np.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for m in range(len(scatter)):
        one, other = scatter[p, m], scatter[q, m]
        scatter[p, m] = cosine * one - sine * other
        scatter[q, m] = sine * one + cosine * other
    for m in range(len(scatter)):
        one, other = scatter[m, p], scatter[m, q]
        scatter[m, p] = cosine * one - sine * other
        scatter[m, q] = sine * one + cosine * other
    for m in range(len(scatter)):
        one, other = axes[p, m], axes[q, m]
        axes[p, m] = cosine * one - sine * other
        axes[q, m] = sine * one + cosine * other
    scatter[p, q] = 0.0
    scatter[q, p] = 0.0
    return True


@kernel
def projected(x: Matrix, axis: Matrix) -> Matrix:
    """Project records on an axis; each sum runs over the columns in their order."""
    n, d = x.shape
    along = np.zeros(n)
    for j in range(d):
        weight = axis[j]
        for i in range(n):
            along[i] += weight * x[i, j]
    return along
