"""Masking: turns a table and a plan into the table that would be published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from algorithms.blocks.cuts import Blocks, blocks_for
from algorithms.blocks.grouping import How, grouped_in_blocks, solved
from algorithms.blocks.running import Run, in_order
from algorithms.history import ABSENT, History
from algorithms.masked import Grouping, Masked
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.method import Method
from algorithms.orderings.ordering import Ordering
from algorithms.problem import Problem
from algorithms.rounding.grid import Grid
from algorithms.series.cohorts import Cohorts, chances_of_muting, lasting_groups, near_within
from algorithms.series.keeping import kept_groups
from algorithms.series.state import Situation
from algorithms.strata import Settled, SmallStrata, settle
from algorithms.table import Table
from algorithms.types import Integers, Matrix, Order, Partition, Watch

WeightRule = Literal["averaged", "never", "as_it_is"]
WEIGHT_DIGITS = 12
"""Significant digits of published weights: totals stay exact to some 1e-12, and weights short."""


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
    """
    groupings = _fresh(table, plan, along, watch, run) if fresh is None else fresh
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
) -> tuple[Grouping, ...]:
    """Group the records of each set without regard to other releases."""
    parts: dict[tuple[int, ...], list[tuple[Order | None, Partition]]] = {}
    iterations: dict[tuple[int, ...], int] = {}
    cut = plan.blocks_for(len(table))
    for own, path in zip(record_sets(table, plan), along, strict=True):
        problem = replace(_problem(table, own, plan), path=path, watch=watch)
        how = how_of(plan, problem.grid, len(table))
        if cut is None or len(problem.x) <= cut.rows:
            groups, spent = solved(how, problem)
        else:
            rows = np.arange(len(table)) if own.rows is None else own.rows
            groups, spent = grouped_in_blocks(how, problem, rows, cut, run)
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


def published_loss(table: Table, groups: Partition) -> float:
    """Add up the squared distances between records and the values published for their groups."""
    keys = [
        attribute.represent(values, groups, table.weights, scale)
        for attribute, values, scale in zip(
            table.attributes, table.keys, table.embedding.columns, strict=True
        )
    ]
    squares = ((table.embedding.x - table.embedding.embed(keys)) ** 2).sum(axis=1)
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
        coordinates = _coordinates(table, own)
        x, grid = x[:, coordinates], grid.take(coordinates)
    units = table.units
    if own.rows is not None:
        x = x[own.rows]
        units = None if units is None else units[own.rows]
    return Problem(x, plan.k, grid, units=units)


def _coordinates(table: Table, own: RecordSet) -> Integers:
    every = np.arange(table.embedding.x.shape[1])
    return np.concatenate([every[table.embedding.places[j]] for j in own.attributes])


def _joined(parts: list[tuple[Order | None, Partition]]) -> Partition:
    """Join the sets of the same key columns; a set of all records needs no joining."""
    whole = [partition for rows, partition in parts if rows is None]
    return whole[0] if whole else Partition.join([(r, p) for r, p in parts if r is not None])
