"""The pipeline from a checked table to its measures, for releases, explorations and tests."""

from collections.abc import Callable, Collection
from typing import Any

from algorithms.blocks.running import Run, in_order
from algorithms.comparison import Comparison
from algorithms.evaluation import Evaluation
from algorithms.history import History
from algorithms.masked import Masked
from algorithms.strata import Settled
from algorithms.table import Table
from expectations.request.spec import ReleaseSpec
from tasks.evaluate import evaluate
from tasks.microaggregate import microaggregate
from tasks.order import order
from tasks.round_integers import round_integers
from tasks.standardise import standardise

Call = Callable[..., Any]
"""Calls a stage with its arguments."""


def as_task(stage: Any, *arguments: Any) -> Any:
    """Call a stage as a Prefect task, inside a flow."""
    return stage(*arguments)


def plainly(stage: Any, *arguments: Any) -> Any:
    """Call a stage as a function, where no flow runs."""
    return stage.fn(*arguments)


def mask_and_measure(
    table: Table,
    spec: ReleaseSpec,
    call: Call,
    measures: Collection[str] | None = None,
    history: History | None = None,
    run: Run = in_order,
) -> tuple[Comparison, Evaluation]:
    """Mask a table by its spec, and measure the result.

    Parameters
    ----------
    table : Table
        Records that satisfy the input suites.
    spec : ReleaseSpec
        The spec of the release.
    call : callable
        How stages are called: `as_task` or `plainly`.
    measures : collection of str, optional
        Measures to compute; by default all that apply.
    history : History, optional
        The earlier releases of the series.
    run : Run
        How functions are run on the blocks of a large table; it changes no result.

    Returns
    -------
    files : Comparison
        The table before and after; ``files.masked`` is the masked table.
    evaluation : Evaluation
        Its measures.
    """
    plan = spec.plan
    settled: Settled = call(standardise, table, plan)
    paths = call(order, settled.table, plan)
    rounds = spec.evaluation.bound_rounds
    groupings = call(microaggregate, settled.table, plan, paths, history, run, rounds)
    masked: Masked = call(round_integers, settled, plan, groupings)
    files = Comparison(masked, history)
    evaluation: Evaluation = call(evaluate, files, spec, measures)
    return files, evaluation
