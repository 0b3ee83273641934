"""Bounds IL from below for several k: the curve that no method can go below."""

from collections.abc import Iterable, Mapping

from algorithms.bounds.strongest import DEFAULT_ROUNDS
from algorithms.masking import standardised
from algorithms.table import Table
from algorithms.utility.bound_curve import BoundCurve, bound_curve
from expectations.request.spec import ReleaseSpec
from tasks.stage import stage


@stage(name="bound")
def bound(
    table: Table | None, spec: ReleaseSpec, ks: Iterable[int], known: Mapping[int, float]
) -> BoundCurve:
    """Prove the least possible IL for each k, with the rounds of the spec.

    Seconds are not spent on a curve, so that it is the same on every machine; if the spec grants
    seconds only, there are some rounds in their place.

    Parameters
    ----------
    table : Table, optional
        The checked records; None if they are not in memory.
    spec : ReleaseSpec
        The spec.
    ks : iterable of int
        Values of k.
    known : mapping of int to float
        Bounds that were proven already, by k.
    """
    if table is None:
        return BoundCurve(note="the table is not held in memory")
    how = spec.microaggregation
    if how.each_column and len(table.attributes) > 1:
        return BoundCurve(note="each column is grouped on its own")
    asked = spec.evaluation
    rounds = asked.bound_rounds or (DEFAULT_ROUNDS if asked.certify_seconds else 0)
    exact = standardised(table, spec.plan)
    return bound_curve(exact, ks, how.small_strata, rounds=rounds, known=known)
