"""Standardises the key columns, and deals with small strata."""

from algorithms.masking import Plan, standardised
from algorithms.strata import Settled, settle
from algorithms.table import Table
from tasks.stage import stage


@stage(name="standardise")
def standardise(table: Table, plan: Plan) -> Settled:
    """Compute the coordinates of all key columns, which the table caches; then settle strata."""
    table = standardised(table, plan)
    _ = table.embedding
    return settle(table, plan.k, plan.small_strata)
