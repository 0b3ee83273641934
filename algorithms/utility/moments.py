"""Changes of means, variances and quantiles."""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Matrix

QUANTILES = (5, 25, 50, 75, 95)
"""In per cent of all records."""

HALF_WIDTH = 25
"""In thousandths of all records: how far on either side of a quantile records are averaged."""


def mean_changes(files: Comparison) -> Matrix:
    """Measure how far the mean of each column moved, in standard deviations."""
    changes: Matrix = files.after.mean(axis=0) - files.before.mean(axis=0)
    return changes


def variance_ratios(files: Comparison) -> Matrix:
    """Divide the variance of each published column by that of the original; 1 if neither varies."""
    before, after = files.before.var(axis=0), files.after.var(axis=0)
    still = before == 0.0
    ratios = np.where(still, 1.0, after / np.where(still, 1.0, before))
    return np.where(still & (after > 0.0), np.inf, ratios)


def quantile_changes(files: Comparison) -> dict[int, Matrix]:
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
    n = len(files.before)
    before, after = (np.sort(x, axis=0) for x in (files.before, files.after))
    changes = {}
    for percent in QUANTILES:
        start = (10 * percent - HALF_WIDTH) * n // 1000
        end = -(-(10 * percent + HALF_WIDTH) * n // 1000)
        if min(start, end - start, n - end) >= files.k:
            changes[percent] = (after[start:end] - before[start:end]).mean(axis=0)
    return changes


def _largest_quantile_change(files: Comparison) -> float | None:
    changes = quantile_changes(files)
    return max((float(np.abs(change).max()) for change in changes.values()), default=None)


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
        run=lambda files: float(np.abs(mean_changes(files)).max()),
    ),
    Measure(
        name="variance_change",
        title="largest change of a variance",
        kind="utility",
        unit="%",
        better="lower",
        definition="Largest relative change of the variance of a column.",
        paper="DMT01",
        run=lambda files: float(100.0 * np.abs(variance_ratios(files) - 1.0).max()),
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
