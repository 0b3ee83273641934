"""Groups similar records."""

from algorithms.microaggregation import METHODS
from algorithms.microaggregation.best import refine
from algorithms.microaggregation.partition import partition
from algorithms.microaggregation.recut import recut
from algorithms.types import Order, Partition
from expectations.request.spec import Microaggregation
from tasks.listening import listener
from tasks.stage import stage
from tasks.standardise import Standardised


@stage(name="microaggregate")
def microaggregate(
    data: Standardised, spec: Microaggregation, paths: tuple[Order, ...] | None = None
) -> tuple[Partition, ...]:
    """Group the standardised records with the method the spec names.

    There is one partition per quasi-identifier: the same for all, unless each is grouped on its
    own.
    """
    pieces = data.pieces(spec.each_column)
    groups = tuple(
        _group(piece, spec, path)
        for piece, path in zip(pieces, paths or [None] * len(pieces), strict=True)
    )
    return groups if spec.each_column else groups * data.x.shape[1]


def _group(data: Standardised, spec: Microaggregation, path: Order | None) -> Partition:
    groups = partition(
        data.x,
        spec.k,
        METHODS[spec.method],
        order=path,
        grid=data.grid,
        watch=_tell,
        **spec.options,
    )
    if spec.recut:
        groups = recut(data.x, groups, data.grid)
    if spec.refine is not None:
        groups = refine(data.x, groups, data.grid, _tell, **spec.refine)
    return groups


def _tell(_made: int, share: float) -> None:
    listener().searched(share)
