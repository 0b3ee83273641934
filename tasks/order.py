"""Puts the records on a path, for the methods that cut one."""

from algorithms.orderings import ORDERINGS
from algorithms.types import Order
from expectations.request.sections.microaggregation import MicroaggregationSection
from tasks.stage import stage
from tasks.standardise import Standardised


@stage(name="order")
def order(data: Standardised, spec: MicroaggregationSection) -> tuple[Order, ...] | None:
    """Find the path that the spec names, if it names one; one for all that is grouped together."""
    if spec.ordering is None:
        return None
    ordering = ORDERINGS[spec.ordering]
    return tuple(
        ordering.path(piece.x, spec.k, **spec.ordering_options)
        for piece in data.pieces(spec.each_column)
    )
