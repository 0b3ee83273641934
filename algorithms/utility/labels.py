"""Changes of labels: wrong ones, their totals, and associations between columns."""

from itertools import combinations

import numpy as np

from algorithms.attributes import Values, is_missing
from algorithms.comparison import Files
from algorithms.measure import Measure
from algorithms.types import Integers, Matrix


def label_errors(files: Files) -> dict[int, float]:
    """Give the share of records whose published label is not theirs, by column, in per cent.

    A group of labels, ``*`` and a value that is missing on one side only are errors.
    """
    return {
        j: float(100.0 * (before != after).mean()) for j, before, after in _label_columns(files)
    }


def margin_changes(files: Files) -> dict[int, float]:
    """Give the total variation distance between original and published totals, in per cent."""
    changes = {}
    for j, before, after in _label_columns(files):
        _, codes = np.unique(np.concatenate([before, after]), return_inverse=True)
        n = len(before)
        shift = np.bincount(codes[:n], minlength=codes.max() + 1) - np.bincount(
            codes[n:], minlength=codes.max() + 1
        )
        changes[j] = float(50.0 * np.abs(shift).sum() / n)
    return changes


def association_change(files: Files) -> float | None:
    """Average the absolute changes of the associations between all pairs of key columns.

    The association is Cramér's V of two columns of labels, the correlation ratio eta of labels with
    numbers, and the absolute correlation of two columns of numbers. None without labels or with
    one column only.
    """
    attributes = files.original.attributes
    if len(attributes) == 1 or all(attribute.has_line for attribute in attributes):
        return None
    before, after = _association_columns(files)
    changes = [
        abs(association(after[i], after[j]) - association(before[i], before[j]))
        for i, j in combinations(range(len(attributes)), 2)
    ]
    return float(np.mean(changes))


def association(one: Values, other: Values) -> float:
    """Measure how strongly two columns depend on each other: numbers are real, labels are codes.

    Examples
    --------
    >>> association(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    1.0
    >>> association(np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 1.0, 2.0]))
    0.0
    """
    kinds = one.dtype.kind + other.dtype.kind
    if kinds == "ii":
        return _cramers_v(one, other)
    if kinds == "ff":
        return abs(_correlation(one, other))
    return _eta(one, other) if kinds == "if" else _eta(other, one)


def _label_columns(files: Files) -> list[tuple[int, Values, Values]]:
    return [
        (j, files.original.keys[j], files.published.keys[j])
        for j, attribute in enumerate(files.original.attributes)
        if not attribute.has_line
    ]


def _association_columns(files: Files) -> tuple[list[Values], list[Values]]:
    """Give numbers in coordinates, missing ones at their mean, and labels as codes from 0."""
    sides: tuple[list[Values], list[Values]] = [], []
    for j, attribute in enumerate(files.original.attributes):
        if attribute.has_line:
            pair: tuple[Values, Values] = files.column(files.places[j].start)
        else:
            pair = _label_codes(files.original.keys[j]), _label_codes(files.published.keys[j])
        for side, column in zip(sides, pair, strict=True):
            side.append(column)
    return sides


def _label_codes(values: Values) -> Integers:
    plain = np.where(is_missing(values), -1, values)
    return np.unique(plain, return_inverse=True)[1].astype(np.int64)


def _cramers_v(one: Integers, other: Integers) -> float:
    rows, columns = int(one.max()) + 1, int(other.max()) + 1
    if min(rows, columns) == 1:
        return 0.0
    n = len(one)
    cells = np.bincount(one * columns + other, minlength=rows * columns).reshape(rows, columns)
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / n
    chi_square = float(((cells - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi_square / (n * (min(rows, columns) - 1))))


def _correlation(one: Matrix, other: Matrix) -> float:
    a, b = one - one.mean(), other - other.mean()
    spread = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / spread if spread else 0.0


def _eta(labels: Integers, numbers: Matrix) -> float:
    deviations = numbers - numbers.mean()
    total = float((deviations**2).sum())
    if not total:
        return 0.0
    sizes = np.bincount(labels)
    means = np.bincount(labels, weights=deviations) / sizes
    return float(np.sqrt((sizes * means**2).sum() / total))


def _mean_of(values: dict[int, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None


MEASURES = (
    Measure(
        name="category_error",
        title="wrong labels",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Share of records whose published label or code is not theirs, averaged over the "
            "columns of labels and codes. A group of codes and * count as wrong."
        ),
        paper="DT05",
        run=lambda files: _mean_of(label_errors(files)),
        most=100.0,
    ),
    Measure(
        name="margin_change",
        title="change of label totals",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Total variation distance between the original and the published totals of labels, "
            "averaged over the columns of labels and codes: the share of records that would have "
            "to change their label to restore the totals."
        ),
        paper="DT05",
        run=lambda files: _mean_of(margin_changes(files)),
        most=100.0,
    ),
    Measure(
        name="association_change",
        title="mean change of associations",
        kind="utility",
        unit="",
        better="lower",
        definition=(
            "Absolute change of the association between two key columns, averaged over all pairs: "
            "Cramér's V for labels, eta for labels with numbers, the absolute correlation for "
            "numbers."
        ),
        paper="DT05",
        run=association_change,
        most=1.0,
    ),
)
