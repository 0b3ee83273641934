"""Finds cuts that fractions of groups violate."""

import numpy as np

from algorithms.bounds.cuts import Cut
from algorithms.bounds.programme import Solution
from algorithms.jit import kernel
from algorithms.types import Integers, Labels, Matrix

LEAST_VIOLATION = 0.02
"""By how much fractions of groups must count more than a cut allows."""

MOST_CUTS, MOST_OF_ROW = 150, 5
"""Cuts added at a time, and those of them that a row may be in."""

FEW_CUTS = 30
"""If there are fewer triples, other cuts are looked for as well."""

DENOMINATORS = (3, 4, 5)
"""Those of combined cuts; triples have 2."""

MOST_LIMIT = 3
"""The largest right-hand side of a combined cut."""


def violated_cuts(solution: Solution, known: set[Cut]) -> list[Cut]:
    """Find cuts that a solution violates, those that it violates most first.

    Three rows that count as one half each are found if there are any. Only where there are none,
    other cuts are looked for, by local search.
    """
    groups, fractions = solution.parts()
    if not groups:
        return []
    rows = np.unique([row for group in groups for row in group])
    holds = np.searchsorted(rows, [row for group in groups for row in group])
    starts = np.cumsum([0, *map(len, groups)])
    order = np.argsort(holds, kind="stable")
    of_row = np.searchsorted(starts, order, side="right") - 1
    row_starts = np.searchsorted(holds[order], np.arange(rows.size + 1))
    given = (starts, holds, row_starts, of_row, fractions)
    units, violations = triples(*given, LEAST_VIOLATION)
    cuts = _chosen([(2, rows[found], v) for found, v in zip(units, violations, strict=True)], known)
    if len(cuts) >= FEW_CUTS:
        return cuts
    more = [(2, rows[found], v) for found, v in zip(units, violations, strict=True)]
    for denominator in DENOMINATORS:
        units, violations = combined(*given, denominator, MOST_LIMIT, LEAST_VIOLATION)
        for found, violation in zip(units, violations, strict=True):
            more.append((denominator, rows[found[found >= 0]], violation))
    return _chosen(more, known)


def _chosen(found: list[tuple[int, Labels, float]], known: set[Cut]) -> list[Cut]:
    """Choose cuts that are new and share few rows with each other."""
    cuts: dict[Cut, None] = {}
    times: dict[int, int] = {}
    for denominator, units, _ in sorted(found, key=lambda cut: -cut[2]):
        rows, parts = np.unique(units, return_counts=True)
        cut = (denominator, tuple(zip(rows.tolist(), parts.tolist(), strict=True)))
        crowded = max(times.get(row, 0) for row, _ in cut[1]) >= MOST_OF_ROW
        if cut in known or cut in cuts or crowded:
            continue
        if len(cuts) == MOST_CUTS:
            break
        cuts[cut] = None
        for row, _ in cut[1]:
            times[row] = times.get(row, 0) + 1
    return list(cuts)


@kernel
def triples(
    starts: Labels,
    holds: Labels,
    row_starts: Labels,
    of_row: Labels,
    fractions: Matrix,
    least: float,
) -> tuple[Integers, Matrix]:
    """Find all triples of rows of which groups hold two or more, more often than once.

    Parameters
    ----------
    starts, holds : Labels
        Where the rows of each group begin, and the rows.
    row_starts, of_row : Labels
        Where the groups of each row begin, and the groups.
    fractions : Matrix
        How much of each group is chosen.
    least : float
        By how much the cut must be violated.

    Returns
    -------
    units : Integers of shape (cuts, 3)
    violations : Matrix
    """
    m = row_starts.size - 1
    together = np.zeros((m, m))
    for group in range(fractions.size):
        for i in holds[starts[group] : starts[group + 1]]:
            for j in holds[starts[group] : starts[group + 1]]:
                together[i, j] += fractions[group]
    units, violations = np.empty((64, 3), dtype=np.int64), np.empty(64)
    count = 0
    near = np.empty(m, dtype=np.int64)
    for i in range(m):
        degree = 0
        for j in range(i + 1, m):
            if together[i, j] > 0.0:
                near[degree] = j
                degree += 1
        for a in range(degree):
            for b in range(a + 1, degree):
                j, other = near[a], near[b]
                value = together[i, j] + together[i, other] + together[j, other] - 1.0
                if value <= least:
                    continue
                for entry in range(row_starts[i], row_starts[i + 1]):
                    group = of_row[entry]
                    found = 0
                    for row in holds[starts[group] : starts[group + 1]]:
                        found += int(row in (j, other))
                    if found == 2:
                        value -= 2.0 * fractions[group]
                if value > least:
                    if count == violations.size:
                        units = np.concatenate((units, np.empty_like(units)))
                        violations = np.concatenate((violations, np.empty_like(violations)))
                    units[count] = i, j, other
                    violations[count] = value
                    count += 1
    return units[:count], violations[:count]


