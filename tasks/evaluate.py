"""Measures what the table lost, and what an attacker could still link."""

from collections.abc import Collection

from algorithms import evaluation
from algorithms.comparison import Comparison
from algorithms.evaluation import Evaluation
from algorithms.masked import Masked
from expectations.request.spec import ReleaseSpec
from tasks.stage import stage


@stage(name="evaluate")
def evaluate(
    masked: Masked, spec: ReleaseSpec, measures: Collection[str] | None = None
) -> Evaluation:
    """Compare the values that would be published, after rounding, with the original ones."""
    files = Comparison(masked.original, masked)
    return evaluation.evaluate(files, measures, spec.evaluation.model_dump())
