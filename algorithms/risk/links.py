"""Links: the records that can really be followed from release to release by published values.

An attacker has the visible records of two releases, with strata, other and confidential columns as
they are. The records are matched by two rules, and the rule that finds more persons counts:

- a combination of all these values that occurs once in each release is the same person;
- among records with the same strata and other columns, records are matched one to one so that the
  ranks of their confidential values differ least.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from algorithms.comparison import Comparison
from algorithms.history import History, Past, Records
from algorithms.measure import Measure, Omitted
from algorithms.table import Table, combinations
from algorithms.types import Integers, Labels, Mask, Matrix, Order

LARGEST_CELL = 200
"""Most records of a cell, in either release, that are assigned all at once."""

UNLIKE = 0.1
"""Distance between two different values without order; the whole range of ranks is 1."""


@dataclass(frozen=True, eq=False)
class Shown:
    """The visible records of a release, by the columns that are published as they are.

    Attributes
    ----------
    persons : Integers of shape (n,)
        Person of each record, which an attacker does not know.
    cells : Integers of shape (n, number of strata and other columns)
        Tokens of the values that must agree.
    labels : Integers of shape (n, number of confidential columns without order)
        Tokens of the values.
    tokens : Integers of shape (n, number of confidential columns with order)
        Tokens of the values.
    ranks : Matrix of the same shape
        Ranks of these values in the release, between 0 and 1.
    """

    persons: Integers
    cells: Integers
    labels: Integers
    tokens: Integers
    ranks: Matrix

    @classmethod
    def of(cls, table: Table, rows: Order) -> "Shown":
        """Take some rows of the records behind a release."""
        assert table.persons is not None
        numbers = {
            name: each.numbers[rows]
            for name, each in table.confidential.items()
            if each.numbers is not None
        }
        known = [*(each.name for each in table.strata), *table.other]

        def tokens(names: Sequence[str]) -> Integers:
            columns = [table.tokens[name][rows] for name in names]
            return np.column_stack([*columns, np.empty((rows.size, 0), dtype=np.int64)])

        return cls(
            table.persons[rows],
            tokens(known),
            tokens([name for name in table.confidential if name not in numbers]),
            tokens(list(numbers)),
            np.column_stack([*map(middle_ranks, numbers.values()), np.empty((rows.size, 0))]),
        )

    @classmethod
    def before(cls, records: Records) -> "Shown":
        """Take the visible records of an earlier release."""
        return cls.of(records.table, records.rows[records.visible])


def middle_ranks(numbers: Matrix) -> Matrix:
    """Rank numbers between 0 and 1; equal ones share the middle rank, and missing ones are last.

    Examples
    --------
    >>> middle_ranks(np.array([7.0, np.nan, 5.0, 7.0]))
    array([0.5  , 0.875, 0.125, 0.5  ])
    """
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    middles: Matrix = (np.cumsum(counts) - counts / 2.0) / max(numbers.size, 1)
    return middles[places.reshape(-1)]


def followed(one: Shown, other: Shown) -> Integers:
    """Find the persons whose records in two releases are matched, by the rule that finds more.

    A person with a twin, a visible record with the same values, is never counted as found: an
    attacker could only guess between the two.
    """
    pair = _Pair(one, other)
    by_values, by_ranks = pair.same_values(), pair.nearest_ranks()
    return by_values if by_values.size >= by_ranks.size else by_ranks


class _Pair:
    """Two releases, whose records are numbered one after the other, and sorted by values."""

    def __init__(self, one: Shown, other: Shown) -> None:
        self._second = one.persons.size
        self._persons = np.concatenate([one.persons, other.persons])
        self._ranks = np.concatenate([one.ranks, other.ranks])
        self._cells = np.concatenate([one.cells, other.cells])
        self._labels = np.concatenate([one.labels, other.labels])
        tokens = np.concatenate([one.tokens, other.tokens])
        self._classes = _combined(np.column_stack([self._cells, self._labels, tokens]))
        # whatever the order of rows, the same values are matched in the same order
        self._rows = np.argsort(self._classes, kind="stable")
        self._alone = np.concatenate(
            [_occurs_once(part) for part in np.split(self._classes, [self._second])]
        )

    def same_values(self) -> Integers:
        """Find persons whose combination of values occurs once in each release."""
        rows = self._rows[self._alone[self._rows]]
        same = self._classes[rows[1:]] == self._classes[rows[:-1]]
        return self._right(rows[:-1][same], rows[1:][same])

    def nearest_ranks(self) -> Integers:
        """Find persons by one-to-one matches within cells."""
        matches = self._matched(self._rows, self._cells)
        found = [self._right(ours, theirs) for ours, theirs in matches]
        return np.concatenate([*found, np.empty(0, dtype=np.int64)])

    def _matched(
        self, rows: Order, columns: Integers, *, narrow: bool = False
    ) -> Iterator[tuple[Order, Order]]:
        """Match rows that agree in some columns; in a large cell they must agree in labels, too."""
        cells = _combined(columns[rows])
        for own in np.split(
            rows[np.argsort(cells, kind="stable")], np.cumsum(np.bincount(cells))[:-1]
        ):
            ours, theirs = own[own < self._second], own[own >= self._second]
            if max(ours.size, theirs.size) <= LARGEST_CELL:
                yield self._assigned(ours, theirs)
            elif narrow:
                yield self._mutual(ours, theirs)
            else:
                yield from self._matched(own, self._labels, narrow=True)

    def _assigned(self, ours: Order, theirs: Order) -> tuple[Order, Order]:
        """Match one to one with the least sum of distances."""
        # imported late: reading a spec must not wait for scipy
        from scipy.optimize import linear_sum_assignment

        ranks, labels = self._ranks, self._labels
        costs = np.abs(ranks[ours][:, np.newaxis] - ranks[theirs]).sum(axis=2)
        costs += UNLIKE * (labels[ours][:, np.newaxis] != labels[theirs]).sum(axis=2)
        left, right = linear_sum_assignment(costs)
        return ours[left], theirs[right]

    def _mutual(self, ours: Order, theirs: Order) -> tuple[Order, Order]:
        """Match the records that are each the nearest of the other."""
        from scipy.spatial import cKDTree

        if not (self._ranks.shape[1] and ours.size and theirs.size):
            return ours[:0], theirs[:0]
        near, far = self._ranks[ours], self._ranks[theirs]
        _, to = cKDTree(far).query(near, p=1)
        _, back = cKDTree(near).query(far, p=1)
        mutual = back[to] == np.arange(ours.size)
        return ours[mutual], theirs[to[mutual]]

    def _right(self, ours: Order, theirs: Order) -> Integers:
        """Keep the persons who are matched with themselves, if neither record has a twin."""
        right = self._persons[ours] == self._persons[theirs]
        right &= self._alone[ours] & self._alone[theirs]
        found: Integers = self._persons[ours[right]]
        return found


def _occurs_once(labels: Labels) -> Mask:
    alone: Mask = (np.bincount(labels) == 1)[labels]
    return alone


def _combined(columns: Integers) -> Labels:
    """Give the number of each combination of values; without columns there is one."""
    if not columns.size:
        return np.zeros(len(columns), dtype=np.int64)
    return combinations(list(columns.T))


def linked_releases(files: Comparison, history: History) -> Mask:
    """Mark the releases within the window in which an attacker can follow each record.

    A record is followed into an earlier release if the two are matched, or along a chain of
    matches of consecutive releases. If the records of a release are not at hand, every record
    counts as matched there.

    Returns
    -------
    Mask of shape (n, number of releases within the window)
    """
    persons = files.original.persons
    assert persons is not None
    new = Shown.of(files.original, np.flatnonzero(files.masked.visible))
    records = [past.records for past in history.within_window]
    shown = [None if each is None else Shown.before(each) for each in records]
    linked = np.empty((persons.size, len(shown)), dtype=bool)
    for t, each in enumerate(shown):
        linked[:, t] = _matched(each, new, persons)
    onwards = [_matched(one, other, persons) for one, other in pairwise(shown)]
    for t in reversed(range(len(onwards))):
        linked[:, t] |= onwards[t] & linked[:, t + 1]
    for t, on in enumerate(onwards):
        linked[:, t + 1] |= on & linked[:, t]
    return linked


def _matched(one: Shown | None, other: Shown | None, persons: Integers) -> Mask:
    if one is None or other is None:
        return np.ones(persons.size, dtype=bool)
    return np.isin(persons, followed(one, other))


def all_records(past: Sequence[Past]) -> tuple[Records, ...] | Omitted:
    """Give the records behind earlier releases, or say of which releases they are not at hand."""
    records = tuple(each.records for each in past)
    found = tuple(each for each in records if each is not None)
    if len(found) == len(records):
        return found
    gone = [each.edition for each, own in zip(past, records, strict=True) if own is None]
    return Omitted(f"the original records of earlier releases are not at hand: {', '.join(gone)}")


def row_links(files: Comparison) -> float | Omitted | None:
    """Give the share of visible records that can be followed from the last release, in per cent."""
    if files.history is None or files.original.persons is None:
        return None
    if not files.history.past:
        return 0.0
    last = all_records(files.history.past[-1:])
    if isinstance(last, Omitted):
        return last
    rows = np.flatnonzero(files.masked.visible)
    found = followed(Shown.before(last[0]), Shown.of(files.original, rows))
    return 100.0 * found.size / max(rows.size, 1)


MEASURES = (
    Measure(
        name="row_links",
        title="linked with the last release",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of visible records that can be followed from the last release by strata, other "
            "and confidential columns: by combinations that are unique in both releases, or one "
            "to one by the nearest ranks of confidential values within equal strata and other "
            "columns, whichever finds more. A measurement of one attack, not a proof."
        ),
        paper="DT01",
        run=row_links,
        most=100.0,
    ),
)
