"""Measures the information loss and the remaining disclosure risk."""

from collections.abc import Collection

from algorithms import evaluation
from algorithms.comparison import Files
from algorithms.evaluation import Evaluation
from algorithms.types import Watch
from expectations.request.spec import ReleaseSpec
from tasks.stage import stage


@stage(name="evaluate")
def evaluate(
    files: Files,
    spec: ReleaseSpec,
    measures: Collection[str] | None = None,
    watch: Watch | None = None,
) -> Evaluation:
    """Compare the rounded values that would be published with the originals."""
    options = spec.evaluation.model_dump()
    if spec.series is not None:
        options["stable"] = spec.series.stable
    return evaluation.evaluate(files, measures, options, watch)
