"""Groups similar records."""

from algorithms.microaggregation import METHODS
from algorithms.microaggregation.partition import partition
from algorithms.types import Matrix, Order, Partition
from expectations.spec import Microaggregation
from tasks.stage import stage


@stage(name="microaggregate")
def microaggregate(x: Matrix, spec: Microaggregation, path: Order | None = None) -> Partition:
    """Group the standardised records with the method the spec names."""
    return partition(x, spec.k, METHODS[spec.method], order=path, **spec.options)
