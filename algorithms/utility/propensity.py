"""pMSE, how well a model distinguishes published from original records."""

import numpy as np

from algorithms.measure import Measure
from algorithms.types import Integers, Matrix

ROUNDS = 25
SHRINKAGE = 1e-6
"""Keeps the model defined where columns depend on each other or separate the files."""

CLOSE_ENOUGH = 1e-12
"""Gain per record below which the fit ends; pMSE is of the order of its squared error."""

LARGEST_SCORE = 30.0


def propensity_error(original: Matrix, published: Matrix, squared: Integers | None = None) -> float:
    """Measure how well a logistic model distinguishes published from original records.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original.
    squared : Integers, optional
        Columns whose squares the model uses as well; by default all. The square of a column of
        zeros and ones adds nothing.

    Returns
    -------
    float
        Mean squared difference between the predicted share of published records and one half:
        0 if the model cannot distinguish them, 0.25 if it always can [WRK09]_.

    Notes
    -----
    The model uses columns and their squares, because averaging keeps means and reduces
    variances. It is fitted by Newton's method, with a little shrinkage.

    Examples
    --------
    >>> x = np.array([[-1.0], [0.0], [1.0]])
    >>> propensity_error(x, x)
    0.0
    """
    both = np.concatenate([original, published])
    squares = both**2 if squared is None else both[:, squared] ** 2
    design = np.column_stack([np.ones(len(both)), both, squares])
    design /= np.maximum(np.abs(design).max(axis=0), 1e-300)
    is_published = np.repeat([0.0, 1.0], len(original))
    weights = np.zeros(design.shape[1])
    shrinkage = SHRINKAGE * len(both) * np.eye(design.shape[1])
    for _ in range(ROUNDS):
        chance = _chance(design @ weights)
        gradient = design.T @ (is_published - chance) - shrinkage @ weights
        spread = chance * (1.0 - chance)
        step = np.linalg.solve((design * spread[:, np.newaxis]).T @ design + shrinkage, gradient)
        weights += step
        if gradient @ step < CLOSE_ENOUGH * len(both):
            break
    return float(((_chance(design @ weights) - 0.5) ** 2).mean())


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
        run=lambda files: propensity_error(files.before, files.after, files.lines),
        most=0.25,
    ),
)