@kernel
def combined(
    starts: Labels,
    holds: Labels,
    row_starts: Labels,
    of_row: Labels,
    fractions: Matrix,
    denominator: int,
    most: int,
    least: float,
) -> tuple[Integers, Matrix]:
    """Look for violated cuts of one denominator, from each row by local search.

    A cut is a list of rows, each as often as its numerator says. The list takes the row that brings
    most, and then changes one row for another while that helps. Groups that count as a whole number
    are worth that number; what they have beyond that is worth less, and shows the way. Lists that
    are one short of the next whole number are compared with what is allowed.

    Returns
    -------
    units : Integers of shape (cuts, denominator * (most + 1))
        The rows of each cut, filled up with -1.
    violations : Matrix
    """
    m = row_starts.size - 1
    length = denominator * (most + 1)
    worth = np.empty(length + 1)
    for total in range(length + 1):
        beyond = (total % denominator) / denominator
        worth[total] = total // denominator + beyond * beyond / 4.0
    units, violations = np.empty((64, length), dtype=np.int64), np.empty(64)
    count = 0
    cut = np.full(length, -1)
    totals = np.zeros(fractions.size, dtype=np.int64)
    parts = np.zeros(m, dtype=np.int64)
    listed = np.zeros(m, dtype=np.bool_)
    near = np.empty(m, dtype=np.int64)
    for seed in range(m):
        totals[:] = 0
        parts[:] = 0
        listed[:] = False
        degree = 0
        size = 0
        row = seed
        while row >= 0:
            cut[size] = row
            size += 1
            parts[row] += 1
            for entry in range(row_starts[row], row_starts[row + 1]):
                group = of_row[entry]
                totals[group] += 1
                for other in holds[starts[group] : starts[group + 1]]:
                    if not listed[other]:
                        listed[other] = True
                        near[degree] = other
                        degree += 1
            if size % denominator == denominator - 1 and size > denominator:
                _improve(
                    row_starts, of_row, fractions, denominator, worth,
                    cut[:size], totals, parts, near[:degree],
                )  # fmt: skip
                value = -float(size // denominator)
                for group in range(fractions.size):
                    value += fractions[group] * (totals[group] // denominator)
                if value > least:
                    if count == violations.size:
                        units = np.concatenate((units, np.empty_like(units)))
                        violations = np.concatenate((violations, np.empty_like(violations)))
                    units[count] = -1
                    units[count, :size] = cut[:size]
                    violations[count] = value
                    count += 1
                if size == length - 1:
                    break
            row = _best_unit(
                row_starts, of_row, fractions, denominator, worth, totals, parts, near[:degree]
            )[0]
    return units[:count], violations[:count]


@kernel
def _best_unit(
    row_starts: Labels,
    of_row: Labels,
    fractions: Matrix,
    denominator: int,
    worth: Matrix,
    totals: Labels,
    parts: Labels,
    near: Labels,
) -> tuple[int, float]:
    """Find the row that is worth most as one more unit, and its worth; -1 if there is none."""
    best, most = -1, -1.0
    for row in near:
        if parts[row] == denominator - 1:
            continue
        value = 0.0
        for entry in range(row_starts[row], row_starts[row + 1]):
            total = totals[of_row[entry]]
            value += fractions[of_row[entry]] * (worth[total + 1] - worth[total])
        if value > most:
            best, most = row, value
    return best, most


@kernel
def _improve(
    row_starts: Labels,
    of_row: Labels,
    fractions: Matrix,
    denominator: int,
    worth: Matrix,
    cut: Labels,
    totals: Labels,
    parts: Labels,
    near: Labels,
) -> None:
    """Change one unit for another as long as that helps."""
    place, kept = 0, 0
    while kept < cut.size:
        row = cut[place]
        parts[row] -= 1
        lost = 0.0
        for entry in range(row_starts[row], row_starts[row + 1]):
            group = of_row[entry]
            totals[group] -= 1
            lost += fractions[group] * (worth[totals[group] + 1] - worth[totals[group]])
        other, gained = _best_unit(
            row_starts, of_row, fractions, denominator, worth, totals, parts, near
        )
        kept += 1
        if gained > lost + 1e-9:
            row = other
            kept = 1
        cut[place] = row
        parts[row] += 1
        for entry in range(row_starts[row], row_starts[row + 1]):
            totals[of_row[entry]] += 1
        place = (place + 1) % cut.size
