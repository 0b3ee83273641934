"""Changes of the relations between columns."""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Matrix


def correlations(x: Matrix) -> Matrix:
    """Correlate the columns of ``x``; a constant column has correlation 0 with all others."""
    centred = x - x.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(lengths == 0.0, 1.0, lengths)
    coefficients: Matrix = np.clip(scaled.T @ scaled, -1.0, 1.0)
    np.fill_diagonal(coefficients, 1.0)
    return coefficients


def correlation_changes(files: Comparison) -> Matrix | None:
    """Compute the absolute change of the correlation of each pair; None for a single column."""
    d = files.lines.size
    if d <= 1:
        return None
    before, after = on_lines(files)
    changes: Matrix = np.abs(correlations(after) - correlations(before))
    return changes[np.triu_indices(d, 1)]


def on_lines(files: Comparison) -> tuple[Matrix, Matrix]:
    """Give the coordinates of columns that have a number line, before and after."""
    if files.lines.size == files.before.shape[1]:
        return files.before, files.after
    before, after = (np.asfortranarray(x[:, files.lines]) for x in (files.before, files.after))
    return before, after


def spectrum_changes(files: Comparison) -> Matrix | None:
    """Compare the eigenvalues of the covariances, largest first, in per cent of all variance.

    Differences are divided by the sum of all eigenvalues, never by a single one: columns that
    depend on each other have eigenvalues of about zero, and their ratios are meaningless.
    """
    if not files.lines.size:
        return None
    before, after = (_spectrum(x) for x in on_lines(files))
    total = float(before.sum())
    changes: Matrix = 100.0 * np.abs(after - before) / (total or 1.0)
    return changes


def _spectrum(x: Matrix) -> Matrix:
    centred = x - x.mean(axis=0)
    values: Matrix = np.linalg.eigvalsh(centred.T @ centred / len(x))[::-1]
    return values


def _of(changes: Matrix | None, largest: bool) -> float | None:
    if changes is None:
        return None
    return float(changes.max() if largest else changes.mean())


MEASURES = (
    Measure(
        name="correlation_change",
        title="largest change of a correlation",
        kind="utility",
        unit="",
        better="lower",
        definition="Largest absolute change of the correlation between two columns.",
        paper="DMT01",
        run=lambda files: _of(correlation_changes(files), largest=True),
        most=2.0,
    ),
    Measure(
        name="correlation_change_mean",
        title="mean change of correlations",
        kind="utility",
        unit="",
        better="lower",
        definition=(
            "Absolute change of the correlation between two columns, averaged over all pairs."
        ),
        paper="DMT01",
        run=lambda files: _of(correlation_changes(files), largest=False),
        most=2.0,
    ),
    Measure(
        name="spectrum_change",
        title="largest change of the spectrum",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Largest absolute change of an eigenvalue of the covariance matrix, divided by the "
            "sum of all original eigenvalues."
        ),
        paper="DMT01",
        run=lambda files: _of(spectrum_changes(files), largest=True),
    ),
    Measure(
        name="spectrum_change_mean",
        title="mean change of the spectrum",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Absolute change of an eigenvalue of the covariance matrix, divided by the sum of all "
            "original eigenvalues, averaged over all eigenvalues."
        ),
        paper="DMT01",
        run=lambda files: _of(spectrum_changes(files), largest=False),
    ),
)
