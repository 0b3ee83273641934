"""The lower bound of IL for several k: a curve that no method can go below."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from algorithms.bounds.distances import costs_of, neighbour_bound, stretched, weighted_bound
from algorithms.bounds.strongest import WEIGHTED_ROUNDS, strongest_bound
from algorithms.errors import RefusedError
from algorithms.measure import DECIMALS
from algorithms.search.nearest import Nearest, distinct, nearest_of, targets_at
from algorithms.strata import Settled, SmallStrata, settle
from algorithms.table import Table
from algorithms.types import Labels, Matrix
from algorithms.utility.il import sum_of_squares

LARGEST_TABLE, LARGEST_WITH_LABELS, LARGEST_IN_ROUNDS = 50_000, 10_000, 20_000
"""Records up to which a curve is computed at all, or if there are labels, whose neighbours differ
from k to k; and up to which rounds are spent on it."""

MOST_ROUNDS = 100
"""Rounds of the strongest bound for each k; more would raise it little."""

MOST_WORK, FEWEST_ROUNDS = 300_000, 10
"""Records times rounds that the strongest bounds of a whole curve may take, which is a minute or
two, and the rounds of each below which the weighted bound is about as good."""

DIGITS = 4
"""Significant digits of a bound on the curve; the others are cut off, so that it stays a bound."""

POINTS, HIGHEST = 12, 4
"""Values of k around that of a release, and the largest of them as a multiple of it."""

MOST_POINTS = 25
"""Values of k on the curve of an exploration, besides those that were tried."""


@dataclass(frozen=True)
class BoundCurve:
    """Lower bounds of IL by k.

    Attributes
    ----------
    least : dict of int to float
        For each k the least possible IL in per cent, rounded down. It never falls as k grows,
        unless other records are withheld or other strata are merged for a larger k.
    note : str
        Why there is no curve, or how it was computed if that is not as usual; otherwise empty.
    """

    least: dict[int, float] = field(default_factory=dict)
    note: str = ""


def ks_around(k: int) -> list[int]:
    """Choose values of k around that of a release, closer to each other where they are small.

    Examples
    --------
    >>> ks_around(5)
    [2, 3, 4, 5, 6, 7, 9, 11, 13, 16, 20]
    """
    return _spread(2, HIGHEST * k, POINTS, (k - 1, k, k + 1))


def ks_between(ks: Iterable[int]) -> list[int]:
    """Fill the gaps between values of k, completely if they are not far apart.

    Examples
    --------
    >>> ks_between([5, 7, 10])
    [5, 6, 7, 8, 9, 10]
    """
    known = sorted(set(ks))
    return _spread(known[0], known[-1], MOST_POINTS, known)


def _spread(low: int, high: int, count: int, always: Iterable[int]) -> list[int]:
    if high - low < count:
        return list(range(low, high + 1))
    between = np.rint(np.geomspace(low, high, count)).astype(int).tolist()
    return sorted({k for k in (*between, *always) if k >= low})


def bound_curve(
    table: Table,
    ks: Iterable[int],
    small: SmallStrata = "block",
    *,
    rounds: int = 0,
    known: Mapping[int, float] | None = None,
) -> BoundCurve:
    """Bound IL from below for several k, over all partitions into groups of at least k.

    It depends on the original records and k alone. Groups never cross strata, so bounds add up over
    strata; records that are withheld at some k lose their distance to the mean.

    Parameters
    ----------
    table : Table
        The records, before small strata are dealt with.
    ks : iterable of int
        Values of k, at least 2.
    small : {"block", "withhold", "merge"}
        How strata of fewer than k records are treated.
    rounds : int
        Rounds spent on a stronger bound; 0 for that of nearest neighbours.
    known : mapping of int to float, optional
        Bounds of IL that were proven already, by k, as figures.

    Notes
    -----
    Groups of at least k + 1 are groups of at least k, too, so a bound for k also holds for every
    larger k at which the same records form the same strata: each bound is the largest so far. A
    value of k from which on they form others gets a bound, too, even if it was not asked for.

    Examples
    --------
    >>> from algorithms.attributes import Number
    >>> table = Table((Number("a"),), (np.array([0.0, 1.0, 8.0, 9.0, 10.0, 11.0]),))
    >>> bound_curve(table, [2, 3, 4, 9]).least
    {2: 1.321, 3: 18.94, 4: 33.03}
    """
    reason = _left_out(table)
    if reason:
        return BoundCurve(note=reason)
    wanted = [k for k in sorted(set(ks)) if k <= len(table)]
    budget = _budget(table, rounds, len(wanted))
    note = budget.note
    centre = _centre(table)
    sst = sum_of_squares(table.embedding.x - centre, table.weights)
    if sst == 0.0:
        return BoundCurve(note="no key column varies")
    least: dict[int, float] = {}
    highest = 0.0
    records: _Records | None = None
    for k in _visited(table, wanted, small):
        try:
            now = _Records(settle(table, k, small), wanted[-1], centre)
        except RefusedError:
            ends = f"up to k = {k - 1}, because strata or patterns of missing values are too small"
            note = f"{note}; {ends}" if note else ends
            break
        if records is None or not np.array_equal(now.sets, records.sets):
            records, highest = now, 0.0
        elif k not in wanted:
            continue
        proven = 100.0 * records.least_sse(k, budget) / sst
        highest = max(highest, proven, _surely((known or {}).get(k, 0.0)))
        least[k] = _cut_off(highest)
    return BoundCurve(least, note)


def _left_out(table: Table) -> str:
    """Say why there is no curve; empty if there is one."""
    labels = bool(table.embedding.one_label.any())
    most = LARGEST_WITH_LABELS if labels else LARGEST_TABLE
    if len(table) > most:
        kind = "tables with labels" if labels else "tables"
        return f"it is drawn for {kind} of at most {most:,} records"
    return ""


@dataclass(frozen=True)
class _Budget:
    """The work on each bound of a curve.

    Attributes
    ----------
    rounds : int
        Rounds of the strongest bound; 0 for none.
    weighted : bool
        Whether the weighted bound is computed otherwise, or only that of nearest neighbours.
    note : str
        How bounds are computed, if that is less than what was asked for.
    """

    rounds: int = 0
    weighted: bool = False
    note: str = ""


def _budget(table: Table, rounds: int, count: int) -> _Budget:
    """Choose what is spent on each of ``count`` bounds."""
    if not rounds:
        return _Budget()
    records = len(table)
    if records > LARGEST_IN_ROUNDS:
        most = f"{LARGEST_IN_ROUNDS:,}"
        return _Budget(
            note=f"by nearest neighbours; rounds are spent on curves of at most {most} records"
        )
    if table.weights is not None:
        return _Budget(weighted=True, note="by weighted distances, since records have weights")
    affordable = min(rounds, MOST_ROUNDS, MOST_WORK // max(records * count, 1))
    if affordable < min(rounds, FEWEST_ROUNDS):
        return _Budget(
            weighted=True, note="by weighted distances; stronger bounds would take too long"
        )
    fewer = f"in at most {affordable} rounds for each k" if affordable < rounds else ""
    return _Budget(affordable, note=fewer)


def _visited(table: Table, wanted: list[int], small: SmallStrata) -> Iterable[int]:
    """List the values of k to look at: all between, if records may be withheld or strata merged."""
    changing = table.blocks is not None and small != "block"
    return range(wanted[0], wanted[-1] + 1) if changing and wanted else wanted


@dataclass(frozen=True, eq=False)
class _Records:
    """The records that can be published at some k, and those that are withheld.

    Attributes
    ----------
    settled : Settled
        The records.
    most : int
        The largest k that is asked for.
    centre : Matrix of shape (d,)
        The mean of all records.
    """

    settled: Settled
    most: int
    centre: Matrix

    @cached_property
    def sets(self) -> Labels:
        """Number of each record's set; no group crosses sets."""
        table = self.settled.table
        return np.zeros(len(table), dtype=np.int64) if table.blocks is None else table.blocks

    def least_sse(self, k: int, budget: _Budget) -> float:
        """Bound the loss of all records, as a sum of squares."""
        table = self.settled.table
        plain = not budget.rounds and not budget.weighted
        if plain and table.weights is None and not table.embedding.one_label.any():
            parts = [near.bound(k) for near in self._near]
        else:
            parts = [_bound(part, k, budget) for part in self._parts]
        return math.fsum([*parts, self._withheld])

    @cached_property
    def _parts(self) -> list[Table]:
        table, last = self.settled.table, int(self.sets.max())
        return [table.take(np.flatnonzero(self.sets == each)) for each in range(last + 1)]

    @cached_property
    def _near(self) -> list["_Neighbours"]:
        parts = [part.embedding.x for part in self._parts]
        return [_Neighbours(x, min(self.most, len(x))) for x in parts]

    @cached_property
    def _withheld(self) -> float:
        withheld = self.settled.withheld
        if withheld is None:
            return 0.0
        return sum_of_squares(withheld.embedding.x - self.centre, withheld.weights)


