"""IL, information loss, and IL1s."""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Matrix


def sum_of_squares(x: Matrix) -> float:
    """Add up the squares of all entries."""
    return float((x**2).sum())


def information_loss(original: Matrix, published: Matrix) -> tuple[float, float, float]:
    """Measure how much of the variance was lost.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original (zero mean).

    Returns
    -------
    il : float
        100 SSE / SST, in per cent [DM02]_; 0 where nothing varies and nothing changed, and
        infinite where nothing varies and yet something changed.
    sse : float
        Sum of squared differences between original and published values.
    sst : float
        Sum of squared differences between original values and their mean.

    Examples
    --------
    >>> information_loss(np.array([[-1.0], [1.0]]), np.array([[0.0], [0.0]]))
    (100.0, 2.0, 2.0)
    """
    sse = sum_of_squares(original - published)
    sst = sum_of_squares(original)
    if sst == 0.0:
        return (0.0 if sse == 0.0 else float("inf")), sse, sst
    return 100.0 * sse / sst, sse, sst


def rounding_loss(files: Comparison) -> float:
    """Measure the part of IL that is due to rounding averages."""
    unrounded = information_loss(files.before, files.scale.apply(files.unrounded))[0]
    return _loss(files)[0] - unrounded


def _loss(files: Comparison) -> tuple[float, float, float]:
    return files.once(information_loss, files.before, files.after)


MEASURES = (
    Measure(
        "il",
        "IL",
        "utility",
        "%",
        "lower",
        "Information loss: 100 SSE / SST of the published values.",
        "DM02",
        lambda files: _loss(files)[0],
    ),
    Measure(
        "rounding",
        "IL by rounding",
        "utility",
        "%",
        "lower",
        "The part of IL that is due to rounding averages alone.",
        "MOR20",
        rounding_loss,
    ),
    Measure(
        "sse",
        "SSE",
        "utility",
        "",
        "lower",
        "Sum of squared differences between original and published values, standardised.",
        "DM02",
        lambda files: _loss(files)[1],
    ),
    Measure(
        "sst",
        "SST",
        "utility",
        "",
        "lower",
        "Sum of squared differences between original values and their mean, standardised.",
        "DM02",
        lambda files: _loss(files)[2],
    ),
    Measure(
        "il1s",
        "IL1s",
        "utility",
        "",
        "lower",
        "Absolute difference between original and published values over the square root of two "
        "times the standard deviation of the original, averaged over all values.",
        "YWC02",
        lambda files: float(np.abs(files.before - files.after).mean() / np.sqrt(2.0)),
    ),
)
