"""Masking: turns a table and a plan into the table that would be published."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from algorithms.attributes import Number
from algorithms.blocks.cuts import Blocks, blocks_for
from algorithms.blocks.grouping import How, grouped_in_blocks, solved
from algorithms.blocks.running import Run, in_order
from algorithms.bounds.strongest import strongest_bound
from algorithms.errors import DataError
from algorithms.history import ABSENT, History
from algorithms.masked import Grouping, Masked
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.method import Method
from algorithms.orderings.ordering import Ordering
from algorithms.problem import Bound, Problem
from algorithms.rounding.grid import Grid
from algorithms.series.cohorts import Cohorts, chances_of_muting, lasting_groups, near_within
from algorithms.series.keeping import kept_groups
from algorithms.series.state import Situation
from algorithms.strata import Settled, SmallStrata, settle
from algorithms.table import Table, side_by_side
from algorithms.types import Found, Integers, Labels, Matrix, Order, Partition, Watch, numbered

WeightRule = Literal["averaged", "never", "as_it_is"]
Figure = TypeVar("Figure", int, float)
WEIGHT_DIGITS = 12
"""Significant digits of published weights: totals stay exact to some 1e-12, and weights short."""

GAP_ROUNDS = 100
"""Most rounds spent on the bound that the option ``gap`` is compared with, whatever the spec grants
for what is shown: where a search stops must not depend on a terminal."""

QUICK_ROWS = 20_000
"""Most records for which the bound by nearest neighbours is computed only to be shown."""

PATIENCE = 1.0
"""Seconds between two times at which the loss is computed to be shown."""


@dataclass(frozen=True)
class Plan:
    """The choices for masking a table.

    Attributes
    ----------
    k : int
        Smallest group allowed.
    method : Method
        How records are grouped.
    options : mapping
        The method's own options.
    ordering : Ordering, optional
        Path for a method that cuts one.
    ordering_options : mapping
        The ordering's own options.
    recut : bool
        Whether groups are cut again along the path through them, to minimise the loss of the
        published values.
    refine : mapping, optional
        Options of the local search of ``best`` that improves the groups; None for no search.
    each_column : bool
        Whether each key column is grouped on its own.
    small_strata : {"block", "withhold", "merge"}
        How strata of fewer than k records are treated.
    weight_published : {"averaged", "never", "as_it_is"}
        Whether the weight of a record is published as the average of its group, not, or unchanged.
    cohorts : Cohorts, optional
        How groups last over the releases of a series; None if each release is grouped afresh.
    blocks : Blocks, optional
        How sets of many records are cut into blocks that are grouped one by one; None for the
        default, which depends on the number of records.
    """

    k: int
    method: Method
    options: Mapping[str, Any] = field(default_factory=dict)
    ordering: Ordering | None = None
    ordering_options: Mapping[str, Any] = field(default_factory=dict)
    recut: bool = False
    refine: Mapping[str, Any] | None = None
    each_column: bool = False
    small_strata: SmallStrata = "block"
    weight_published: WeightRule = "averaged"
    cohorts: Cohorts | None = None
    blocks: Blocks | None = None

    @property
    def gap(self) -> float | None:
        """The gap to a proven bound at which the search stops early; None to spend its budget."""
        options = self.options if self.method.searches else self.refine or {}
        gap: float | None = options.get("gap")
        return gap

    def blocks_for(self, records: int) -> Blocks | None:
        """Give the blocks of a table; by default none up to 2,000,000 records.

        Nor are there any by default if a path is cut or each column is grouped on its own.
        """
        if self.ordering is not None or self.recut or self.each_column:
            return self.blocks
        return blocks_for(self.blocks, records)


@dataclass(frozen=True, eq=False)
class RecordSet:
    """Records and key columns that are grouped together, independently of the rest of the table.

    Attributes
    ----------
    attributes : tuple of int
        Positions of the key columns.
    rows : Order, optional
        Rows of the records; None for all.
    """

    attributes: tuple[int, ...]
    rows: Order | None = None


def mask(
    table: Table,
    plan: Plan,
    watch: Watch | None = None,
    history: History | None = None,
    fresh: tuple[Grouping, ...] | None = None,
    run: Run = in_order,
) -> Masked:
    """Group the records of a table by a plan, and give each group one published record.

    Examples
    --------
    >>> from algorithms.attributes import Number
    >>> table = Table((Number("staff", places=0, whole=True),), (np.array([1, 9, 2, 8]),))
    >>> mask(table, Plan(k=2, method=METHODS["mdav"])).published.keys
    (array([2, 9, 2, 9]),)
    """
    settled = settle(standardised(table, plan), plan.k, plan.small_strata)
    along = paths(settled.table, plan) if fresh is None else ()
    return represent(settled, plan, group(settled.table, plan, along, watch, history, fresh, run))


def standardised(table: Table, plan: Plan) -> Table:
    """Give the table on the scale of the plan: with blocks, numbers have that of exact moments.

    Its last digits then do not depend on how the records are read.
    """
    exact = plan.blocks_for(len(table)) is not None
    return table if table.exact == exact else replace(table, exact=exact)


def record_sets(table: Table, plan: Plan) -> tuple[RecordSet, ...]:
    """Split a table into sets that are grouped independently."""
    every = tuple(range(len(table.attributes)))
    columns = [(j,) for j in every] if plan.each_column else [every]
    if table.blocks is None:
        return tuple(RecordSet(attributes) for attributes in columns)
    order = np.argsort(table.blocks, kind="stable")
    sets = np.split(order, np.cumsum(np.bincount(table.blocks))[:-1])
    return tuple(RecordSet(attributes, rows) for attributes in columns for rows in sets)


def paths(table: Table, plan: Plan) -> tuple[Order | None, ...]:
    """Put the records of each set on a path, if the plan names an ordering."""
    ordering = plan.ordering
    if ordering is None:
        return (None,) * len(record_sets(table, plan))
    return tuple(
        ordering.path(problem.x, plan.k, **plan.ordering_options)
        for problem in (_problem(table, each, plan) for each in record_sets(table, plan))
    )


def group(
    table: Table,
    plan: Plan,
    along: Sequence[Order | None],
    watch: Watch | None = None,
    history: History | None = None,
    fresh: tuple[Grouping, ...] | None = None,
    run: Run = in_order,
    bound_rounds: int | None = None,
) -> tuple[Grouping, ...]:
    """Group the records of each set, and join sets of the same key columns.

    Parameters
    ----------
    table : Table
        The records.
    plan : Plan
        How they are grouped.
    along : sequence of Order or None
        The path of each set, as `paths` gives them.
    watch : callable, optional
        Called during a search with its progress.
    history : History, optional
        The earlier releases of the series.
    fresh : tuple of Grouping, optional
        The groups that the method forms without regard to other releases, if they are known.
    run : Run
        How functions are run on the blocks of large sets; the groups do not depend on it.
    bound_rounds : int, optional
        Rounds spent on a lower bound of the loss; ``watch`` is then told what the groups found so
        far lose, and the bound. By default it is not, unless the plan names a gap.

    Raises
    ------
    DataError
        If the plan names a gap, and no bound is proven for its groups.
    """
    groupings = fresh
    if groupings is None:
        groupings = _fresh(table, plan, along, watch, run, bound_rounds)
    history = history or History()
    if plan.cohorts is None and history.revises is None:
        return groupings
    return (_lasting(table, plan, groupings[0], history, watch, run),)


def _fresh(
    table: Table,
    plan: Plan,
    along: Sequence[Order | None],
    watch: Watch | None,
    run: Run,
    bound_rounds: int | None = None,
) -> tuple[Grouping, ...]:
    """Group the records of each set without regard to other releases."""
    parts: dict[tuple[int, ...], list[tuple[Order | None, Partition]]] = {}
    iterations: dict[tuple[int, ...], int] = {}
    cut = plan.blocks_for(len(table))
    _check_gap(table, plan)
    sets = record_sets(table, plan)
    told = _Told(table, watch, len(table) * len({own.attributes for own in sets}))
    shown = bound_rounds is not None and _is_comparable(table, plan)
    for own, path in zip(sets, along, strict=True):
        problem = replace(_problem(table, own, plan), path=path)
        problem = replace(problem, bound=_bound(table, own, plan, problem, bound_rounds))
        problem = replace(problem, watch=told.of(own, problem, shown))
        how = how_of(plan, problem.grid, len(table))
        if cut is None or len(problem.x) <= cut.rows:
            groups, spent = solved(how, problem)
        else:
            rows = np.arange(len(table)) if own.rows is None else own.rows
            groups, spent = grouped_in_blocks(how, problem, rows, cut, run)
        told.end(problem, groups)
        parts.setdefault(own.attributes, []).append((own.rows, groups))
        if spent is not None:
            iterations[own.attributes] = iterations.get(own.attributes, 0) + spent
    return tuple(
        Grouping(attributes, _joined(own_parts), iterations.get(attributes))
        for attributes, own_parts in parts.items()
    )


def represent(settled: Settled, plan: Plan, groupings: tuple[Grouping, ...]) -> Masked:
    """Compute the group averages of every key column, exactly and as they would be published."""
    table = settled.table
    keys, averages = list(table.keys), np.empty(table.embedding.x.shape, order="F")
    for grouping in groupings:
        for j in grouping.attributes:
            values, scale = table.keys[j], table.embedding.columns[j]
            keys[j] = table.attributes[j].represent(
                values, grouping.partition, table.weights, scale
            )
            averages[:, table.embedding.places[j]] = scale.average(
                values, grouping.partition, table.weights
            )
    published = replace(
        table,
        keys=tuple(keys),
        persons=None,
        units=None,
        weights=_published_weights(table, plan, groupings[0].partition),
    )
    muted = groupings[0].muted
    if muted is not None:
        published = published.mute(muted)
    return Masked(published, groupings, plan.k, averages, table, settled.withheld, settled.merged)


def _published_weights(table: Table, plan: Plan, groups: Partition) -> Matrix | None:
    if table.weights is None or plan.weight_published == "never":
        return None
    if plan.weight_published == "as_it_is":
        return table.weights
    means = np.bincount(groups.labels, weights=table.weights) / groups.sizes
    short = np.array([float(f"{mean:.{WEIGHT_DIGITS}g}") for mean in means])
    return short[groups.labels]


def _lasting(
    table: Table,
    plan: Plan,
    fresh: Grouping,
    history: History,
    watch: Watch | None,
    run: Run,
) -> Grouping:
    """Group records with regard to the earlier releases of the series."""
    facts = _situation(table, plan, history)
    if history.revises is not None:
        assert table.persons is not None
        groups, _ = history.groups_of(table.persons)
        labels, shown = kept_groups(facts, groups[:, history.revises])
        lasting = replace(fresh, partition=Partition(labels, plan.k, table.units), iterations=None)
        return lasting if plan.cohorts is None else replace(lasting, muted=~shown)
    assert plan.cohorts is not None
    fresh_loss = published_loss(table, _mdav_groups(table, plan, run))
    weight = 1.0 if table.weights is None else float(table.weights.mean())
    labels, shown = lasting_groups(
        facts,
        fresh.partition.labels,
        lambda labels: published_loss(table, Partition(labels, plan.k, table.units)) / weight,
        fresh_loss * plan.cohorts.il_over_fresh / weight,
        watch,
    )
    partition = Partition(labels, plan.k, table.units)
    return replace(fresh, partition=partition, muted=~shown, fresh_loss=fresh_loss)


def _situation(table: Table, plan: Plan, history: History) -> Situation:
    """Collect the facts of a search for groups that last."""
    assert table.persons is not None
    groups, visible = history.groups_of(table.persons)
    sizes = [np.bincount(past.groups) for past in history.past]
    firsts = np.cumsum([0, *(size.size for size in sizes)])[: len(sizes)]
    linked = groups.shape[1] - len(history.within_window)
    how = plan.cohorts or Cohorts()
    horizon = how.horizon if history.window is None else min(how.horizon, history.window - 1)
    n = len(table)
    blocks = np.zeros(n, dtype=np.int64) if table.blocks is None else table.blocks
    return Situation(
        x=table.embedding.x,
        k=plan.k,
        near=near_within(table.embedding.x, blocks),
        blocks=blocks,
        units=table.units,
        seen=np.where(visible, groups, ABSENT)[:, linked:],
        past=np.where(groups == ABSENT, ABSENT, groups + firsts),
        past_sizes=np.concatenate([*sizes, np.zeros(1, dtype=np.int64)]),
        chances=chances_of_muting(plan.k, how.leaving, horizon),
    )


def _mdav_groups(table: Table, plan: Plan, run: Run) -> Partition:
    """Group the records of each set by MDAV alone, without regard to other releases."""
    cut = plan.blocks_for(len(table))
    alone = None if cut is None else replace(cut, seams=0)
    plain = Plan(k=plan.k, method=METHODS["mdav"], blocks=alone)
    return _fresh(table, plain, (None,) * len(record_sets(table, plain)), None, run)[0].partition


def published_loss(
    table: Table, groups: Partition, attributes: Sequence[int] | None = None
) -> float:
    """Add up the squared distances between records and the values published for their groups.

    By default those of all key columns.
    """
    x, columns, chosen = table.embedding.x, table.embedding.columns, attributes
    if chosen is None:
        chosen = range(len(table.attributes))
    elif len(chosen) < len(table.attributes):
        x = x[:, _coordinates(table, chosen)]
    published = [
        columns[j].embed(
            table.attributes[j].represent(table.keys[j], groups, table.weights, columns[j])
        )
        for j in chosen
    ]
    squares = ((x - side_by_side(published)) ** 2).sum(axis=1)
    return float(squares.sum() if table.weights is None else (table.weights * squares).sum())


def how_of(plan: Plan, grid: Grid | None, records: int) -> How:
    """Give the choices of a plan that grouping needs, in a form that can travel.

    Parameters
    ----------
    plan : Plan
        The plan.
    grid : Grid, optional
        Coordinates of publishable values.
    records : int
        Records of the whole table.
    """
    return How(plan.k, plan.method.name, plan.options, plan.recut, plan.refine, grid, records)


def _problem(table: Table, own: RecordSet, plan: Plan) -> Problem:
    """Build the problem of one set."""
    x, grid = table.embedding.x, table.embedding.grid
    if len(own.attributes) < len(table.attributes):
        coordinates = _coordinates(table, own.attributes)
        x, grid = x[:, coordinates], grid.take(coordinates)
    units = table.units
    if own.rows is not None:
        x = x[own.rows]
        units = None if units is None else units[own.rows]
    return Problem(x, plan.k, grid, units=units)


def _coordinates(table: Table, attributes: Sequence[int]) -> Integers:
    every = np.arange(table.embedding.x.shape[1])
    return np.concatenate([every[table.embedding.places[j]] for j in attributes])


def _is_cut(table: Table, plan: Plan) -> bool:
    """Tell whether some set may be cut into blocks."""
    blocks = plan.blocks_for(len(table))
    return blocks is not None and len(table) > blocks.rows


def _is_comparable(table: Table, plan: Plan) -> bool:
    """Tell whether a search is made whose loss can be compared with a bound."""
    searches = plan.method.searches or plan.refine is not None
    return searches and table.weights is None and not _is_cut(table, plan)


def _check_gap(table: Table, plan: Plan) -> None:
    """Check that a bound is proven for the groups of a plan that names a gap."""
    if plan.gap is None:
        return
    reason = ""
    if table.weights is not None:
        reason = "the search counts each record once, whatever its weight"
    elif _is_cut(table, plan):
        reason = "no bound is proven for records that are grouped in blocks"
    elif plan.cohorts is not None:
        reason = "groups that last over releases are changed after the search"
    elif plan.recut and plan.method.searches:
        reason = "cutting the groups again changes them after the search"
    if reason:
        raise DataError(
            "the option gap stops a search whose groups are proven to be close to the optimum; "
            f"{reason}: drop gap, and give iterations instead"
        )


def _bound(
    table: Table, own: RecordSet, plan: Plan, problem: Problem, rounds: int | None
) -> Bound | None:
    """Prove a bound on the loss of a set, if the search needs it or if it is to be shown."""
    if not _is_comparable(table, plan):
        return None
    if plan.gap is not None:
        rounds = GAP_ROUNDS
    elif rounds is None or (not rounds and len(table) > QUICK_ROWS):
        return None
    one_label = table.embedding.one_label[_coordinates(table, own.attributes)]
    bound = strongest_bound(problem.x, plan.k, rounds=rounds, one_label=one_label)
    return Bound(bound.value, _loss_of(table, own, plan.k))


def _loss_of(table: Table, own: RecordSet, k: int) -> Callable[[Labels], float]:
    """Give the function that computes what groups of a set lose when they are published."""
    part = table
    if own.rows is not None:
        units = None if table.units is None else table.units[own.rows]
        part = Table(table.attributes, tuple(key[own.rows] for key in table.keys), units=units)
        vars(part)["embedding"] = table.embedding.take(own.rows)

    def loss(labels: Labels) -> float:
        return published_loss(part, Partition(labels, k, part.units), own.attributes)

    return loss


class _Told:
    """Tells a watch how far the searches of all sets are, which follow each other.

    Parameters
    ----------
    table : Table
        The records of all sets.
    watch : callable, optional
        The watch.
    cells : int
        Number of records of all sets together.
    """

    def __init__(self, table: Table, watch: Watch | None, cells: int) -> None:
        self._table, self._watch, self._cells = table, watch, cells
        self._before, self._iterations, self._done = 0, 0, 0
        self._found = Found(0.0, spread=0.0, bound=0.0, planned=0)
        self._last: Found | None = None
        self._figures: _Figures | None = None

    def of(self, own: RecordSet, problem: Problem, shown: bool) -> Watch | None:
        """Give the watch of one set; if losses are shown, it tells those of all sets so far."""
        watch = self._watch
        if watch is None:
            return None
        self._done, self._last, self._figures = 0, None, None
        if shown or problem.bound is not None:
            self._figures = _Figures(self._table, own, problem)

        def told(done: int, share: float, found: Found | None = None, /) -> None:
            self._done = done
            if found is not None and self._figures is not None:
                self._last = self._figures.of(found, now=found.stopped or share == 1.0)
                self._last = _added(self._found, self._last)
            place = (self._before + share * len(problem.x)) / self._cells
            watch(self._iterations + done, place, self._last)

        return told

    def end(self, problem: Problem, groups: Partition) -> None:
        """Note the groups of a set; few records, and single columns, need no search."""
        self._before += len(problem.x)
        self._iterations += self._done
        if self._figures is not None:
            self._found = self._last or _added(self._found, self._figures.without_search(groups))


class _Figures:
    """Computes what the groups of a set lose when they are published, and so the figures to show.

    Where groups publish numbers only, it is what the search minimises; otherwise it takes some time
    to compute, and is computed once in a while.
    """

    def __init__(self, table: Table, own: RecordSet, problem: Problem) -> None:
        centre = table.embedding.centre[_coordinates(table, own.attributes)]
        spread = float(((problem.x - centre) ** 2).sum())
        bound = None if problem.bound is None else problem.bound.value
        self._known = Found(0.0, spread=spread, bound=bound, planned=0)
        self._loss = _loss_of(table, own, problem.k)
        self._exact = all(isinstance(table.attributes[j], Number) for j in own.attributes)
        self._shown, self._next = 0.0, -math.inf

    def of(self, found: Found, *, now: bool) -> Found:
        """Give the figures to show for the best groups found so far, exactly if need be ``now``."""
        loss = found.loss
        if not self._exact and found.labels is not None:
            if now or time.monotonic() >= self._next:
                self._shown = self._loss(numbered(found.labels))
                self._next = time.monotonic() + PATIENCE
            loss = self._shown
        return replace(self._known, loss=loss, planned=found.planned, stopped=found.stopped)

    def without_search(self, groups: Partition) -> Found:
        """Give the figures for groups that were found at once."""
        return replace(self._known, loss=self._loss(groups.labels))


def _added(before: Found, found: Found) -> Found:
    """Add the figures of a set to those of the sets before."""
    return Found(
        before.loss + found.loss,
        spread=_sum(before.spread, found.spread),
        bound=_sum(before.bound, found.bound),
        planned=_sum(before.planned, found.planned),
        stopped=before.stopped or found.stopped,
    )


def _sum(one: Figure | None, other: Figure | None) -> Figure | None:
    """Add two figures; the sum is not known if one of them is not."""
    return None if one is None or other is None else one + other


def _joined(parts: list[tuple[Order | None, Partition]]) -> Partition:
    """Join the sets of the same key columns; a set of all records needs no joining."""
    whole = [partition for rows, partition in parts if rows is None]
    return whole[0] if whole else Partition.join([(r, p) for r, p in parts if r is not None])
