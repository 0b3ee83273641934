"""The inputs of measures: the published table, and the originals behind it.

Measures read records through `Files` and `PublishedFiles`, column by column or chunk by chunk, so
that the records need not be in memory. `Comparison` and `Released` hold them in memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from algorithms.attributes import is_missing
from algorithms.bounds.distances import neighbour_bound, stretched
from algorithms.bounds.record_weights import record_weight_bound
from algorithms.history import History
from algorithms.masked import Masked
from algorithms.measure import Estimate, Omitted
from algorithms.search.linkage import (
    Linkage,
    expected_links,
    known_tally,
    link_tallies,
    linkage_of,
    nearest_originals,
    squared_distances,
)
from algorithms.table import Codes, Table, combinations
from algorithms.types import Integers, Labels, Mask, Matrix, Order

CHUNK = 4096
"""Records in a chunk of a table in memory."""

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
class Chunk:
    """Some records before and after masking, in the coordinates of the original.

    Attributes
    ----------
    before, after : Matrix of shape (m, d)
        The original and the published records.
    averages : Matrix of shape (m, d)
        The records as they would be published without rounding.
    weights : Matrix of shape (m,), optional
        Sampling weight of each record; None for equal weights.
    """

    before: Matrix
    after: Matrix
    averages: Matrix
    weights: Matrix | None = None


class PublishedFiles(_Remembers, ABC):
    """Everything that a person who has the published files knows.

    Attributes
    ----------
    k : int
        The promised size of the smallest group.
    """

    k: int

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of published records."""

    @property
    @abstractmethod
    def classes(self) -> Labels:
        """Number of each record's combination of published values that are counted into k."""

    @property
    @abstractmethod
    def sizes(self) -> NDArray[Any]:
        """Number of records of each such combination."""

    @property
    @abstractmethod
    def silent(self) -> Mask | None:
        """The records that show nothing beside key columns and strata; None if none is muted."""

    @property
    @abstractmethod
    def confidential_names(self) -> Sequence[str]:
        """Names of the confidential columns."""

    @abstractmethod
    def confidential(self, name: str) -> Codes:
        """Give one confidential column, with the records in the order of `classes`."""


@dataclass(frozen=True, eq=False)
class Released(PublishedFiles):
    """Published files in memory.

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
    def rows(self) -> int:
        """Number of published records."""
        return len(self.table)

    @property
    def classes(self) -> Labels:
        """Number of each record's combination of published values that are counted into k."""
        return self.table.classes

    @property
    def sizes(self) -> NDArray[Any]:
        """Number of records of each such combination."""
        return self.table.sizes

    @property
    def silent(self) -> Mask | None:
        """The records that show nothing beside key columns and strata; None if none is muted."""
        return None if self.table.muted is None else self.table.silent

    @property
    def confidential_names(self) -> Sequence[str]:
        """Names of the confidential columns."""
        return tuple(self.table.confidential)

    def confidential(self, name: str) -> Codes:
        """Give one confidential column."""
        return self.table.confidential[name]


