"""Measures what the table lost, and what an attacker could still link."""

import pandas as pd

from algorithms import evaluation
from algorithms.comparison import Comparison
from algorithms.evaluation import Evaluation
from algorithms.types import Partition
from expectations.codes import codes_of
from expectations.request.spec import ReleaseSpec
from tasks.round_integers import unrounded
from tasks.stage import stage
from tasks.standardise import matrix_of


@stage(name="evaluate")
def evaluate(
    original: pd.DataFrame,
    masked: pd.DataFrame,
    partitions: tuple[Partition, ...],
    spec: ReleaseSpec,
) -> Evaluation:
    """Compare the values that would be published, after rounding, with the original ones."""
    columns = spec.columns
    files = Comparison(
        original=matrix_of(original, columns),
        published=matrix_of(masked, columns),
        unrounded=matrix_of(unrounded(original, partitions, columns), columns),
        k=spec.microaggregation.k,
        confidential={name: codes_of(masked[name]) for name in columns.confidential},
        bound_rounds=spec.evaluation.bound_rounds,
        certify_seconds=spec.evaluation.certify_seconds,
    )
    return evaluation.evaluate(files)
