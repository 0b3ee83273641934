"""Makes the table that would be published."""

from algorithms import masking
from algorithms.masked import Grouping, Masked
from algorithms.table import Table
from tasks.stage import stage


@stage(name="round_integers")
def round_integers(table: Table, groupings: tuple[Grouping, ...]) -> Masked:
    """Represent each group once: averages are rounded as they will be published.

    All other columns stay as they are; rows keep their order.
    """
    return masking.represent(table, groupings)
