"""Brings the quasi-identifiers to one scale."""

from dataclasses import dataclass

import pandas as pd

from algorithms.rounding.grid import Grid, grid_of
from algorithms.standardisation import scale_of
from algorithms.types import Matrix
from expectations.request.sections.columns import ColumnsSection
from tasks.stage import stage


@dataclass(frozen=True, eq=False)
class Standardised:
    """Records in standard deviations, and which such values can be published."""

    x: Matrix
    grid: Grid

    def pieces(self, each_column: bool) -> tuple["Standardised", ...]:
        """Take what is grouped together: all columns, or each on its own."""
        if not each_column:
            return (self,)
        return tuple(
            Standardised(self.x[:, [j]], self.grid.column(j)) for j in range(self.x.shape[1])
        )


@stage(name="standardise")
def standardise(frame: pd.DataFrame, columns: ColumnsSection) -> Standardised:
    """Express each quasi-identifier in standard deviations from its mean."""
    values = matrix_of(frame, columns)
    scale = scale_of(values)
    whole = [name in columns.integers for name in columns.quasi_identifiers]
    return Standardised(scale.apply(values), grid_of(values, scale, columns.places, whole))


def matrix_of(frame: pd.DataFrame, columns: ColumnsSection) -> Matrix:
    """Take the quasi-identifiers of a table as one matrix."""
    return frame[list(columns.quasi_identifiers)].to_numpy(dtype="float64")
