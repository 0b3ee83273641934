"""Makes the table that would be published."""

import pandas as pd

from algorithms.rounding.centroids import integer_centroids, real_centroids
from algorithms.types import Partition
from expectations.spec import Columns
from tasks.stage import stage


@stage(name="round_integers")
def round_integers(frame: pd.DataFrame, partition: Partition, columns: Columns) -> pd.DataFrame:
    """Replace quasi-identifiers by their group's average, rounded once where they stay integer.

    Identifiers are left out, all other columns stay as they are; rows keep their order.
    """
    centroids = {
        name: integer_centroids(frame[name].to_numpy(), partition)
        if name in columns.integers
        else real_centroids(frame[name].to_numpy(), partition)
        for name in columns.quasi_identifiers
    }
    return frame[list(columns.published)].assign(**centroids)
