"""Makes the table that would be published."""

import pandas as pd

from algorithms.rounding.centroids import decimal_centroids, integer_centroids, real_centroids
from algorithms.types import Partition
from expectations.request.sections.columns import ColumnsSection
from tasks.stage import stage


@stage(name="round_integers")
def round_integers(
    frame: pd.DataFrame, partitions: tuple[Partition, ...], columns: ColumnsSection
) -> pd.DataFrame:
    """Replace quasi-identifiers by their group's average, rounded once as it will be published.

    Identifiers are left out, all other columns stay as they are; rows keep their order.
    """
    published = frame[list(columns.published)].copy()
    for name, groups in zip(columns.quasi_identifiers, partitions, strict=True):
        values = frame[name].to_numpy()
        if name in columns.integers:
            published[name] = integer_centroids(values, groups)
        elif name in columns.decimals:
            published[name] = decimal_centroids(values, groups, columns.decimals[name])
        else:
            published[name] = real_centroids(values, groups)
    return published


def unrounded(
    frame: pd.DataFrame, partitions: tuple[Partition, ...], columns: ColumnsSection
) -> pd.DataFrame:
    """Average the quasi-identifiers over their groups, with all digits."""
    return pd.DataFrame(
        {
            name: real_centroids(frame[name].to_numpy(dtype="float64"), groups)
            for name, groups in zip(columns.quasi_identifiers, partitions, strict=True)
        },
        index=frame.index,
    )
