"""Puts the records on a path, for the methods that cut one."""

from algorithms.orderings import ORDERINGS
from algorithms.types import Matrix, Order
from expectations.spec import Microaggregation
from tasks.stage import stage


@stage(name="order")
def order(x: Matrix, spec: Microaggregation) -> Order | None:
    """Find the path that the spec names, if it names one."""
    if spec.ordering is None:
        return None
    return ORDERINGS[spec.ordering].path(x, spec.k, **spec.ordering_options)
