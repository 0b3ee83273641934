"""Groups similar records."""

from collections.abc import Sequence

from algorithms import masking
from algorithms.blocks.running import Run, in_order
from algorithms.history import History
from algorithms.masked import Grouping
from algorithms.masking import Plan
from algorithms.table import Table
from algorithms.types import Order
from tasks.listening import listener, report
from tasks.stage import stage


@stage(name="microaggregate")
def microaggregate(
    table: Table,
    plan: Plan,
    paths: Sequence[Order | None],
    history: History | None = None,
    run: Run = in_order,
    bound_rounds: int = 0,
) -> tuple[Grouping, ...]:
    """Group the records of each set with the method of the plan.

    Where a search is shown, it is shown against a lower bound, for which the spec grants
    ``bound_rounds``.
    """
    shown = bound_rounds if listener().shows_searches else None
    return masking.group(table, plan, paths, report, history, run=run, bound_rounds=shown)
