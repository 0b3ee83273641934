"""Which values can be published."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.rounding.centroids import MOST_STEPS, to_places
from algorithms.standardisation import Scale
from algorithms.types import Integers, Mask, Matrix


@dataclass(frozen=True, eq=False)
class Grid:
    """The standardised values that can be published.

    Attributes
    ----------
    origin : Matrix of shape (d,)
        For each attribute a value that can be published.
    step : Matrix of shape (d,)
        The distance to the next one; 0 where every value can be published.
    whole : Mask of shape (d,)
        Whether all records stand on the grid already, so that steps can be counted: attributes that
        are whole numbers and stay whole.
    """

    origin: Matrix
    step: Matrix
    whole: Mask

    @classmethod
    def join(cls, grids: Sequence["Grid"]) -> "Grid":
        """Put grids side by side."""
        return cls(
            np.concatenate([grid.origin for grid in grids]),
            np.concatenate([grid.step for grid in grids]),
            np.concatenate([grid.whole for grid in grids]),
        )

    def take(self, coordinates: Integers) -> "Grid":
        """Take some of the coordinates."""
        return Grid(self.origin[coordinates], self.step[coordinates], self.whole[coordinates])

    def steps_from_origin(self, x: Matrix) -> Integers:
        """Count the steps between the origin and records that stand on the grid."""
        return np.rint((x - self.origin) / self.step).astype(np.int64)


def grid_of(
    values: Matrix, scale: Scale, places: Sequence[int | None], whole: Sequence[bool]
) -> Grid:
    """Find the grid on which averages of the columns of ``values`` will be published.

    Parameters
    ----------
    values : Matrix of shape (n, d)
        Records in their own units.
    scale : Scale
        How they are standardised.
    places : sequence of int or None
        Decimals kept in each column; none if all are.
    whole : sequence of bool
        Whether each column is of whole numbers.

    Examples
    --------
    >>> grid_of(np.array([[3.0], [7.0]]), Scale(np.array([5.0]), np.array([2.0])), [0], [True])
    Grid(origin=array([-1.]), step=array([0.5]), whole=array([ True]))
    """
    origin = [
        value if kept is None else to_places(np.array([value]), kept)[0]
        for value, kept in zip(values[0], places, strict=True)
    ]
    # beyond that, steps cannot be counted one by one
    countable = np.ptp(values, axis=0) < MOST_STEPS
    step = np.array([0.0 if kept is None else 10.0**-kept for kept in places])
    return Grid(scale.apply(np.array(origin)), step / scale.deviation, np.array(whole) & countable)
