"""The inputs of measures: the published table, and the originals behind it."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.attributes import is_missing
from algorithms.history import History
from algorithms.masked import Masked
from algorithms.table import Table
from algorithms.types import Integers, Labels, Mask, Matrix

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class _Remembers:
    """Remembers the results that several measures need."""

    def once(
        self,
        function: Callable[Concatenate[Any, Arguments], Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Call ``function(self, ...)`` once for the same arguments, and give its result.

        Arguments are compared by value, so they must be hashable.
        """
        key: Hashable = (function, args, tuple(sorted(kwargs.items())))
        if key not in self._results:
            self._results[key] = function(self, *args, **kwargs)
        result: Result = self._results[key]
        return result

    @cached_property
    def _results(self) -> dict[Hashable, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class Released(_Remembers):
    """Everything that a person who has the published files knows.

    Attributes
    ----------
    table : Table
        The published records.
    k : int
        The promised size of the smallest group.
    """

    table: Table
    k: int

    @property
    def classes(self) -> Labels:
        """Number of each record's combination of published key values."""
        return self.table.classes

    @property
    def sizes(self) -> NDArray[Any]:
        """Number of records of each such combination."""
        return self.table.sizes


@dataclass(frozen=True, eq=False)
class Comparison(_Remembers):
    """The same records before and after masking.

    Attributes
    ----------
    masked : Masked
        The published records, and the originals and averages behind them.
    history : History, optional
        The earlier releases of the series; None if persons cannot be followed at all, or the table
        is not compared with other releases.
    """

    masked: Masked
    history: History | None = None

    @cached_property
    def released(self) -> Released:
        """The published side alone."""
        return Released(self.masked.published, self.masked.k)

    @property
    def original(self) -> Table:
        """The confidential records, without those that are withheld."""
        return self.masked.original

    @cached_property
    def earlier(self) -> tuple[Labels, Mask] | None:
        """Group of each record's person in each earlier release, and whether it was visible there.

        None if persons cannot be followed.
        """
        persons = self.original.persons
        if self.history is None or persons is None:
            return None
        return self.history.groups_of(persons)

    @property
    def k(self) -> int:
        """The promised size of the smallest group."""
        return self.masked.k

    @property
    def before(self) -> Matrix:
        """The original records, in coordinates."""
        return self.original.embedding.x

    @cached_property
    def after(self) -> Matrix:
        """The published records, in the coordinates of the original."""
        return self.original.embedding.embed(self.masked.published.keys)

    @cached_property
    def lines(self) -> Integers:
        """The coordinate of each key column that has a number line, in the order of columns."""
        pairs = zip(self.original.attributes, self.original.embedding.places, strict=True)
        return np.array(
            [place.start for attribute, place in pairs if attribute.has_line], dtype=np.int64
        )

    @cached_property
    def columns_on_lines(self) -> tuple[tuple[Matrix, Matrix], ...]:
        """The values of each such column before and after, in coordinates, without missing ones."""
        columns = []
        for j, attribute in enumerate(self.original.attributes):
            if attribute.has_line:
                place = self.original.embedding.places[j].start
                before, after = self.original.keys[j], self.masked.published.keys[j]
                columns.append(
                    (
                        self.before[~is_missing(before), place],
                        self.after[~is_missing(after), place],
                    )
                )
        return tuple(columns)

    @property
    def averages(self) -> Matrix:
        """The records as they would be published without rounding."""
        return self.masked.averages

    @property
    def classes(self) -> Labels:
        """Number of each record's combination of published key values."""
        return self.released.classes

    @property
    def sizes(self) -> NDArray[Any]:
        """Number of records of each such combination."""
        return self.released.sizes
