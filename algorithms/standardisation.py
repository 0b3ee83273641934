"""Standardisation to zero mean and unit variance."""

from dataclasses import dataclass

import numpy as np

from algorithms.types import Matrix


@dataclass(frozen=True, eq=False)
class Scale:
    """The means and standard deviations of a table's columns.

    Original and published values are compared on the scale of the original.
    """

    mean: Matrix
    deviation: Matrix

    def apply(self, values: Matrix) -> Matrix:
        """Express ``values`` in standard deviations from the mean."""
        return (values - self.mean) / self.deviation


def scale_of(values: Matrix) -> Scale:
    """Compute the mean and standard deviation of each column of ``values``.

    Parameters
    ----------
    values : Matrix of shape (n, d)
        Finite numbers in their own units.

    Returns
    -------
    Scale
        Means and deviations with ``n - 1`` in the denominator. A constant column gets the
        deviation 1, so that it becomes zero and has no weight. The deviation is infinite if the
        squares of a column are too large to be represented.

    Examples
    --------
    >>> scale_of(np.array([[1.0, 7.0], [3.0, 7.0]])).apply(np.array([[2.0, 7.0]]))
    array([[0., 0.]])
    """
    # differences are averaged: exact for a constant column, and a large offset costs no digits
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values[0] + (values - values[0]).mean(axis=0)
        centred = values - mean
        deviation = np.sqrt((centred**2).sum(axis=0) / max(len(values) - 1, 1))
    constant = (values == values[0]).all(axis=0)
    deviation = np.where(constant | (deviation == 0.0), 1.0, deviation)
    return Scale(mean, deviation)


def standardise(values: Matrix) -> Matrix:
    """Express each column in its own standard deviations from its own mean."""
    return scale_of(values).apply(values)
