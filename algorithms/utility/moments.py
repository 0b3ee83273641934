"""Changes of means, variances and quantiles."""

from dataclasses import dataclass

import numpy as np

from algorithms.comparison import Files
from algorithms.measure import Measure
from algorithms.types import Matrix

QUANTILES = (5, 25, 50, 75, 95)
"""In per cent of all records."""

HALF_WIDTH = 25
"""In thousandths of all records: how far on either side of a quantile records are averaged."""


@dataclass(frozen=True, eq=False)
class LineChanges:
    """Changes of one column that has a number line, in its standard deviations.

    Attributes
    ----------
    mean : float
        Change of the mean.
    variance_before, variance_after : float
        The variances.
    quantiles : dict of int to float
        Changes by quantile (in per cent of all records), for the quantiles that may be shown.
    """

    mean: float
    variance_before: float
    variance_after: float
    quantiles: dict[int, float]


def line_changes(files: Files) -> list[LineChanges]:
    """Measure the changes of each column that has a number line, computed once."""
    return files.once(_each_line)


def _each_line(files: Files) -> list[LineChanges]:
    return [_changes(*files.on_line(line), files.k) for line in files.lines.tolist()]


def _changes(before: Matrix, after: Matrix, k: int) -> LineChanges:
    mean = _mean(after) - _mean(before)
    variances = _variance(before), _variance(after)
    before, after = np.sort(before), np.sort(after)
    shown = [
        percent
        for percent in QUANTILES
        if all(_window(column.size, percent, k) is not None for column in (before, after))
    ]
    return LineChanges(
        mean, *variances, {percent: _moved(before, after, percent) for percent in shown}
    )


def mean_changes(files: Files) -> Matrix:
    """Measure how far the mean of each column on a number line moved, in standard deviations."""
    return np.array([each.mean for each in line_changes(files)], dtype=np.float64)


def variance_ratios(files: Files) -> Matrix:
    """Divide the variance of each published column by that of the original; 1 if neither varies."""
    columns = line_changes(files)
    before = np.array([column.variance_before for column in columns])
    after = np.array([column.variance_after for column in columns])
    still = before == 0.0
    ratios = np.where(still, 1.0, after / np.where(still, 1.0, before))
    return np.where(still & (after > 0.0), np.inf, ratios)


def quantile_changes(files: Files) -> dict[int, Matrix]:
    """Measure how far quantiles moved, in standard deviations of each column.

    A quantile is the value of one record or lies between two values. Everyone knows the published
    quantile, so its change would reveal that value, to as many digits as the change has; and few
    digits are enough for whole numbers. For that reason a quantile is computed here as the average
    of the 5 % of records around it, before and after. It is left out if fewer than ``k`` records
    would be averaged, or if fewer than ``k`` records lie beyond them on either side.

    The records that are averaged do not depend on ``k``: averages over nested windows of several
    sizes could be subtracted from each other.

    Returns
    -------
    dict of int to Matrix of shape (d,)
        Changes by quantile (in per cent of all records), for the quantiles that may be shown.

    Examples
    --------
    >>> x = np.arange(100.0)
    >>> files = compare([x], [x + 2.9011], k=5)
    >>> {percent: change.round(3) for percent, change in quantile_changes(files).items()}
    {25: array([0.1]), 50: array([0.1]), 75: array([0.1])}
    """
    columns = line_changes(files)
    return {
        percent: np.array([column.quantiles[percent] for column in columns])
        for percent in QUANTILES
        if columns and all(percent in column.quantiles for column in columns)
    }


def _window(n: int, percent: int, k: int) -> tuple[int, int] | None:
    """Give the records to average around a quantile; None if too few are averaged or beyond."""
    start = (10 * percent - HALF_WIDTH) * n // 1000
    end = -(-(10 * percent + HALF_WIDTH) * n // 1000)
    return (start, end) if min(start, end - start, n - end) >= k else None


def _moved(before: Matrix, after: Matrix, percent: int) -> float:
    """Measure how far a quantile of sorted values moved."""
    (start, end), (first, last) = (
        ((10 * percent - HALF_WIDTH) * n // 1000, -(-(10 * percent + HALF_WIDTH) * n // 1000))
        for n in (len(before), len(after))
    )
    if len(before) == len(after):
        return float((after[first:last] - before[start:end]).mean())
    return float(after[first:last].mean() - before[start:end].mean())


def _mean(column: Matrix) -> float:
    return float(column.mean()) if column.size else 0.0


def _variance(column: Matrix) -> float:
    return float(column.var()) if column.size else 0.0


def _largest_quantile_change(files: Files) -> float | None:
    changes = quantile_changes(files)
    return max((float(np.abs(change).max()) for change in changes.values()), default=None)


def _largest(changes: Matrix) -> float | None:
    return float(np.abs(changes).max()) if changes.size else None


MEASURES = (
    Measure(
        name="mean_change",
        title="largest change of a mean",
        kind="utility",
        unit="sd",
        better="lower",
        definition=(
            "Largest absolute change of the mean of a column, in standard deviations of the "
            "original."
        ),
        paper="DMT01",
        run=lambda files: _largest(mean_changes(files)),
    ),
    Measure(
        name="variance_change",
        title="largest change of a variance",
        kind="utility",
        unit="%",
        better="lower",
        definition="Largest relative change of the variance of a column.",
        paper="DMT01",
        run=lambda files: _largest(100.0 * (variance_ratios(files) - 1.0)),
    ),
    Measure(
        name="quantile_change",
        title="largest change of a quantile",
        kind="utility",
        unit="sd",
        better="lower",
        definition=(
            "Largest absolute change of the 5, 25, 50, 75 and 95 per cent quantiles of a column, "
            "in standard deviations of the original. A quantile is the average of the 5 % of "
            "records around it; it is left out if fewer than k records are averaged or lie beyond "
            "them on either side."
        ),
        paper="DMT01",
        run=_largest_quantile_change,
    ),
)
