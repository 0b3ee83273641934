"""IL, information loss, and IL1s."""

import numpy as np

from algorithms.comparison import Comparison
from algorithms.measure import Measure
from algorithms.types import Matrix


def sum_of_squares(x: Matrix, weights: Matrix | None = None) -> float:
    """Add up the squares of all entries, weighted by row if there are weights."""
    return float((x**2).sum() if weights is None else (weights * (x**2).sum(axis=1)).sum())


def information_loss(
    original: Matrix,
    published: Matrix,
    centre: Matrix | None = None,
    weights: Matrix | None = None,
    withheld: float = 0.0,
) -> tuple[float, float, float]:
    """Measure the share of the variance that was lost.

    Parameters
    ----------
    original, published : Matrix of shape (n, d)
        The same records before and after, both on the scale of the original.
    centre : Matrix of shape (d,), optional
        The mean of the original; by default zero.
    weights : Matrix of shape (n,), optional
        Weight of each record.
    withheld : float
        Squared distances of records that are not published from the mean, which is all that is
        known of them.

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
    sse = sum_of_squares(original - published, weights) + withheld
    deviations = original if centre is None else original - centre
    sst = sum_of_squares(deviations, weights) + withheld
    if sst == 0.0:
        return (0.0 if sse == 0.0 else float("inf")), sse, sst
    return 100.0 * sse / sst, sse, sst


def rounding_loss(files: Comparison) -> float:
    """Measure the part of IL that is due to rounding the averages."""
    unrounded, _, _ = _compared(files, files.averages)
    return loss(files)[0] - unrounded


def loss(files: Comparison) -> tuple[float, float, float]:
    """Give IL, SSE and SST of a masked file, computed once."""
    return files.once(_measured)


def withheld_loss(files: Comparison) -> float:
    """Add up the squared distances of withheld records from the mean."""
    withheld = files.masked.withheld
    if withheld is None:
        return 0.0
    return sum_of_squares(withheld.embedding.x - _centre(files), withheld.weights)


def _measured(files: Comparison) -> tuple[float, float, float]:
    return _compared(files, files.after)


def _compared(files: Comparison, published: Matrix) -> tuple[float, float, float]:
    return information_loss(
        files.before, published, _centre(files), files.original.weights, withheld_loss(files)
    )


def _centre(files: Comparison) -> Matrix:
    """Give the mean of all records, withheld ones included."""
    weights, withheld = files.original.weights, files.masked.withheld
    if weights is None:
        return files.original.embedding.centre
    x = files.before
    if withheld is not None and withheld.weights is not None:
        x = np.concatenate([x, withheld.embedding.x])
        weights = np.concatenate([weights, withheld.weights])
    centre: Matrix = (weights[:, np.newaxis] * x).sum(axis=0) / weights.sum()
    return centre


def column_losses(files: Comparison) -> list[float]:
    """Give the IL of each key column, in per cent; 0 for a column that does not vary."""
    losses = []
    for place in files.original.embedding.places:
        il, _, sst = information_loss(
            files.before[:, place],
            files.after[:, place],
            _centre(files)[place],
            files.original.weights,
        )
        losses.append(il if sst else 0.0)
    return losses


def mean_difference(files: Comparison) -> float | None:
    """Average the absolute differences of values on number lines; None if there is no line."""
    if not files.lines.size:
        return None
    if files.lines.size == files.before.shape[1]:
        return float(np.abs(files.before - files.after).mean() / np.sqrt(2.0))
    changes = files.before[:, files.lines] - files.after[:, files.lines]
    return float(np.abs(changes).mean() / np.sqrt(2.0))


def loss_over_fresh(files: Comparison) -> float | None:
    """Divide the loss by that of fresh groups of MDAV; None if these were not formed."""
    fresh = files.masked.groupings[0].fresh_loss
    if fresh is None:
        return None
    own = sum_of_squares(files.before - files.after, files.original.weights)
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
