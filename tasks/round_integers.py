"""Computes the table that would be published."""

from algorithms import masking
from algorithms.masked import Grouping, Masked
from algorithms.table import Table
from tasks.stage import stage


@stage(name="round_integers")
def round_integers(table: Table, groupings: tuple[Grouping, ...]) -> Masked:
    """Replace key values by the averages of their groups, rounded for publication.

    All other columns are unchanged; rows keep their order.
    """
    return masking.represent(table, groupings)
