"""IL, information loss, and IL1s."""

import math
from dataclasses import dataclass

import numpy as np

from algorithms.comparison import Files
from algorithms.measure import Measure
from algorithms.types import Matrix


def sum_of_squares(x: Matrix, weights: Matrix | None = None) -> float:
    """Add up the squares of all entries, weighted by row if there are weights."""
    return float((x**2).sum() if weights is None else (weights * (x**2).sum(axis=1)).sum())


def information_loss(original: Matrix, published: Matrix) -> tuple[float, float, float]:
    """Measure the share of the variance that was lost.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original, whose mean is zero.

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
    sse, sst = sum_of_squares(original - published), sum_of_squares(original)
    return _share(sse, sst), sse, sst


def _share(sse: float, sst: float) -> float:
    if sst == 0.0:
        return 0.0 if sse == 0.0 else float("inf")
    return 100.0 * sse / sst


@dataclass(frozen=True, eq=False)
class Losses:
    """Sums over all records that are published, for each coordinate.

    Attributes
    ----------
    sse : Matrix of shape (d,)
        Squared differences between original and published values.
    unrounded : Matrix of shape (d,)
        Squared differences between original values and averages with all digits.
    sst : Matrix of shape (d,)
        Squared differences between original values and their mean.
    absolute : Matrix of shape (d,)
        Absolute differences between original and published values, without weights.
    """

    sse: Matrix
    unrounded: Matrix
    sst: Matrix
    absolute: Matrix


def losses(files: Files) -> Losses:
    """Add up what each coordinate loses, computed once."""
    return files.once(_added_up)


def _added_up(files: Files) -> Losses:
    sums = []
    for chunk in files.chunks():
        change = chunk.before - chunk.after
        squares = [
            each**2 for each in (change, chunk.before - chunk.averages, chunk.before - files.centre)
        ]
        if chunk.weights is None:
            own = [each.sum(axis=0) for each in squares]
        else:
            own = [(chunk.weights[:, np.newaxis] * each).sum(axis=0) for each in squares]
        sums.append([*own, np.abs(change).sum(axis=0)])
    return Losses(*np.array(sums).sum(axis=0))


def loss(files: Files) -> tuple[float, float, float]:
    """Give IL, SSE and SST of a masked file, with withheld records."""
    sums, withheld = losses(files), withheld_loss(files)
    sse, sst = float(sums.sse.sum()) + withheld, float(sums.sst.sum()) + withheld
    return _share(sse, sst), sse, sst


def rounding_loss(files: Files) -> float:
    """Measure the part of IL that is due to rounding the averages."""
    il, _, sst = loss(files)
    return il - _share(float(losses(files).unrounded.sum()) + withheld_loss(files), sst)


def withheld_loss(files: Files) -> float:
    """Add up the squared distances of withheld records from the mean."""
    withheld = files.withheld
    if withheld is None:
        return 0.0
    return sum_of_squares(withheld.embedding.x - files.centre, withheld.weights)


def column_losses(files: Files) -> list[float]:
    """Give the IL of each key column, in per cent; 0 for a column that does not vary."""
    sums = losses(files)
    pairs = [(float(sums.sse[each].sum()), float(sums.sst[each].sum())) for each in files.places]
    return [_share(sse, sst) if sst else 0.0 for sse, sst in pairs]


def mean_difference(files: Files) -> float | None:
    """Average the absolute differences of values on number lines; None if there is no line."""
    if not files.lines.size:
        return None
    total = float(losses(files).absolute[files.lines].sum())
    return total / (files.rows * files.lines.size) / math.sqrt(2.0)


def loss_over_fresh(files: Files) -> float | None:
    """Divide the loss by that of fresh groups of MDAV; None if these were not formed."""
    fresh = files.fresh_loss
    if fresh is None:
        return None
    own = float(losses(files).sse.sum())
    if fresh == 0.0:
        return 1.0 if own == 0.0 else float("inf")
    return own / fresh


MEASURES = (
    Measure(
        name="il",
        title="IL",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Information loss: 100 SSE / SST of the published values, weighted if records have "
            "weights. A withheld record counts as if the mean were published for it."
        ),
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
            "root of two times the standard deviation of the original, averaged over all values of "
            "columns that have a number line."
        ),
        paper="YWC02",
        run=mean_difference,
    ),
    Measure(
        name="il_over_fresh",
        title="IL over fresh groups",
        kind="utility",
        unit="times",
        better="lower",
        definition=(
            "IL divided by the IL of the groups that MDAV would form without regard to other "
            "releases: the price of groups that last over the releases of a series."
        ),
        paper="DMMS06",
        run=loss_over_fresh,
    ),
)
