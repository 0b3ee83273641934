"""A masked table, and the groups behind it."""

from dataclasses import dataclass

import numpy as np

from algorithms.table import Table
from algorithms.types import Labels, Mask, Matrix, Partition


@dataclass(frozen=True, eq=False)
class Grouping:
    """The groups of all records by some of the key columns.

    Attributes
    ----------
    attributes : tuple of int
        Positions of the key columns.
    partition : Partition
        The groups.
    iterations : int, optional
        Iterations of the search that found them; None if there was no search.
    muted : Mask of shape (n,), optional
        The records that must be muted, because fewer than k persons could be behind them if all
        releases are compared; None if none is.
    fresh_loss : float, optional
        Published loss of the groups that MDAV would form without regard to other releases, as a
        sum of squares; None if it was not needed.
    """

    attributes: tuple[int, ...]
    partition: Partition
    iterations: int | None = None
    muted: Mask | None = None
    fresh_loss: float | None = None


@dataclass(frozen=True, eq=False)
class Masked:
    """A masked table, and the groups behind it.

    Attributes
    ----------
    published : Table
        The records as they would be published, without persons.
    groupings : tuple of Grouping
        The groups behind each key column.
    k : int
        Smallest group allowed.
    averages : Matrix of shape (n, d)
        Group averages with all digits, in the coordinates of the original table.
    original : Table
        The same records before masking, without those that are withheld.
    withheld : Table, optional
        The records that are left out; None if there are none.
    merged : int
        Number of records whose stratum is published as a wider one.
    """

    published: Table
    groupings: tuple[Grouping, ...]
    k: int
    averages: Matrix
    original: Table
    withheld: Table | None = None
    merged: int = 0

    @property
    def muted(self) -> Mask | None:
        """The records that must be muted; None if none must."""
        muted = self.groupings[0].muted
        return None if muted is None or not muted.any() else muted

    @property
    def groups(self) -> Labels:
        """Group of each record; its published combination if each column has its own groups."""
        if len(self.groupings) > 1:
            return self.published.classes
        return self.groupings[0].partition.labels

    @property
    def visible(self) -> Mask:
        """Whether the confidential and other columns of each record are published."""
        muted = self.published.muted
        return np.ones(len(self.published), dtype=bool) if muted is None else ~muted
