"""What became of means, variances and quantiles."""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Matrix

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are compared; none so near an end that it would show a single record."""


def mean_changes(files: Comparison) -> Matrix:
    """Measure how far the mean of each column moved, in standard deviations."""
    moved: Matrix = files.after.mean(axis=0) - files.before.mean(axis=0)
    return moved


def variance_ratios(files: Comparison) -> Matrix:
    """Divide the variance of each published column by that of the original; 1 if neither varies."""
    before, after = files.before.var(axis=0), files.after.var(axis=0)
    still = before == 0.0
    ratios = np.where(still, 1.0, after / np.where(still, 1.0, before))
    return np.where(still & (after > 0.0), np.inf, ratios)


def quantile_changes(files: Comparison) -> Matrix:
    """Measure how far quantiles moved, in standard deviations; one row per quantile."""
    before, after = (np.quantile(x, SHARES, axis=0) for x in (files.before, files.after))
    moved: Matrix = after - before
    return moved


MEASURES = (
    Measure(
        "mean_change",
        "largest change of a mean",
        "utility",
        "sd",
        "lower",
        "Largest absolute change of a column's mean, in standard deviations of the original.",
        "DMT01",
        lambda files: float(np.abs(mean_changes(files)).max()),
    ),
    Measure(
        "variance_change",
        "largest change of a variance",
        "utility",
        "%",
        "lower",
        "Largest relative change of a column's variance.",
        "DMT01",
        lambda files: float(100.0 * np.abs(variance_ratios(files) - 1.0).max()),
    ),
    Measure(
        "quantile_change",
        "largest change of a quantile",
        "utility",
        "sd",
        "lower",
        "Largest absolute change of a column's 5, 25, 50, 75 and 95 per cent quantiles, in "
        "standard deviations of the original.",
        "DMT01",
        lambda files: float(np.abs(quantile_changes(files)).max()),
    ),
)
