"""Solving: originals that follow from the averages of many releases, by least squares.

An attacker who knows no key values at all follows records from release to release. Every group
gives an equation: the average of its members' values is published. Where groups change from release
to release, there are soon as many equations as persons [DN03]_.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.comparison import Comparison
from algorithms.history import ABSENT, History, Records
from algorithms.measure import Estimate, Measure, Omitted
from algorithms.risk.links import all_records, linked_releases
from algorithms.table import Table, combinations
from algorithms.types import Integers, Labels, Mask, Matrix, Order

LARGEST_TABLE = 5_000
"""Most records that are solved for at once; longer tables are sampled."""

SAMPLES = 8
SAMPLE_RECORDS = 500
SAMPLE_SEED = 1
ITERATIONS = 500
ACCURACY = 1e-10
TIE = 1e-6
"""Originals whose distances from a solution differ by less are equally near."""


@dataclass(frozen=True, eq=False)
class Equations:
    """The averages of groups in all releases, as equations in the values of persons.

    Attributes
    ----------
    unknowns : Integers of shape (m,)
        The unknown behind each record of all releases; those of the new release come first.
    groups : Labels of shape (m,)
        Number of the group of each record, counted over all releases.
    averages : Matrix of shape (groups, d)
        Published average of each group.
    """

    unknowns: Integers
    groups: Labels
    averages: Matrix

    def around(self, rows: Order) -> "Equations":
        """Keep the equations in which some records of the new release stand."""
        mentioned = _marked(self.unknowns, self.unknowns[rows])
        inside = _marked(self.groups, self.groups[mentioned])
        inside[rows] = False
        # the records come first again
        order = np.concatenate([rows, np.flatnonzero(inside)])
        kept, groups = np.unique(self.groups[order], return_inverse=True)
        _, unknowns = np.unique(self.unknowns[order], return_inverse=True)
        return Equations(unknowns.reshape(-1), groups.reshape(-1), self.averages[kept])

    def solve(self) -> Matrix:
        """Find the values of all unknowns that are nearest to the averages of their groups."""
        # imported late: reading a spec must not wait for scipy
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import lsqr

        sizes = np.bincount(self.groups)
        shape = (sizes.size, int(self.unknowns.max()) + 1)
        members = csr_array((1.0 / sizes[self.groups], (self.groups, self.unknowns)), shape)
        start = _means(self.averages[self.groups], self.unknowns)
        gaps = self.averages - members @ start
        moves = [
            lsqr(members, gap, atol=ACCURACY, btol=ACCURACY, iter_lim=ITERATIONS)[0]
            for gap in gaps.T
        ]
        solution: Matrix = start + np.column_stack(moves)
        return solution


def equations(files: Comparison, history: History, earlier: Sequence[Records]) -> Equations:
    """Write down the equations of all releases within the window, in coordinates on lines."""
    persons, masked = files.original.persons, files.masked
    assert persons is not None
    linked = None if history.links == "perfect" else files.once(linked_releases, history)
    everybody, shared = [persons], [masked.visible]
    groups, values = [masked.groups], [files.after[:, files.lines]]
    for t, records in enumerate(earlier):
        own = records.table.persons
        assert own is not None
        everybody.append(own[records.rows])
        followed = None if linked is None else persons[linked[:, t]]
        shared.append(_followed(own[records.rows], records.visible, followed))
        groups.append(records.groups)
        values.append(_on_lines(files, records.table)[records.rows])
    releases = np.repeat(np.arange(len(groups)), [each.size for each in groups])
    numbers = combinations([np.concatenate(groups), releases])
    unknowns = _unknowns(np.concatenate(everybody), np.concatenate(shared))
    return Equations(unknowns, numbers, _means(np.concatenate(values), numbers))


def _marked(labels: Labels, some: Labels) -> Mask:
    """Mark the labels that are among some."""
    marks = np.zeros(int(labels.max()) + 1, dtype=bool)
    marks[some] = True
    return marks[labels]


def _means(values: Matrix, labels: Labels) -> Matrix:
    """Average the rows of each label."""
    sums = [np.bincount(labels, weights=column) for column in values.T]
    means: Matrix = np.column_stack(sums) / np.bincount(labels)[:, np.newaxis]
    return means


def _followed(persons: Integers, visible: Mask, linked: Integers | None) -> Mask:
    """Mark the records of an earlier release that an attacker can follow."""
    return visible if linked is None else visible & np.isin(persons, linked)


def _unknowns(persons: Integers, shared: Mask) -> Integers:
    """Give each record its unknown: one for all followed records of a person, else its own."""
    unknowns = np.full(persons.size, ABSENT)
    numbers, unknowns[shared] = np.unique(persons[shared], return_inverse=True)
    unknowns[~shared] = numbers.size + np.arange(int((~shared).sum()))
    return unknowns


def _on_lines(files: Comparison, table: Table) -> Matrix:
    """Give the values of an earlier table on number lines, on the scale of the new table."""
    embedding = files.original.embedding
    columns = [
        embedding.columns[j].embed(table.keys[j])[:, 0]
        for j, attribute in enumerate(files.original.attributes)
        if attribute.has_line
    ]
    return np.column_stack(columns)


def solved(files: Comparison) -> float | Estimate | Omitted | None:
    """Give the share of records whose own original is nearest to the solution, in per cent."""
    history = files.history
    if history is None or files.original.persons is None or not files.lines.size:
        return None
    earlier = all_records(history.within_window)
    if isinstance(earlier, Omitted):
        return earlier
    system = equations(files, history, earlier)
    originals = files.before[:, files.lines]
    n = len(originals)
    if n <= LARGEST_TABLE:
        return _nearest(system, originals, np.arange(n))
    rng = np.random.default_rng(SAMPLE_SEED)
    shares = [
        _nearest(system.around(rows), originals, rows)
        for rows in (_neighbours(originals, row) for row in rng.integers(n, size=SAMPLES))
    ]
    error = 1.96 * float(np.std(shares, ddof=1)) / np.sqrt(SAMPLES)
    return Estimate(
        float(np.mean(shares)),
        f"within {error:.2f} at 95 % confidence, from {SAMPLES} samples of {SAMPLE_RECORDS} "
        "records close to each other",
    )


def _neighbours(originals: Matrix, row: int) -> Order:
    """Draw the records around one of them, whose groups overlap most."""
    squares = ((originals - originals[row]) ** 2).sum(axis=1)
    return np.argsort(squares, kind="stable")[:SAMPLE_RECORDS]


def _nearest(system: Equations, originals: Matrix, rows: Order) -> float:
    """Solve for some records, and count those whose own original is nearest; ties are shared."""
    from scipy.spatial import cKDTree

    found = system.solve()[system.unknowns[: rows.size]]
    tree = cKDTree(originals)
    reach = tree.query(found)[0] + TIE
    own = np.sqrt(((found - originals[rows]) ** 2).sum(axis=1)) <= reach
    ties = tree.query_ball_point(found, reach, return_length=True)
    return float(100.0 * (own / ties).mean())


MEASURES = (
    Measure(
        name="solved",
        title="solved from averages",
        kind="risk",
        unit="%",
        better="lower",
        definition=(
            "Share of records whose own original is the nearest to the values that an attacker "
            "without any knowledge of key values computes by least squares from the averages of "
            "the groups in all releases, following records. Key columns on number lines only."
        ),
        paper="DN03",
        run=solved,
        most=100.0,
    ),
)