def _centre(table: Table) -> Matrix:
    """Average the coordinates of all records, by weight if they have weights."""
    if table.weights is None:
        return table.embedding.centre
    centre: Matrix = table.weights @ table.embedding.x / table.weights.sum()
    return centre


class _Neighbours:
    """The neighbour bound of some records for several k, from one search for neighbours."""

    def __init__(self, x: Matrix, most: int) -> None:
        rows, _, self._copies = distinct(x)
        targets = targets_at(x[rows], self._copies)
        self._order = targets.boxes.rows
        self._found = nearest_of(targets.boxes, targets, most)

    def bound(self, k: int) -> float:
        """Give the bound for a k that is not above the largest, as `neighbour_bound` does."""
        costs = np.empty(self._order.size)
        near = Nearest(self._found.squares[:, :k], self._found.counts[:, :k])
        costs[self._order] = costs_of(near)
        return math.fsum(np.repeat(costs, np.minimum(self._copies, k)).tolist()) / (2 * k)


def _bound(part: Table, k: int, budget: _Budget) -> float:
    """Bound the loss of one set of records."""
    x, one_label = part.embedding.x, part.embedding.one_label
    if budget.rounds or part.weights is not None:
        rounds = max(budget.rounds, int(budget.weighted))
        return strongest_bound(x, k, rounds=rounds, one_label=one_label, weights=part.weights).value
    wide = stretched(x, one_label, k)
    if budget.weighted:
        return weighted_bound(wide, k, rounds=WEIGHTED_ROUNDS)
    return neighbour_bound(wide, k)


def _surely(figure: float) -> float:
    """Take off a figure what rounding may have added to it."""
    return figure - max(0.5 * 10.0**-DECIMALS, 1e-5 * figure)


def _cut_off(value: float) -> float:
    """Round a bound down.

    Examples
    --------
    >>> _cut_off(12.34567), _cut_off(0.0), _cut_off(0.00123456)
    (12.34, 0.0, 0.0012)
    """
    if value <= 0.0:
        return 0.0
    places = min(DIGITS - 1 - math.floor(math.log10(value)), DECIMALS)
    scale = 10.0**places
    # a last digit that a rounding error of the sum has taken is given back
    return round(math.floor(value * scale * (1.0 + 1e-12)) / scale, places)
