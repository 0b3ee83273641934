"""pMSE, how well a model distinguishes published from original records."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from algorithms.comparison import Files
from algorithms.measure import Measure
from algorithms.types import Matrix

ROUNDS = 25
SHRINKAGE = 1e-6
"""Keeps the model defined where columns depend on each other or separate the files."""

CLOSE_ENOUGH = 1e-12
"""Gain per record below which the fit ends; pMSE is of the order of its squared error."""

LARGEST_SCORE = 30.0


def propensity_error(files: Files) -> float:
    """Measure how well a logistic model distinguishes published from original records.

    Returns
    -------
    float
        Mean squared difference between the predicted share of published records and one half:
        0 if the model cannot distinguish them, 0.25 if it always can [WRK09]_.

    Notes
    -----
    The model uses columns and their squares, because averaging keeps means and reduces
    variances; the square of a column of zeros and ones would add nothing. It is fitted by Newton's
    method, with a little shrinkage, and in each round reads the records chunk by chunk.

    Examples
    --------
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> propensity_error(compare([x], [x], k=1))
    0.0
    """
    model = _Model.of(files)
    columns = model.largest.size
    weights = np.zeros(columns)
    shrinkage = SHRINKAGE * 2 * files.rows * np.eye(columns)
    for _ in range(ROUNDS):
        gradient, curvature = -(shrinkage @ weights), shrinkage.copy()
        for design, published in model.designs(files):
            chance = _chance(design @ weights)
            gradient += design.T @ (published - chance)
            curvature += (design * (chance * (1.0 - chance))[:, np.newaxis]).T @ design
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if gradient @ step < CLOSE_ENOUGH * 2 * files.rows:
            break
    errors = [
        float(((_chance(design @ weights) - 0.5) ** 2).sum()) for design, _ in model.designs(files)
    ]
    return sum(errors) / (2 * files.rows)


@dataclass(frozen=True, eq=False)
class _Model:
    """The columns of the model, each divided by its largest absolute value."""

    largest: Matrix

    @classmethod
    def of(cls, files: Files) -> "_Model":
        unscaled = cls(np.ones(1))
        highest = [np.abs(design).max(axis=0) for design, _ in unscaled.designs(files)]
        return cls(np.maximum(np.max(highest, axis=0), 1e-300))

    def designs(self, files: Files) -> Iterator[tuple[Matrix, float]]:
        """Give the model's columns for some records, and 1 if these are published, 0 if not."""
        for chunk in files.chunks():
            for published, x in enumerate((chunk.before, chunk.after)):
                design = np.column_stack([np.ones(len(x)), x, x[:, files.lines] ** 2])
                yield design / self.largest, float(published)


def _chance(score: Matrix) -> Matrix:
    bounded: Matrix = 1.0 / (1.0 + np.exp(-np.clip(score, -LARGEST_SCORE, LARGEST_SCORE)))
    return bounded


MEASURES = (
    Measure(
        name="pmse",
        title="pMSE",
        kind="utility",
        unit="",
        better="lower",
        definition=(
            "How well a logistic model with squares distinguishes published from original "
            "records: 0 means not at all, 0.25 always."
        ),
        paper="WRK09",
        run=propensity_error,
        most=0.25,
    ),
)
