"""Group averages: real, whole, or rounded to decimals."""

import numpy as np
from numpy.typing import NDArray

from algorithms.types import Integers, Partition

SAFE = 2**61
"""Sums below this leave room for the doubling and the addition that rounding needs."""

MOST_STEPS = 2.0**51
"""Fewer steps than this can be counted, divided and counted again without a rounding error."""


def real_centroids(
    values: NDArray[np.float64], partition: Partition, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Replace each value of one column by the average of its group, weighted if there are weights.

    Differences from one member of the group are averaged, so that a group of equal values keeps its
    value to the bit.

    Examples
    --------
    >>> real_centroids(np.array([0.1, 0.1, 0.1, 5.0, 6.0, 7.0]), Partition(np.repeat([0, 1], 3), 3))
    array([0.1, 0.1, 0.1, 6. , 6. , 6. ])
    """
    labels = partition.labels
    members = np.empty(partition.sizes.size)
    members[labels] = values
    differences = values - members[labels]
    if weights is None:
        means = members + np.bincount(labels, weights=differences) / partition.sizes
    else:
        totals = np.bincount(labels, weights=weights)
        means = members + np.bincount(labels, weights=weights * differences) / totals
    centroids: NDArray[np.float64] = means[labels]
    return centroids


def integer_centroids(values: Integers, partition: Partition) -> Integers:
    """Replace each whole number of one column by the rounded average of its group.

    Halves are rounded away from zero. Sums are exact: in 64 bits if the largest value and the
    largest group leave room, and in Python's unbounded integers otherwise.

    Examples
    --------
    >>> integer_centroids(np.array([1, 2, -1, -2]), Partition(np.array([0, 0, 1, 1]), k=2))
    array([ 2,  2, -2, -2])
    """
    labels, sizes = partition.labels, partition.sizes
    largest = max(abs(int(values.min())), abs(int(values.max())))
    if largest * int(sizes.max()) < SAFE:
        sums = np.zeros(sizes.size, dtype=np.int64)
        np.add.at(sums, labels, values)
        rounded = np.sign(sums) * ((2 * np.abs(sums) + sizes) // (2 * sizes))
    else:
        exact = [0] * sizes.size
        for label, value in zip(labels.tolist(), values.tolist(), strict=True):
            exact[label] += value
        rounded = np.array(
            [nearest_integer(total, int(size)) for total, size in zip(exact, sizes, strict=True)],
            dtype=np.int64,
        )
    centroids: Integers = rounded[labels]
    return centroids


def weighted_integer_centroids(
    values: Integers, partition: Partition, weights: NDArray[np.float64]
) -> Integers:
    """Replace each whole number of one column by the rounded weighted average of its group.

    Halves are rounded away from zero. Only differences between members of a group pass through real
    numbers.

    Examples
    --------
    >>> groups = Partition(np.array([0, 0]), k=2)
    >>> weighted_integer_centroids(np.array([1, 5]), groups, np.array([3.0, 1.0]))
    array([2, 2])
    """
    labels = partition.labels
    members = np.zeros(partition.sizes.size, dtype=np.int64)
    members[labels] = values
    fits = int(values.max()) - int(values.min()) < SAFE
    differences = np.subtract(values, members[labels], dtype=np.int64 if fits else np.float64)
    totals = np.bincount(labels, weights=weights)
    means = np.bincount(labels, weights=weights * differences) / totals
    # a half away from zero is a half away from the member only where both have the same sign
    exact = members.astype(np.float64) + means
    rounded = members + np.where(exact >= 0.0, np.floor(means + 0.5), np.ceil(means - 0.5)).astype(
        np.int64
    )
    centroids: Integers = rounded[labels]
    return centroids


def decimal_centroids(
    values: NDArray[np.float64], partition: Partition, places: int, counted: bool | None = None
) -> NDArray[np.float64]:
    """Replace each value of one column by the average of its group, rounded to ``places`` decimals.

    Halves are rounded away from zero. The result is exact if no value has more decimals: values
    are then averaged as whole numbers of steps. ``counted`` tells whether that holds for the whole
    column, if these values are a part of it only.

    Examples
    --------
    >>> decimal_centroids(np.array([1.0, 1.01]), Partition(np.array([0, 0]), k=2), 2)
    array([1.01, 1.01])
    """
    if in_steps(values, places) if counted is None else counted:
        power = 10.0**places
        return integer_centroids(np.rint(values * power).astype(np.int64), partition) / power
    return to_places(real_centroids(values, partition), places)


def in_steps(values: NDArray[np.float64], places: int) -> bool:
    """Check whether no value has more than ``places`` decimals, and steps can be counted."""
    power = 10.0**places
    with np.errstate(over="ignore"):
        steps = np.rint(values * power)
    return bool(np.abs(steps).max() < MOST_STEPS) and np.array_equal(steps / power, values)


def to_places(values: NDArray[np.float64], places: int) -> NDArray[np.float64]:
    """Round to ``places`` decimals, halves away from zero.

    The result is the real number nearest to the decimal, and never minus zero. Large numbers, which
    have hardly more decimals, are rounded one by one.

    Examples
    --------
    >>> to_places(np.array([0.125, -0.125, -0.001, 1e300]), 2)
    array([ 1.3e-001, -1.3e-001,  0.0e+000,  1.0e+300])
    """
    power = 10.0**places
    near = np.abs(values) < MOST_STEPS / power
    steps = np.floor(np.abs(np.where(near, values, 0.0)) * power + 0.5)
    rounded: NDArray[np.float64] = np.copysign(steps / power, values) + 0.0
    rounded[~near] = [round(value, places) for value in values[~near].tolist()]
    return rounded


def nearest_integer(total: int, size: int) -> int:
    """Divide and round, halves away from zero."""
    magnitude = (2 * abs(total) + size) // (2 * size)
    return magnitude if total >= 0 else -magnitude
