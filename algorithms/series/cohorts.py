"""Cohorts: groups that last over the releases of a series."""

from dataclasses import dataclass

import numpy as np

from algorithms.types import Labels, Mask


@dataclass(frozen=True)
class Cohorts:
    """How groups last over the releases of a series.

    Attributes
    ----------
    il_over_fresh : float
        Largest published loss, as a multiple of that of fresh groups of MDAV.
    leaving : float, optional
        Share of persons that is expected to leave from release to release; None to estimate it
        from the earlier releases.
    horizon : int
        Number of releases to come for which groups are kept large enough.
    """

    il_over_fresh: float = 1.25
    leaving: float | None = None
    horizon: int = 8


def covered(labels: Labels, seen: Labels, k: int, units: Labels | None = None) -> Mask:
    """Find the largest set of records that can be visible.

    Each of them must share its group with k visible persons, itself included, who were visible in
    the same group as itself in every earlier release in which it was visible.

    Parameters
    ----------
    labels : Labels of shape (n,)
        Group of each record.
    seen : Labels of shape (n, m)
        Group of each record's person in each earlier release; -1 where it was not visible.
    k : int
        Smallest number of candidates, in units if these are given.
    units : Labels of shape (n,), optional
        Unit of each record.
    """
    units = np.arange(len(labels)) if units is None else units
    shown = np.ones(len(labels), dtype=bool)
    while True:
        alone = np.zeros(len(labels), dtype=bool)
        for i in np.flatnonzero(shown):
            members = np.flatnonzero((labels == labels[i]) & shown)
            fits = ((seen[i] < 0) | (seen[members] == seen[i])).all(axis=1)
            alone[i] = np.unique(units[members[fits]]).size < k
        if not alone.any():
            return shown
        shown &= ~alone
