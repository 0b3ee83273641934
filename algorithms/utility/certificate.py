"""A proven lower bound of the information loss of any method."""

import math
from typing import Annotated

import numpy as np
from annotated_types import Ge

from algorithms.bounds.strongest import Bound, strongest_bound
from algorithms.comparison import Comparison, Files
from algorithms.measure import Certified, Measure, Omitted
from algorithms.types import Labels, Order
from algorithms.utility.il import loss, withheld_loss

Rounds = Annotated[int, Ge(0)]
Seconds = Annotated[float, Ge(0)]


def least_loss(
    files: Files, *, bound_rounds: Rounds = 0, certify_seconds: Seconds = 0.0
) -> float | Certified | Omitted | None:
    """Compute a lower bound of IL over all partitions into groups of at least k, in per cent.

    Groups never cross strata, so each stratum has a bound of its own. Where a group publishes one
    label, the bound is stronger: see `stretched`. Records with weights have a bound of their own,
    see `record_weight_bound`.

    Parameters
    ----------
    files : Files
        Records before and after.
    bound_rounds : int
        Most rounds spent on a semidefinite bound; 0 for the plain one.
    certify_seconds : float
        Seconds spent on column generation besides; 0 for none.
    """
    _, _, sst = loss(files)
    if sst == 0.0:
        return None
    proof = ""
    bound: float | Omitted
    if isinstance(files, Comparison) and (bound_rounds or certify_seconds):
        bound, proof = files.once(_bound, bound_rounds, certify_seconds)
    else:
        bound = files.once(_plain_bound)
        if isinstance(bound, Omitted):
            return bound
        if bound_rounds or certify_seconds:
            proof = "by nearest neighbours; stronger bounds need all records in memory"
    least = 100.0 * (bound + withheld_loss(files)) / sst
    return Certified(least, proof) if proof else least


def _plain_bound(files: Files) -> float | Omitted:
    return files.neighbour_bound(files.k)


def _bound(files: Comparison, rounds: int, seconds: float) -> tuple[float, str]:
    """Prove the bound that the spec grants rounds or time for, and describe the proof."""
    blocks = files.original.blocks
    if blocks is None:
        bound = _block_bound(files, slice(None), files.classes, rounds, seconds)
        return bound.value, bound.proof
    bounds = []
    for block in range(int(blocks.max()) + 1):
        rows = np.flatnonzero(blocks == block)
        classes = np.unique(files.classes[rows], return_inverse=True)[1]
        own = seconds * len(rows) / len(blocks)
        bounds.append(_block_bound(files, rows, classes, rounds, own))
    methods = sorted({bound.proof.split(",")[0] for bound in bounds})
    total = math.fsum(bound.value for bound in bounds)
    return total, f"{' or '.join(methods)}, in each of {len(bounds)} strata"


def _block_bound(
    files: Comparison, rows: Order | slice, classes: Labels, rounds: int, seconds: float
) -> Bound:
    weights = files.original.weights
    return strongest_bound(
        files.before[rows],
        files.k,
        rounds=rounds,
        seconds=seconds,
        start=classes,
        one_label=files.original.embedding.one_label,
        weights=None if weights is None else weights[rows],
    )


def loss_over_bound(
    files: Files, *, bound_rounds: Rounds = 0, certify_seconds: Seconds = 0.0
) -> float | None:
    """Divide IL by its lower bound."""
    least = least_loss(files, bound_rounds=bound_rounds, certify_seconds=certify_seconds)
    if isinstance(least, Omitted):
        return None
    bound = least.value if isinstance(least, Certified) else least
    il, _, _ = loss(files)
    return il / bound if bound else None


MEASURES = (
    Measure(
        name="il_bound",
        title="lower bound of IL",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Proven: no partition into groups of at least k records loses less. By default, the "
            "sum over all records of the squared distances to the k - 1 nearest other records, "
            "divided by 2k and by SST; a stronger bound if the spec grants rounds or seconds for "
            "it. Groups stay within strata, labels count as they are published, and pairs of "
            "records with weights count by both."
        ),
        paper="LM09",
        run=least_loss,
        most=200.0,
    ),
    Measure(
        name="il_over_bound",
        title="IL over its lower bound",
        kind="utility",
        unit="times",
        better="lower",
        definition=(
            "IL divided by its proven lower bound. The optimum is smaller than IL by at most this "
            "factor."
        ),
        paper="LM09",
        run=loss_over_bound,
        least=1.0,
    ),
)
