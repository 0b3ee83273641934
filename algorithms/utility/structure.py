"""Changes of the relations between columns."""

import numpy as np
from numpy.typing import NDArray

from algorithms.comparison import Chunk, Files
from algorithms.measure import Measure
from algorithms.types import Matrix


def covariances(files: Files) -> tuple[Matrix, Matrix]:
    """Give the covariances of columns that have a number line, before and after, computed once."""
    return files.once(_covariances)


def _covariances(files: Files) -> tuple[Matrix, Matrix]:
    d = files.lines.size
    first = _on_lines(files, next(files.chunks()))[:, :1]
    shifted, products = np.zeros((2, 1, d)), np.zeros((2, d, d))
    for chunk in files.chunks():
        shifted += (_on_lines(files, chunk) - first).sum(axis=1, keepdims=True)
    # differences are averaged, so that a constant column has a variance of exactly zero
    means = first + shifted / files.rows
    for chunk in files.chunks():
        centred = _on_lines(files, chunk) - means
        products += centred.transpose(0, 2, 1) @ centred
    before, after = products / files.rows
    return before, after


def _on_lines(files: Files, chunk: Chunk) -> NDArray[np.float64]:
    """Give the coordinates of a chunk on number lines, before and after."""
    return np.stack([chunk.before[:, files.lines], chunk.after[:, files.lines]])


def correlations(covariances: Matrix) -> Matrix:
    """Give correlations by covariances; a constant column has correlation 0 with all others.

    Examples
    --------
    >>> correlations(np.array([[4.0, 1.0], [1.0, 1.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    deviations = np.sqrt(np.diag(covariances))
    deviations = np.where(deviations == 0.0, 1.0, deviations)
    coefficients: Matrix = np.clip(covariances / deviations / deviations[:, np.newaxis], -1.0, 1.0)
    np.fill_diagonal(coefficients, 1.0)
    return coefficients


def correlation_changes(files: Files) -> Matrix | None:
    """Compute the absolute change of the correlation of each pair; None for a single column."""
    d = files.lines.size
    if d <= 1:
        return None
    before, after = map(correlations, covariances(files))
    changes: Matrix = np.abs(after - before)
    return changes[np.triu_indices(d, 1)]


def spectrum_changes(files: Files) -> Matrix | None:
    """Compare the eigenvalues of the covariances, largest first, in per cent of all variance.

    Differences are divided by the sum of all eigenvalues, never by a single one: columns that
    depend on each other have eigenvalues of about zero, and their ratios are meaningless.
    """
    if not files.lines.size:
        return None
    before, after = (np.linalg.eigvalsh(each)[::-1] for each in covariances(files))
    total = float(before.sum())
    changes: Matrix = 100.0 * np.abs(after - before) / (total or 1.0)
    return changes


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
