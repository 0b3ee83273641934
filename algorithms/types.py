"""What travels between the algorithms."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import ContractError

Matrix = NDArray[np.float64]
"""Records as rows, attributes as columns."""

Integers = NDArray[np.int64]
"""Whole numbers: records as rows, attributes as columns, or one attribute alone."""

Labels = NDArray[np.int64]
"""The group of each record, numbered from 0 without gaps."""

Mask = NDArray[np.bool_]
"""Yes or no for each record."""

Order = NDArray[np.int64]
"""A path through the records: row numbers, each exactly once."""

Watch = Callable[[int, float], None]
"""Told, now and then, how many iterations a search has made and the share of its budget spent."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups of at least ``k`` records; one that exists has been counted.

    Attributes
    ----------
    labels : Labels of shape (n,)
        The group of each record.
    k : int
        Smallest group allowed.
    iterations : int, optional
        How many iterations the search made that found it; none if there was no search.

    Raises
    ------
    ContractError
        If a label is out of range, a number is skipped, or a group has fewer than ``k`` records.

    Examples
    --------
    >>> Partition(np.array([0, 1, 0, 1, 1]), k=2).sizes
    array([2, 3])
    >>> Partition(np.array([0, 1, 0]), k=2)
    Traceback (most recent call last):
    ...
    algorithms.errors.ContractError: every group must hold at least k=2 records; 1 of 2 hold fewer
    """

    labels: Labels
    k: int
    iterations: int | None = None

    def __post_init__(self) -> None:
        if self.labels.ndim != 1 or self.labels.size == 0 or self.labels.min() < 0:
            raise ContractError("labels must be one non-negative number per record")
        small = int((self.sizes < self.k).sum())
        if small:
            raise ContractError(
                f"every group must hold at least k={self.k} records; "
                f"{small} of {self.sizes.size} hold fewer"
            )
        self.labels.flags.writeable = False

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records in each group."""
        return np.bincount(self.labels)
