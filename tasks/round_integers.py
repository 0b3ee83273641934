"""Computes the table that would be published."""

from algorithms import masking
from algorithms.masked import Grouping, Masked
from algorithms.masking import Plan
from algorithms.strata import Settled
from tasks.stage import stage


@stage(name="round_integers")
def round_integers(settled: Settled, plan: Plan, groupings: tuple[Grouping, ...]) -> Masked:
    """Replace key values by the averages of their groups, as they can be published.

    All other columns are unchanged; rows keep their order.
    """
    return masking.represent(settled, plan, groupings)
