"""Orders the records along a path, for methods that cut a path."""

from algorithms import masking
from algorithms.masking import Plan
from algorithms.table import Table
from algorithms.types import Order
from tasks.stage import stage


@stage(name="order")
def order(table: Table, plan: Plan) -> tuple[Order | None, ...]:
    """Compute the path through each block, if the plan names an ordering."""
    return masking.paths(table, plan)
