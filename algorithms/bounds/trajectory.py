"""A lower bound on the loss of a series of releases whose groups last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from algorithms.bounds.distances import neighbour_costs, stretched, weighted_bound
from algorithms.table import Table, combinations
from algorithms.types import Integers, Labels, Matrix

ROUNDS = 400
"""Steps of the ascent for the largest bound of each length."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """What is proven about some consecutive releases, and the persons who are in all of them.

    Attributes
    ----------
    first, last : int
        Positions of the first and the last of these releases.
    persons : int
        Persons who are in all of them.
    ratio : float
        If none of these persons is muted, the mean loss of the releases is at least so many times
        the losses that they are compared with.
    share : float
        Share of the losses they are compared with that is due to these persons, on average.
    stranded : int
        Persons who share their strata in all of these releases with fewer than k of the others: at
        any loss, each of them must be muted at least once.
    costs : Matrix
        The part of the ratio that each of the other persons adds at least, the largest first.
    """

    first: int
    last: int
    persons: int
    ratio: float
    share: float
    stranded: int
    costs: Matrix

    @property
    def releases(self) -> int:
        """Number of the releases."""
        return self.last - self.first + 1

    @property
    def own_ratio(self) -> float:
        """The same for the records of these persons alone: what they lose over what is compared."""
        return self.ratio / self.share if self.share else 0.0

    def least_muted(self, ceiling: float) -> int:
        """Count the persons who must be muted at least once, if no release exceeds a ceiling.

        Parameters
        ----------
        ceiling : float
            Largest loss of each release, as a multiple of the loss that it is compared with.
        """
        if not self.stranded and self.ratio <= ceiling:
            return 0
        # without the persons that cost most, the others still cost what is left
        left = self.costs.sum() - np.concatenate([[0.0], np.cumsum(self.costs)])
        enough = int(np.argmax(left <= ceiling * (1.0 + 1e-12)))
        return max(self.stranded + enough, 1)


def trajectory_bounds(
    tables: Sequence[Table], losses: Sequence[Matrix], k: int, window: int | None = None
) -> tuple[Stretch, ...]:
    """Prove what a series of releases must lose, or whom it must mute, by any method.

    Parameters
    ----------
    tables : sequence of Table
        The records of each release; a person has the same number in all of them.
    losses : sequence of Matrix of shape (n,)
        Loss that each release is compared with, as a sum of squares by record.
    k : int
        Least number of candidates.
    window : int, optional
        Number of releases over which an attacker can follow a record; None for all.

    Returns
    -------
    tuple of Stretch
        One for each stretch of consecutive releases within the window, the largest ratio first.

    Notes
    -----
    An attacker who follows a person through the releases of a stretch, and knows its group in each,
    is left with the persons who were visible in the same groups in all of them. If nobody is muted,
    these are persons of the whole stretch, and in each release a group holds all of them. So they
    form groups of at least k of their trajectories, the coordinates of all releases side by
    side, and publishing other values than the averages of these groups, for larger groups or after
    rounding, only loses more. Any lower bound for groups of at least k trajectories is therefore a
    lower bound for the releases together. Records of persons who are in some of the releases only
    are counted as if nothing were lost on them.

    A person who is muted once need not share groups with k - 1 others, and nobody can count on that
    person. The others have no nearer neighbours without it, so that the costs of their nearest
    neighbours stay lower bounds.

    The bounds are those of nearest neighbours; the largest of each length is improved by sharing
    the cost of pairs, see `weighted_bound`.

    Examples
    --------
    >>> from algorithms.attributes import Number
    >>> def release(*values):
    ...     number = Number("a", places=0)
    ...     return Table((number,), (np.array(values),), persons=np.arange(len(values)))
    >>> both, *_ = trajectory_bounds(
    ...     [release(0.0, 0.0, 9.0, 9.0), release(0.0, 9.0, 0.0, 9.0)], [np.full(4, 0.25)] * 2, k=2
    ... )
    >>> both.persons, round(both.ratio, 2), both.least_muted(1.25), both.least_muted(1.0)
    (4, 1.5, 1, 2)
    """
    most = min(len(tables), window or len(tables))
    found = [
        stretch
        for releases in range(1, most + 1)
        for stretch in _of_length(tables, losses, k, releases)
    ]
    return tuple(sorted(found, key=lambda stretch: stretch.ratio, reverse=True))


def _of_length(
    tables: Sequence[Table], losses: Sequence[Matrix], k: int, releases: int
) -> list[Stretch]:
    """Prove bounds for all stretches of one length, and improve the largest ratio."""
    found, trajectories = [], []
    for first in range(len(tables) - releases + 1):
        part = _Part(tables[first : first + releases], losses[first : first + releases])
        trajectories.append(list(part.trajectories(k)))
        found.append(_stretch(first, part, trajectories[-1], k))
    largest = max(range(len(found)), key=lambda each: found[each].ratio)
    ratio = sum(weighted_bound(x, k, rounds=ROUNDS) for x in trajectories[largest])
    found[largest] = replace(found[largest], ratio=ratio)
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """Some consecutive releases."""

    tables: Sequence[Table]
    losses: Sequence[Matrix]

    @cached_property
    def persons(self) -> Integers:
        """The persons who are in all of them."""
        return reduce(np.intersect1d, [_persons(table) for table in self.tables])

    @cached_property
    def rows(self) -> list[Labels]:
        """The records of these persons in each release."""
        return [_rows(table, self.persons) for table in self.tables]

    @property
    def share(self) -> float:
        """The share of these records in the losses, as a mean of all releases."""
        shares = [
            float(loss[own].sum() / loss.sum()) if loss.any() else 0.0
            for loss, own in zip(self.losses, self.rows, strict=True)
        ]
        return sum(shares) / len(shares)

    def trajectories(self, k: int) -> Iterator[Matrix]:
        """Give the records of all releases side by side, by the strata that persons pass."""
        if not len(self.persons):
            return
        parts, strata = [], [np.zeros(len(self.persons), dtype=np.int64)]
        for table, own, loss in zip(self.tables, self.rows, self.losses, strict=True):
            x = stretched(table.embedding.x[own], table.embedding.one_label, k)
            weight = len(self.tables) * loss.sum()
            parts.append(x / np.sqrt(weight) if weight else np.zeros_like(x))
            if table.blocks is not None:
                strata.append(table.blocks[own])
        joined, passed = np.hstack(parts), combinations(strata)
        for block in range(int(passed.max()) + 1):
            yield joined[passed == block]


def _stretch(first: int, part: _Part, blocks: Sequence[Matrix], k: int) -> Stretch:
    costs = np.concatenate(
        [np.zeros(0), *(neighbour_costs(x, k) / (2 * k) for x in blocks if len(x) >= k)]
    )
    return Stretch(
        first=first,
        last=first + len(part.tables) - 1,
        persons=len(part.persons),
        ratio=float(costs.sum()),
        share=part.share,
        stranded=sum(len(x) for x in blocks if len(x) < k),
        costs=np.sort(costs)[::-1],
    )


def _persons(table: Table) -> Integers:
    assert table.persons is not None
    return table.persons


def _rows(table: Table, persons: Integers) -> Labels:
    order = np.argsort(_persons(table))
    return order[np.searchsorted(_persons(table), persons, sorter=order)]
