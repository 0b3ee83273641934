"""The grid of values that can be published."""

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
        One publishable value of each attribute.
    step : Matrix of shape (d,)
        Distance to the next publishable value; 0 if every value can be published.
    whole : Mask of shape (d,)
        Whether all records lie on the grid, so that steps can be counted: attributes that are whole
        numbers and stay whole.
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
        """Select coordinates."""
        return Grid(self.origin[coordinates], self.step[coordinates], self.whole[coordinates])

    def steps_from_origin(self, x: Matrix) -> Integers:
        """Count the steps between the origin and records that lie on the grid."""
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
        Number of decimals that each column is rounded to; None for all digits.
    whole : sequence of bool
        Whether each column holds whole numbers.

    Examples
    --------
    >>> grid_of(np.array([[3.0], [7.0]]), Scale(np.array([5.0]), np.array([2.0])), [0], [True])
    Grid(origin=array([-1.]), step=array([0.5]), whole=array([ True]))
    """
    origin = [
        value if decimals is None else to_places(np.array([value]), decimals)[0]
        for value, decimals in zip(values[0], places, strict=True)
    ]
    # over a wider range, steps cannot be counted one by one
    countable = np.ptp(values, axis=0) < MOST_STEPS
    step = np.array([0.0 if decimals is None else 10.0**-decimals for decimals in places])
    return Grid(scale.apply(np.array(origin)), step / scale.deviation, np.array(whole) & countable)
