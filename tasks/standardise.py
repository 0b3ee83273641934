"""Brings the key columns to one scale."""

from algorithms.table import Embedding, Table
from tasks.stage import stage


@stage(name="standardise")
def standardise(table: Table) -> Embedding:
    """Embed each key column in coordinates of its own scale; the table keeps them."""
    return table.embedding
