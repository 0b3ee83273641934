"""Types that the algorithms share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import ContractError

Matrix = NDArray[np.float64]
"""Records as rows, attributes as columns."""

Integers = NDArray[np.int64]
"""Whole numbers: records as rows, attributes as columns, or a single attribute."""

Labels = NDArray[np.int64]
"""The group of each record, numbered from 0 without gaps."""

Mask = NDArray[np.bool_]
"""True or false for each record."""

Order = NDArray[np.int64]
"""A path through the records: row numbers, each exactly once."""


@dataclass(frozen=True, eq=False)
class Found:
    """The best groups that a search has found so far.

    Attributes
    ----------
    loss : float
        Sum of the squared distances between records and the values published for their groups.
    labels : Labels, optional
        The group of each record; None for those who are told figures only.
    spread : float, optional
        Sum of the squared distances of the same records from the mean of all; None if it is not
        known.
    bound : float, optional
        No groups lose less; None if that is not known.
    planned : int, optional
        Iterations that the budget allows; None if it is counted in seconds only.
    stopped : bool
        Whether the search has ended before its budget, because the loss is proven to be close
        enough to the bound.
    """

    loss: float
    labels: Labels | None = None
    spread: float | None = None
    bound: float | None = None
    planned: int | None = None
    stopped: bool = False


class Watch(Protocol):
    """Receives the progress of a search, or of other work that takes long."""

    def __call__(self, done: int, share: float, found: Found | None = None, /) -> None:
        """Receive the number of iterations or pieces done, the share of the work, and the result.

        ``found`` is given by searches only.
        """


def check_matrix(x: object) -> None:
    """Check that records are given as a matrix, before a kernel or an index fails on them.

    Raises
    ------
    ContractError
        If they are anything else, such as a data frame.

    Examples
    --------
    >>> check_matrix([[1.0, 2.0]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    algorithms.errors.ContractError: records must be a numpy array ...
    """
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "fiu":
        return
    found = f"an object of type {type(x).__name__}"
    if isinstance(x, np.ndarray):
        found = f"an array of {x.dtype} with {x.ndim} axes"
    raise ContractError(
        f"records must be a numpy array of numbers with two axes; got {found}: convert it, for "
        "example with numpy.asarray(x, dtype=float)"
    )


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups of at least ``k`` records, or units; the sizes are checked on construction.

    A unit is the person, household or company that a record is about. Where units own several
    records, a group protects them only if it holds records of ``k`` different units.

    Attributes
    ----------
    labels : Labels of shape (n,)
        The group of each record.
    k : int
        Smallest group allowed.
    units : Labels of shape (n,), optional
        The unit of each record, as an arbitrary number; None if every record is a unit of its own.

    Raises
    ------
    ContractError
        If a label is out of range, a number is skipped, a group has fewer than ``k`` records, or
        records of fewer than ``k`` units.

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
    units: Labels | None = None

    def __post_init__(self) -> None:
        if self.labels.ndim != 1 or self.labels.size == 0 or self.labels.min() < 0:
            raise ContractError("labels must be one non-negative number per record")
        small = int((self.sizes < self.k).sum())
        if small:
            raise ContractError(
                f"every group must hold at least k={self.k} records; "
                f"{small} of {self.sizes.size} hold fewer"
            )
        object.__setattr__(self, "labels", _read_only(self.labels))
        if self.units is not None:
            self._check_units(self.units)
            object.__setattr__(self, "units", _read_only(self.units))

    @classmethod
    def join(cls, parts: Sequence[tuple[Order, "Partition"]]) -> "Partition":
        """Join the partitions of disjoint sets of records into one, and count its groups again.

        Parameters
        ----------
        parts : sequence of (Order, Partition)
            The rows of each set and their partition; together the sets hold every row once.

        Raises
        ------
        ContractError
            If the sets do not hold every row once, were grouped with different ``k``, or only some
            have units.

        Examples
        --------
        >>> pair = Partition(np.array([0, 0]), k=2)
        >>> Partition.join([(np.array([0, 3]), pair), (np.array([1, 2]), pair)]).labels
        array([0, 1, 1, 0])
        """
        rows = np.concatenate([rows for rows, _ in parts])
        ks = {part.k for _, part in parts}
        if len(ks) != 1 or not np.array_equal(np.sort(rows), np.arange(rows.size)):
            raise ContractError("joined partitions must have the same k and hold every row once")
        tokens = [part.units for _, part in parts if part.units is not None]
        if tokens and len(tokens) < len(parts):
            raise ContractError("joined partitions must all have units, or none of them")
        labels = np.empty(rows.size, dtype=np.int64)
        groups = 0
        for own, part in parts:
            labels[own] = groups + part.labels
            groups += part.sizes.size
        units = np.concatenate(tokens)[np.argsort(rows)] if tokens else None
        return cls(labels, ks.pop(), units)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records in each group."""
        return np.bincount(self.labels)

    def _check_units(self, units: Labels) -> None:
        if units.shape != self.labels.shape:
            raise ContractError("units must be one number per record")
        counts = units_per_group(self.labels, units)
        few = int((counts < self.k).sum())
        if few:
            raise ContractError(
                f"every group must hold records of at least k={self.k} units; "
                f"{few} of {counts.size} hold fewer"
            )


def units_per_group(labels: Labels, units: Labels) -> Labels:
    """Count the distinct units in each group.

    Parameters
    ----------
    labels : Labels of shape (n,)
        The group of each record.
    units : Labels of shape (n,)
        The unit of each record, as an arbitrary number.

    Examples
    --------
    >>> units_per_group(np.array([0, 0, 1, 1]), np.array([7, 7, 7, 9]))
    array([1, 2])
    """
    order = np.lexsort((units, labels))
    group, unit = labels[order], units[order]
    first = np.ones(labels.size, dtype=bool)
    first[1:] = (group[1:] != group[:-1]) | (unit[1:] != unit[:-1])
    return np.bincount(group[first])


def numbered(labels: Labels) -> Labels:
    """Give groups numbers from 0 without gaps, in the order of their first records.

    Examples
    --------
    >>> numbered(np.array([7, 2, 7]))
    array([0, 1, 0])
    """
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[numbers.reshape(-1)]


def _read_only(values: Labels) -> Labels:
    own = values.copy()
    own.flags.writeable = False
    return own
