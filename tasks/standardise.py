"""Brings the quasi-identifiers to one scale."""

import pandas as pd

from algorithms import standardisation
from algorithms.types import Matrix
from expectations.spec import Columns
from tasks.stage import stage


@stage(name="standardise")
def standardise(frame: pd.DataFrame, columns: Columns) -> Matrix:
    """Express each quasi-identifier in standard deviations from its mean."""
    return standardisation.standardise(matrix_of(frame, columns))


def matrix_of(frame: pd.DataFrame, columns: Columns) -> Matrix:
    """Take the quasi-identifiers of a table as one matrix."""
    return frame[list(columns.quasi_identifiers)].to_numpy(dtype="float64")
