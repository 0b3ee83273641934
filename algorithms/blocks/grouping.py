"""Groups block by block: pure functions of one block, and the driver of all blocks of a set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from algorithms.blocks.cuts import SHIFTED, Blocks, Cuts, cut, in_sample, share_sampled
from algorithms.blocks.running import Arrays, Run, in_order
from algorithms.local_search.recut import recut
from algorithms.local_search.search import default_iterations, search
from algorithms.local_search.units import repair
from algorithms.microaggregation import METHODS
from algorithms.microaggregation.method import Method
from algorithms.problem import BUDGET_OPTIONS, Budget, Problem
from algorithms.rounding.grid import Grid
from algorithms.search.pool import centroids_of
from algorithms.types import Found, Integers, Labels, Matrix, Order, Partition, Watch, numbered

NO_SEARCH = -1
"""Stands for the number of iterations where nothing was searched."""


@dataclass(frozen=True, eq=False)
class How:
    """The choices that all blocks of a table share; small, so that it travels with each block.

    Attributes
    ----------
    k : int
        Smallest group allowed.
    method : str
        Name of the method.
    options : mapping
        The method's own options and, for a search, its budget for the whole table.
    recut : bool
        Whether groups are cut again along the path through them.
    refine : mapping, optional
        Options of the search that improves the groups; None for no search.
    grid : Grid, optional
        Coordinates of publishable values; None if every value can be published.
    records : int
        Records of the whole table; a search gets the share of its budget that its block has of
        them.
    rows : int, optional
        About the largest number of records in a block; None if there are no blocks.
    """

    k: int
    method: str
    options: Mapping[str, Any]
    recut: bool
    refine: Mapping[str, Any] | None
    grid: Grid | None
    records: int
    rows: int | None = None

    def in_blocks(self, rows: int) -> "How":
        """Give the choices for blocks of a set of records.

        A search without a budget then gets its share of the default of the whole table.
        """
        return replace(
            self,
            rows=rows,
            options=self._limited(self.options) if METHODS[self.method].searches else self.options,
            refine=None if self.refine is None else self._limited(self.refine),
        )

    def _limited(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        if any(options.get(name) is not None for name in BUDGET_OPTIONS):
            return options
        return {**options, "iterations": default_iterations(self.records, self.k)}


def solved(how: How, problem: Problem) -> tuple[Partition, int | None]:
    """Group some records, and count the iterations of the search; None if there was no search."""
    count = _Count(problem.watch)
    problem = replace(problem, watch=count)
    share = len(problem.x) / how.records
    groups = _run(problem, METHODS[how.method], how.options, share)
    if how.recut:
        labels = recut(problem.x, groups.labels, problem.k, problem.grid)
        if problem.units is not None:
            labels = repair(problem.x, labels, problem.k, problem.units)
        groups = Partition(labels, problem.k, problem.units)
    if how.refine is not None:
        start = replace(problem, start=groups.labels)
        groups = _run(start, METHODS["best"], how.refine, share)
    return groups, count.iterations


def group_block(how: How, arrays: Arrays) -> Arrays:
    """Group the records of one block.

    Parameters
    ----------
    how : How
        The choices that all blocks share.
    arrays : mapping
        ``x``, the standardised records in the order of their rows, and ``units`` if there are any.

    Returns
    -------
    mapping
        ``labels``, the group of each record in the block, and ``iterations`` of the search, or -1.

    Notes
    -----
    A block that no cut divides, because its records are alike, is divided in the order of its rows.
    """
    x, units = _records(arrays)
    parts, iterations = [], NO_SEARCH
    for rows in _pieces(how, units, len(x)):
        own = None if units is None else units[rows]
        groups, spent = solved(how, Problem(x[rows], how.k, how.grid, units=own))
        parts.append((rows, groups))
        if spent is not None:
            iterations = max(iterations, 0) + spent
    return {"labels": Partition.join(parts).labels, "iterations": np.array([iterations])}


def mend_block(how: How, arrays: Arrays) -> Arrays:
    """Move records between the groups of one block until no move saves anything.

    Parameters
    ----------
    how : How
        The choices that all blocks share.
    arrays : mapping
        ``x`` and ``units`` as for `group_block`, and ``labels``, the group of each record as an
        arbitrary number. Groups are whole.

    Returns
    -------
    mapping
        ``labels``, the group of each record in the block; they never lose more than before.
    """
    x, units = _records(arrays)
    labels = numbered(arrays["labels"])
    groups = int(labels.max()) + 1
    # as many pieces as `group_block` makes, of whole groups
    pieces = labels * _piece_count(how, len(x)) // groups
    mended = np.empty_like(labels)
    for piece in range(int(pieces.max()) + 1):
        rows = np.flatnonzero(pieces == piece)
        mended[rows] = len(x) * piece + search(
            x[rows],
            numbered(labels[rows]),
            how.k,
            how.grid,
            iterations=0,
            units=None if units is None else units[rows],
        )
    return {"labels": numbered(mended)}


def cuts_of(sample: Matrix, records: int, blocks: Blocks) -> tuple[Cuts, ...]:
    """Find the cuts of a set of records: those for grouping, then those of each round of mending.

    Parameters
    ----------
    sample : Matrix of shape (m, d)
        The sampled records, in the order of their rows.
    records : int
        Records in the set.
    blocks : Blocks
        How the set is cut.
    """
    shifted = (SHIFTED[seam % len(SHIFTED)] for seam in range(blocks.seams))
    return tuple(cut(sample, records, blocks.rows, shares) for shares in ((), *shifted))


def destinations(cuts: Cuts, x: Matrix, labels: Labels) -> Labels:
    """Give the block to which each record goes for mending: that of the average of its group.

    Parameters
    ----------
    cuts : Cuts
        The cuts of the round.
    x : Matrix of shape (n, d)
        Records of whole groups, in the order of their rows.
    labels : Labels of shape (n,)
        The group of each record.
    """
    return cuts.assign(centroids_of(x, labels))[labels]


def grouped_in_blocks(
    how: How,
    problem: Problem,
    rows: Order,
    blocks: Blocks,
    run: Run = in_order,
) -> tuple[Partition, int | None]:
    """Cut a set of records into blocks, group each block, and mend the seams between them.

    Parameters
    ----------
    how : How
        The choices that all blocks share.
    problem : Problem
        The records and their units; its ``watch`` is told the share of blocks that are taken up.
    rows : Order of shape (n,)
        Row of each record in the whole table, in rising order.
    blocks : Blocks
        How the set is cut.
    run : Run
        How functions are run on blocks. The groups do not depend on it.

    Returns
    -------
    groups : Partition
        Groups of the set.
    iterations : int, optional
        Iterations of all searches; None if there was no search.
    """
    x, units = problem.x, problem.units
    how = how.in_blocks(blocks.rows)
    sampled = in_sample(rows, share_sampled(len(x), blocks.rows))
    first, *later = cuts_of(np.ascontiguousarray(x[sampled]), len(x), blocks)
    own = _large_enough(first, first.assign(x), how.k, units)
    taken = _Taken(x, units, None, own, problem.watch, 0, 1 + len(later))
    results = run("group", group_block, how, taken)
    labels = _joined(taken, results)
    for seam, cuts in enumerate(later, start=1):
        own = numbered(destinations(cuts, x, labels))
        taken = _Taken(x, units, labels, own, problem.watch, seam, 1 + len(later))
        labels = _joined(taken, run("mend", mend_block, how, taken))
    spent = [int(result["iterations"][0]) for result in results]
    searched = [count for count in spent if count != NO_SEARCH]
    return Partition(numbered(labels), how.k, units), sum(searched) if searched else None


class _Taken(Sequence[Arrays]):
    """The arrays of each block, taken from those of the set when they are asked for.

    ``watch`` is told how many blocks were taken before, of this step and of all steps.
    """

    def __init__(
        self,
        x: Matrix,
        units: Labels | None,
        labels: Labels | None,
        blocks: Labels,
        watch: Watch | None,
        step: int,
        steps: int,
    ) -> None:
        columns = {"x": x, "units": units, "labels": labels}
        self._columns = {name: each for name, each in columns.items() if each is not None}
        order = np.argsort(blocks, kind="stable")
        self.rows = np.split(order, np.cumsum(np.bincount(blocks))[:-1])
        self._watch, self._step, self._steps = watch, step, steps

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Arrays: ...

    @overload
    def __getitem__(self, place: slice) -> list[Arrays]: ...

    def __getitem__(self, place: int | slice) -> Arrays | list[Arrays]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        rows = self.rows[place]
        if self._watch is not None:
            done = place % len(self) / len(self)
            self._watch(0, (self._step + done) / self._steps)
        return {name: each[rows] for name, each in self._columns.items()}


def _joined(taken: _Taken, results: Sequence[Arrays]) -> Labels:
    """Join the groups of all blocks, numbered block after block."""
    labels = np.empty(sum(map(len, taken.rows)), dtype=np.int64)
    groups = 0
    for rows, result in zip(taken.rows, results, strict=True):
        labels[rows] = groups + result["labels"]
        groups += int(result["labels"].max()) + 1
    return labels


def _large_enough(cuts: Cuts, blocks: Labels, k: int, units: Labels | None) -> Labels:
    """Merge blocks that hold fewer than ``k`` records, or records of fewer than ``k`` units."""
    if units is None:
        counts = np.bincount(blocks, minlength=cuts.count)
        return cuts.merged(lambda some: bool(counts[some].sum() >= k))[blocks]
    tokens = units

    def enough(some: Integers) -> bool:
        return bool(np.unique(tokens[np.isin(blocks, some)]).size >= k)

    return cuts.merged(enough)[blocks]


def _records(arrays: Arrays) -> tuple[Matrix, Labels | None]:
    """Give records in one layout, on which the last digits of sums depend, and their units."""
    return np.ascontiguousarray(arrays["x"]), arrays.get("units")


def _piece_count(how: How, records: int) -> int:
    """Count the pieces into which a block is divided: one, unless cuts left it far too large."""
    return max(records // how.rows, 1) if how.rows and records >= 2 * how.rows else 1


def _pieces(how: How, units: Labels | None, records: int) -> list[Order]:
    """Divide a block in the order of its rows; not at all if a piece had too few units."""
    whole = np.arange(records)
    pieces = np.array_split(whole, _piece_count(how, records))
    enough = units is None or all(np.unique(units[rows]).size >= how.k for rows in pieces)
    return pieces if enough else [whole]


class _Count:
    """Counts the iterations of a search, and passes its progress on."""

    def __init__(self, watch: Watch | None) -> None:
        self.iterations: int | None = None
        self._watch = watch

    def __call__(self, iterations: int, share: float, found: Found | None = None, /) -> None:
        self.iterations = iterations
        if self._watch is not None:
            self._watch(iterations, share, found)


def _run(problem: Problem, method: Method, options: Mapping[str, Any], share: float) -> Partition:
    """Solve a problem; a search gets its share of the budget in the options."""
    if not method.searches:
        return method.solve(problem, options)
    limits = {name: options[name] for name in BUDGET_OPTIONS if name in options}
    own = {name: option for name, option in options.items() if name not in limits}
    return method.solve(replace(problem, budget=Budget(**limits).share(share)), own)
