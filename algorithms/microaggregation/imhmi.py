"""IMHMI, the improved method of Hansen and Mukherjee for integers."""

from typing import Literal

import numpy as np

from algorithms.cutting import by_row, cut_published, cut_whole
from algorithms.microaggregation.method import Method
from algorithms.rounding.centroids import to_places
from algorithms.rounding.grid import Grid
from algorithms.types import Integers, Labels, Matrix, Order

PAPER_SCALE = 100


def imhmi(
    x: Matrix,
    k: int,
    path: Order,
    grid: Grid | None = None,
    *,
    mode: Literal["release", "paper"] = "release",
) -> Labels:
    """Cut a path through the records so that what will be published loses least.

    As MHM, but a group costs what its *rounded* average loses, so that rounding is part of the
    choice and not an afterthought [MOR20]_.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Smallest group allowed, ``1 <= k <= n``.
    path : Order of shape (n,)
        Row numbers along the path.
    grid : Grid, optional
        The values that can be published. Each attribute weighs as much as its standardisation
        makes it; without a grid nothing is rounded, and this is MHM.
    mode : {"release", "paper"}
        Whether averages are rounded as they will be published or, as in the paper's experiments,
        to hundredths of a standard deviation, whatever will be published; records are rounded to
        those first.

    Returns
    -------
    Labels of shape (n,)
        Group of each row.

    Notes
    -----
    Time O(k n d), memory O(n d). Deterministic; of cuts that lose the same, the one whose last
    groups are larger. One column of whole numbers, and the paper's mode, are cut exactly. Departs
    from [MOR20]_ where its Algorithm 1 is wrong: line 16 takes the centroid of the wrong group.

    Examples
    --------
    >>> column = np.array([[1.0], [2], [2], [3], [4], [4], [6], [6], [8], [10]])
    >>> imhmi(column, 3, np.arange(10))
    array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    >>> imhmi(column, 3, np.arange(10), Grid(np.zeros(1), np.ones(1), whole=np.array([True])))
    array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    """
    if mode == "paper":
        return by_row(cut_whole(paper_units(x[path]), k)[0], path)
    return by_row(cut_published(x[path], k, grid), path)


def paper_units(x: Matrix) -> Integers:
    """Express standardised records in whole hundredths, halves away from zero."""
    return to_places(PAPER_SCALE * x, 0).astype(np.int64)


METHOD = Method(
    run=imhmi,
    summary=(
        "Records are put on a path on which neighbours are alike. The path is cut into groups "
        "so that as little information as possible is lost, including the loss from rounding the "
        "averages."
    ),
    paper="MOR20",
)
