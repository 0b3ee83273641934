"""Numbers for persons who are known by their tokens."""

import numpy as np

from algorithms.types import Integers, Labels, Mask
from tasks.store.vault import Members
from tasks.store.vault_key import Tokens


class Numbers:
    """Numbers persons by their tokens, the same in every release.

    Persons of the new table keep the numbers that they have there; others are numbered from there
    on as they are met.

    Parameters
    ----------
    tokens : Tokens of shape (n,)
        The token of each record of the new table, all different.
    persons : Integers of shape (n,)
        The number of its person.

    Examples
    --------
    >>> numbers = Numbers(np.array([b"a", b"b"]), np.array([0, 1]))
    >>> numbers.of(np.array([b"b", b"x"])), numbers.of(np.array([b"x", b"y"]))
    (array([1, 2]), array([2, 3]))
    """

    def __init__(self, tokens: Tokens, persons: Integers) -> None:
        order = np.argsort(tokens)
        self._tokens, self._numbers = tokens[order], persons[order]
        self._next = int(persons.max()) + 1

    def of(self, tokens: Tokens) -> Integers:
        """Look up tokens, all different, and number those that are new."""
        places = np.minimum(np.searchsorted(self._tokens, tokens), len(self._tokens) - 1)
        numbers = self._numbers[places]
        new = self._tokens[places] != tokens
        numbers[new] = self._next + np.arange(new.sum())
        self._next += int(new.sum())
        joined = np.concatenate([self._tokens, tokens[new]])
        # two sorted runs, which a stable sort merges in linear time
        order = np.argsort(joined, kind="stable")
        self._tokens = joined[order]
        self._numbers = np.concatenate([self._numbers, numbers[new]])[order]
        return numbers

    def arranged(self, members: Members) -> tuple[Integers, Labels, Mask]:
        """Give the persons of a release in the order of their numbers, with group and visibility.

        Groups are numbered as they appear in that order, so that nothing but the numbers of
        persons who have left depends on the key.
        """
        persons = self.of(members.tokens)
        order = np.argsort(persons)
        _, first, groups = np.unique(members.groups[order], return_index=True, return_inverse=True)
        ranks = np.argsort(np.argsort(first))
        return persons[order], ranks[groups], members.visible[order]
