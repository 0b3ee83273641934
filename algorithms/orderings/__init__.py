"""Paths through the records, for the methods that cut a path."""

from algorithms.orderings.ordering import Ordering
from algorithms.registry import Registry

ORDERINGS: Registry[Ordering] = Registry(
    __name__,
    "ordering",
    (
        "cbfs",
        "hilbert",
        "md",
        "mdav",
        "npn",
        "pca",
        "rank_sum",
        "sum_of_deviations",
        "tsp",
        "zscore",
    ),
)
