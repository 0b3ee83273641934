"""Ordering by the first principal component."""

import numpy as np

from algorithms.orderings.ordering import Ordering
from algorithms.types import Matrix, Order


def pca(x: Matrix) -> Order:
    """Order the records by their first principal component; ties go to the lowest row.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.

    Returns
    -------
    Order of shape (n,)
        Row numbers along the path.

    Notes
    -----
    The direction in which records spread most [NHT08]_. It has no sign of its own: it is turned so
    that the attribute with the largest weight, the first if several tie, weighs positively.

    Examples
    --------
    >>> pca(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, 0.5]]))
    array([1, 2, 0])
    """
    centred = x - x.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    direction = directions[:, -1]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    return np.argsort((centred * direction).sum(axis=1), kind="stable")


ORDERING = Ordering(
    run=pca,
    summary="The path follows the direction in which the records differ most.",
    paper="NHT08",
)
