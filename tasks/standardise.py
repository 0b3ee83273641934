"""Standardises the key columns."""

from algorithms.table import Embedding, Table
from tasks.stage import stage


@stage(name="standardise")
def standardise(table: Table) -> Embedding:
    """Compute the standardised coordinates of all key columns; the table caches them."""
    return table.embedding
