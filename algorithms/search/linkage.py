"""Links between records before and after masking, by their distances."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.search.nearest import Nearest, distinct, nearest, targets_at
from algorithms.types import Integers, Labels, Matrix

Tally = Integers
"""Rows of two numbers: among how many ties a record is linked, and how many records are."""


@dataclass(frozen=True)
class Linkage:
    """Linked records in per cent.

    Attributes
    ----------
    expected : float
        Expected value if the attacker breaks ties between originals at random.
    optimistic, pessimistic : float
        If the attacker loses every tie, and if the attacker wins every tie.
    nearest : float
        Expected value if only the nearest original counts.
    """

    expected: float
    optimistic: float
    pessimistic: float
    nearest: float


def distance_linkage(original: Matrix, published: Matrix) -> Linkage:
    """Measure how many records an attacker who holds the originals can link.

    A published record is linked when its own original is the nearest or the second nearest of all
    originals [CPD13]_.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original.

    Notes
    -----
    Time about O(n log n) in few dimensions, memory O(n d): a tree of boxes finds the nearest
    originals of each distinct published record. Distances are summed column by column, so that
    ties are exact, and records are counted by the number of ties, so that neither the order of
    the records nor the way in which they are cut into blocks has any effect.

    The records of a group are published as one point, which has one nearest and one second nearest
    original: the expected number of linked records in a group is at most two, and at most one if
    only the nearest counts. With groups of at least ``k`` records, ``expected`` is at most 200 / k
    per cent and ``nearest`` at most 100 / k. An attacker who wins all ties can link a whole group,
    so ``pessimistic`` has no such bound.

    Examples
    --------
    >>> distance_linkage(np.array([[0.0], [1.0], [8.0], [9.0]]), np.full((4, 1), 3.0))
    Linkage(expected=50.0, optimistic=50.0, pessimistic=50.0, nearest=25.0)
    """
    rows, of_record, _ = distinct(published)
    own = squared_distances(original, published)
    return linkage_of([link_tallies(own, of_record, nearest_originals(original, published[rows]))])


def nearest_originals(original: Matrix, points: Matrix) -> Nearest:
    """Find the two originals nearest to each published point, and those that tie with them."""
    rows, _, counts = distinct(original)
    return nearest(points, targets_at(original[rows], counts), 2)


def link_tallies(own: Matrix, of_record: Labels, found: Nearest) -> tuple[Tally, Tally, int]:
    """Count the records whose own original is the nearest or the second nearest of its point.

    Parameters
    ----------
    own : Matrix of shape (n,)
        Squared distance between each record and its original.
    of_record : Labels of shape (n,)
        Point of each published record.
    found : Nearest
        The nearest two originals of each point.

    Returns
    -------
    nearest, second : Tally
        Records by the number of originals at the same distance.
    records : int
        Number of all records.
    """
    closest, second = found.squares.T
    at_closest, at_second = found.counts.T
    # two or more records at the smallest distance fill both places: there is no second then
    first, runner_up = own == closest[of_record], own == second[of_record]
    return (
        _tallied(at_closest[of_record[first]]),
        _tallied(at_second[of_record[runner_up]]),
        own.size,
    )


def linkage_of(parts: Sequence[tuple[Tally, Tally, int]]) -> Linkage:
    """Give the linkage of all records by the tallies of disjoint sets of them."""
    nearest = _joined([at_closest for at_closest, _, _ in parts])
    second = _joined([at_second for _, at_second, _ in parts])
    n = sum(records for _, _, records in parts)
    surely = nearest[nearest[:, 0] <= 2, 1].sum() + second[second[:, 0] == 1, 1].sum()
    return Linkage(
        expected=100.0 * math.fsum([*_shares(nearest, 2), *_shares(second)]) / n,
        optimistic=100.0 * int(surely) / n,
        pessimistic=100.0 * int(nearest[:, 1].sum() + second[:, 1].sum()) / n,
        nearest=100.0 * math.fsum(_shares(nearest)) / n,
    )


def known_tally(original: Matrix, published: Matrix, among: Matrix | None = None) -> Tally:
    """Count the originals whose own published record is among the nearest, by the ties.

    ``among`` are all published records, if some originals are asked for only.
    """
    every = published if among is None else among
    rows, _, counts = distinct(every)
    found = nearest(original, targets_at(every[rows], counts), 1)
    return tally_of_known(squared_distances(original, published), found)


def tally_of_known(own: Matrix, found: Nearest) -> Tally:
    """Count the originals whose own published record is as near as the nearest, by the ties."""
    return _tallied(found.counts[own == found.squares[:, 0], 0])


def expected_links(tallies: Sequence[Tally]) -> float:
    """Give the expected number of linked records, if ties are broken at random."""
    return math.fsum(_shares(_joined(tallies)))


def _tallied(ties: Integers) -> Tally:
    return np.column_stack(np.unique(ties, return_counts=True))


def _joined(tallies: Sequence[Tally]) -> Tally:
    every = np.concatenate(tallies)
    ties, of_entry = np.unique(every[:, 0], return_inverse=True)
    records = np.zeros(ties.size, dtype=np.int64)
    np.add.at(records, of_entry, every[:, 1])
    return np.column_stack([ties, records])


def _shares(tally: Tally, places: int = 1) -> list[float]:
    """Give the expected number of linked records for each number of ties."""
    return [records * min(places / ties, 1.0) for ties, records in tally.tolist()]


def squared_distances(a: Matrix, b: Matrix) -> Matrix:
    """Sum squared differences column by column, so that the order never depends on the rows."""
    total = np.zeros(len(a))
    for j in range(a.shape[1]):
        total += (a[:, j] - b[:, j]) ** 2
    return total
