"""Measures what the table lost, and what an attacker could still link."""

import pandas as pd

from algorithms import evaluation
from algorithms.evaluation import Evaluation
from algorithms.types import Partition
from expectations.spec import Columns
from tasks.round_integers import unrounded
from tasks.stage import stage
from tasks.standardise import matrix_of


@stage(name="evaluate")
def evaluate(
    original: pd.DataFrame,
    masked: pd.DataFrame,
    partitions: tuple[Partition, ...],
    columns: Columns,
) -> Evaluation:
    """Compare the values that would be published, after rounding, with the original ones."""
    return evaluation.evaluate(
        matrix_of(original, columns),
        matrix_of(masked, columns),
        matrix_of(unrounded(original, partitions, columns), columns),
    )