class Files(_Remembers, ABC):
    """The same records before and after masking, wherever they are.

    Records come in an order of the implementation, which is the same in `column`, `chunks`,
    `some`, `numbers` and `classes`.
    """

    @property
    @abstractmethod
    def k(self) -> int:
        """The promised size of the smallest group."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of records before and after, without those that are withheld."""

    @property
    @abstractmethod
    def original(self) -> Table:
        """The confidential records, without those that are withheld.

        If the records are not in memory: a table of no records that has their attributes. Such
        files have key columns of numbers only, and neither strata, weights, units nor persons.
        """

    @property
    @abstractmethod
    def published(self) -> Table:
        """The published records; if they are not in memory, a table of none, as `original` is."""

    @property
    @abstractmethod
    def sets(self) -> Labels | None:
        """Number of the set of records that no group crosses, for each record; None for one set."""

    @property
    @abstractmethod
    def places(self) -> tuple[slice, ...]:
        """The coordinates that belong to each key column."""

    @property
    @abstractmethod
    def centre(self) -> Matrix:
        """The mean of the coordinates of all records, withheld ones included."""

    @property
    @abstractmethod
    def released(self) -> PublishedFiles:
        """The published side alone."""

    @abstractmethod
    def column(self, coordinate: int) -> tuple[Matrix, Matrix]:
        """Give one coordinate of all records, before and after."""

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Give all records, some thousand at a time."""

    @abstractmethod
    def some(self, rows: Order) -> tuple[Matrix, Matrix]:
        """Give some records, before and after, in coordinates."""

    @abstractmethod
    def numbers(self, column: int) -> tuple[Matrix, Matrix]:
        """Give a key column with a number line, before and after, in its own unit.

        Missing values are left out, so that the two sides may have different lengths.
        """

    @abstractmethod
    def linkage(self) -> Linkage:
        """Link published records to originals by their distances, see `distance_linkage`."""

    @abstractmethod
    def linked_known(self) -> float | Estimate:
        """Link originals to published records by all columns that are counted into k.

        Among the published records with the same strata and other columns, one of those nearest to
        the original is picked at random. The result is the expected number of original records
        that are linked to their own published record.
        """

    @abstractmethod
    def neighbour_bound(self, k: int) -> float | Omitted:
        """Bound the SSE of any partition from below, see `neighbour_bound` in ``bounds``."""

    @property
    def history(self) -> History | None:
        """The earlier releases of the series; None if the table is not compared with any."""
        return None

    @property
    def withheld(self) -> Table | None:
        """The records that are left out; None if there are none."""
        return None

    @property
    def merged(self) -> int:
        """Number of records whose stratum is published as a wider one."""
        return 0

    @property
    def fresh_loss(self) -> float | None:
        """Loss of the groups that MDAV would form without regard to other releases, if needed."""
        return None

    @cached_property
    def lines(self) -> Integers:
        """The coordinate of each key column that has a number line, in the order of columns."""
        pairs = zip(self.original.attributes, self.places, strict=True)
        return np.array(
            [place.start for attribute, place in pairs if attribute.has_line], dtype=np.int64
        )

    def on_line(self, coordinate: int) -> tuple[Matrix, Matrix]:
        """Give the coordinates of a column with a number line, without missing values."""
        return self.column(coordinate)

    @property
    def classes(self) -> Labels:
        """Number of each record's combination of published values that are counted into k."""
        return self.released.classes

    @property
    def sizes(self) -> NDArray[Any]:
        """Number of records of each such combination."""
        return self.released.sizes


