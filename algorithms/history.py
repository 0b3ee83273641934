"""The earlier releases that an attacker may hold beside a new one."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from algorithms.errors import ContractError
from algorithms.table import Table
from algorithms.types import Integers, Labels, Mask

Links = Literal["perfect", "measured"]
ABSENT = -1
"""Stands for the group of a person who is not in a release."""


@dataclass(frozen=True, eq=False)
class Past:
    """The groups of one published release, by person.

    Attributes
    ----------
    edition : str
        The period and the revision, for people.
    k : int
        The k of that release.
    persons : Integers of shape (m,)
        Number of each person, all different; a person of the new table has the number that it has
        there, any other person a number that no record of the new table has.
    groups : Labels of shape (m,)
        Group of each person in that release.
    visible : Mask of shape (m,)
        Whether the confidential and other columns of the person were published; if not, the person
        was muted.
    original : Table, optional
        The confidential records behind the release, whose ``persons`` are numbered in the same
        way; None if they are not at hand any more.

    Raises
    ------
    ContractError
        If the columns differ in length, or a person occurs twice.
    """

    edition: str
    k: int
    persons: Integers
    groups: Labels
    visible: Mask
    original: Table | None = None

    def __post_init__(self) -> None:
        if not len(self.persons) == len(self.groups) == len(self.visible):
            raise ContractError("an earlier release must give a group and a mark per person")
        if np.unique(self.persons).size != self.persons.size:
            raise ContractError("an earlier release must hold every person once")

    def places(self, persons: Integers) -> Integers:
        """Find persons in this release: their position in it, or `ABSENT`.

        Examples
        --------
        >>> past = Past("2026-Q1", 2, np.array([7, 3]), np.array([0, 0]), np.array([True, True]))
        >>> past.places(np.array([3, 5, 7]))
        array([ 1, -1,  0])
        """
        if not self.persons.size:
            return np.full(len(persons), ABSENT)
        order = np.argsort(self.persons)
        # sorting first keeps the search within the cache, which a sorter would leave
        at = np.searchsorted(self.persons[order], persons)
        found = order[np.minimum(at, len(order) - 1)]
        return np.where(self.persons[found] == persons, found, ABSENT)

    @cached_property
    def records(self) -> "Records | None":
        """The records of the release among those behind it; None if they are not at hand."""
        if self.original is None or self.original.persons is None:
            return None
        places = self.places(self.original.persons)
        rows = np.flatnonzero(places != ABSENT)
        return Records(self.original, rows, self.groups[places[rows]], self.visible[places[rows]])


@dataclass(frozen=True, eq=False)
class Records:
    """The records behind a release that were published.

    Attributes
    ----------
    table : Table
        Confidential records, withheld ones included.
    rows : Integers of shape (m,)
        The rows of the table that were published.
    groups : Labels of shape (m,)
        Group of each of them.
    visible : Mask of shape (m,)
        Whether its confidential and other columns were published.
    """

    table: Table
    rows: Integers
    groups: Labels
    visible: Mask


@dataclass(frozen=True, eq=False)
class History:
    """The earlier releases of a series, as an attacker may use them against a new release.

    Attributes
    ----------
    past : tuple of Past
        All earlier releases that are known, the oldest first.
    window : int, optional
        Number of releases, the new one included, over which an attacker can follow a record; None
        for all.
    links : {"perfect", "measured"}
        Whether every record can be followed from release to release, or only those that matching
        published values really finds.
    revises : int, optional
        Position in ``past`` of the release that the new one revises.
    """

    past: tuple[Past, ...] = ()
    window: int | None = None
    links: Links = "perfect"
    revises: int | None = None

    @property
    def within_window(self) -> tuple[Past, ...]:
        """The earlier releases that an attacker can link with the new one."""
        if self.window is None:
            return self.past
        return self.past[len(self.past) - min(self.window - 1, len(self.past)) :]

    def groups_of(self, persons: Integers) -> tuple[Labels, Mask]:
        """Look up persons in all earlier releases.

        Returns
        -------
        groups : Labels of shape (len(persons), len(past))
            Group of each person in each release; `ABSENT` if it was not there.
        visible : Mask of the same shape
            Whether the person was visible.
        """
        groups = np.full((len(persons), len(self.past)), ABSENT)
        visible = np.zeros(groups.shape, dtype=bool)
        for t, past in enumerate(self.past):
            places = past.places(persons)
            found = places != ABSENT
            groups[found, t] = past.groups[places[found]]
            visible[found, t] = past.visible[places[found]]
        return groups, visible
