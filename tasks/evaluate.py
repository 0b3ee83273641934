"""Measures the information loss and the remaining disclosure risk."""

from collections.abc import Collection

from algorithms import evaluation
from algorithms.comparison import Comparison
from algorithms.evaluation import Evaluation
from algorithms.history import History
from algorithms.masked import Masked
from expectations.request.spec import ReleaseSpec
from tasks.stage import stage


@stage(name="evaluate")
def evaluate(
    masked: Masked,
    spec: ReleaseSpec,
    measures: Collection[str] | None = None,
    history: History | None = None,
) -> Evaluation:
    """Compare the rounded values that would be published with the originals."""
    files = Comparison(masked, history)
    options = spec.evaluation.model_dump()
    if spec.series is not None:
        options["stable"] = spec.series.stable
    return evaluation.evaluate(files, measures, options)