@dataclass(frozen=True, eq=False)
class Comparison(Files):
    """The same records before and after masking, in memory.

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
        return Released(self.published, self.masked.k)

    @property
    def original(self) -> Table:
        """The confidential records, without those that are withheld."""
        return self.masked.original

    @property
    def published(self) -> Table:
        """The published records."""
        return self.masked.published

    @property
    def sets(self) -> Labels | None:
        """Number of the set of records that no group crosses, for each record; None for one set."""
        return self.original.blocks

    @property
    def withheld(self) -> Table | None:
        """The records that are left out; None if there are none."""
        return self.masked.withheld

    @property
    def merged(self) -> int:
        """Number of records whose stratum is published as a wider one."""
        return self.masked.merged

    @property
    def fresh_loss(self) -> float | None:
        """Loss of the groups that MDAV would form without regard to other releases, if needed."""
        return self.masked.groupings[0].fresh_loss

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
    def rows(self) -> int:
        """Number of records before and after, without those that are withheld."""
        return len(self.original)

    @property
    def places(self) -> tuple[slice, ...]:
        """The coordinates that belong to each key column."""
        return self.original.embedding.places

    @cached_property
    def centre(self) -> Matrix:
        """The mean of the coordinates of all records, withheld ones included."""
        weights = self.original.weights
        if weights is None:
            return self.original.embedding.centre
        total, weight = weights @ self.before, weights.sum()
        if self.withheld is not None and self.withheld.weights is not None:
            total = total + self.withheld.weights @ self.withheld.embedding.x
            weight += self.withheld.weights.sum()
        centre: Matrix = total / weight
        return centre

    @property
    def before(self) -> Matrix:
        """The original records, in coordinates."""
        return self.original.embedding.x

    @property
    def after(self) -> Matrix:
        """The published records, in the coordinates of the original; computed on each call."""
        return self.original.embedding.embed(self.published.keys)

    def column(self, coordinate: int) -> tuple[Matrix, Matrix]:
        """Give one coordinate of all records, before and after."""
        embedding = self.original.embedding
        j = next(j for j, place in enumerate(self.places) if coordinate < place.stop)
        published = embedding.columns[j].embed(self.published.keys[j])
        return self.before[:, coordinate], published[:, coordinate - self.places[j].start]

    def chunks(self) -> Iterator[Chunk]:
        """Give all records, some thousand at a time."""
        weights = self.original.weights
        for start in range(0, self.rows, CHUNK):
            rows = slice(start, start + CHUNK)
            yield Chunk(
                self.before[rows],
                self._published(rows),
                self.masked.averages[rows],
                None if weights is None else weights[rows],
            )

    def some(self, rows: Order) -> tuple[Matrix, Matrix]:
        """Give some records, before and after, in coordinates."""
        return self.before[rows], self._published(rows)

    def _published(self, rows: Order | slice) -> Matrix:
        keys = [column[rows] for column in self.published.keys]
        return self.original.embedding.embed(keys)

    def on_line(self, coordinate: int) -> tuple[Matrix, Matrix]:
        """Give the coordinates of a column with a number line, without missing values."""
        j = next(j for j, place in enumerate(self.places) if place.start == coordinate)
        before, after = self.column(coordinate)
        missing, blank = (is_missing(table.keys[j]) for table in (self.original, self.published))
        return (
            before[~missing] if missing.any() else before,
            after[~blank] if blank.any() else after,
        )

    def numbers(self, column: int) -> tuple[Matrix, Matrix]:
        """Give a key column with a number line, before and after, in its own unit."""
        attribute = self.original.attributes[column]
        before, after = (
            attribute.numbers(table.keys[column]) for table in (self.original, self.published)
        )
        assert before is not None
        assert after is not None
        return before[~np.isnan(before)], after[~np.isnan(after)]

    def linkage(self) -> Linkage:
        """Link published records to originals by their distances."""
        # the records of a class are published as one point
        first = np.empty(self.sizes.size, dtype=np.int64)
        first[self.classes[::-1]] = np.arange(self.rows)[::-1]
        found = nearest_originals(self.before, self._published(first))
        own = [squared_distances(chunk.before, chunk.after) for chunk in self.chunks()]
        return linkage_of([link_tallies(np.concatenate(own), self.classes, found)])

    def linked_known(self) -> float:
        """Link originals to published records by all columns that are counted into k."""
        exact = [each.values for each in self.published.strata]
        exact += [codes.values for codes in self.published.other.values()]
        cells = combinations(exact) if exact else np.zeros(self.rows, dtype=np.int64)
        order = np.argsort(cells, kind="stable")
        cuts = np.cumsum(np.bincount(cells))[:-1]
        return expected_links([known_tally(*self.some(rows)) for rows in np.split(order, cuts)])

    def neighbour_bound(self, k: int) -> float:
        """Bound the SSE of any partition from below; groups stay within strata."""
        x, blocks, weights = self.before, self.original.blocks, self.original.weights
        sets: Sequence[Order | slice] = [slice(None)]
        if blocks is not None:
            sets = [np.flatnonzero(blocks == block) for block in range(int(blocks.max()) + 1)]
        if weights is not None:
            return sum(record_weight_bound(x[rows], weights[rows], k) for rows in sets)
        x = stretched(x, self.original.embedding.one_label, k)
        return sum(neighbour_bound(x[rows], k) for rows in sets)
