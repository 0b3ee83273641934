"""IL, information loss, and IL1s."""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Matrix


def sum_of_squares(x: Matrix) -> float:
    """Add up the squares of all entries."""
    return float((x**2).sum())


def information_loss(original: Matrix, published: Matrix) -> tuple[float, float, float]:
    """Measure the share of the variance that was lost.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original (zero mean).

    Returns
    -------
    il : float
        100 SSE / SST, in per cent [DM02]_. If no column varies: 0 if no value changed, and
        infinite otherwise.
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
    """Measure the part of IL that is due to rounding the averages."""
    unrounded, _, _ = information_loss(files.before, files.averages)
    return loss(files)[0] - unrounded


def loss(files: Comparison) -> tuple[float, float, float]:
    """Give IL, SSE and SST of a masked file, computed once."""
    return files.once(_measured)


def _measured(files: Comparison) -> tuple[float, float, float]:
    return information_loss(files.before, files.after)


MEASURES = (
    Measure(
        name="il",
        title="IL",
        kind="utility",
        unit="%",
        better="lower",
        definition="Information loss: 100 SSE / SST of the published values.",
        paper="DM02",
        run=lambda files: loss(files)[0],
    ),
    Measure(
        name="rounding",
        title="IL by rounding",
        kind="utility",
        unit="%",
        better="lower",
        definition="Part of IL that is due to rounding the averages.",
        paper="MOR20",
        run=rounding_loss,
    ),
    Measure(
        name="sse",
        title="SSE",
        kind="utility",
        unit="",
        better="lower",
        definition=(
            "Sum of squared differences between original and published values, standardised."
        ),
        paper="DM02",
        run=lambda files: loss(files)[1],
    ),
    Measure(
        name="sst",
        title="SST",
        kind="utility",
        unit="",
        better="lower",
        definition=(
            "Sum of squared differences between original values and their mean, standardised."
        ),
        paper="DM02",
        run=lambda files: loss(files)[2],
    ),
    Measure(
        name="il1s",
        title="IL1s",
        kind="utility",
        unit="",
        better="lower",
        definition=(
            "Absolute difference between original and published values, divided by the square "
            "root of two times the standard deviation of the original, averaged over all values."
        ),
        paper="YWC02",
        run=lambda files: float(np.abs(files.before - files.after).mean() / np.sqrt(2.0)),
    ),
)
