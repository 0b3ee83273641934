"""Puts the records on a path, for the methods that cut one."""

from algorithms import masking
from algorithms.masking import Plan
from algorithms.table import Table
from algorithms.types import Order
from tasks.stage import stage


@stage(name="order")
def order(table: Table, plan: Plan) -> tuple[Order | None, ...]:
    """Find the path that the plan names through each block, if it names one."""
    return masking.paths(table, plan)
