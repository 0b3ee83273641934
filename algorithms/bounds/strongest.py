"""The strongest of all bounds that a budget allows."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from algorithms.bounds.column_generation import LARGEST_TABLE, group_bound
from algorithms.bounds.distances import stretched, weighted_bound
from algorithms.bounds.record_weights import record_weight_bound
from algorithms.bounds.semidefinite import semidefinite_bound
from algorithms.types import Labels, Mask, Matrix

WEIGHTED_ROUNDS, RECORD_WEIGHT_ROUNDS = 400, 100
"""Rounds of the bound by weighted distances, which take a small part of the time of the others, and
of that for records with weights, where more were not found to raise it by more than one or two per
cent."""

DEFAULT_ROUNDS = 100
"""Rounds of the semidefinite bound if only seconds are granted."""

REMEMBERED = 64
"""Semidefinite bounds that are remembered: a search, measures, a map and a report may ask for the
same one."""

LARGEST_SEMIDEFINITE = 200_000
"""Rows of the largest table with a semidefinite bound; it takes some 25 kB of memory per row."""

_remembered: OrderedDict[bytes, "Bound"] = OrderedDict()


@dataclass(frozen=True)
class Bound:
    """A lower bound on the loss of any partition into groups of at least k.

    Attributes
    ----------
    value : float
        No partition loses less.
    proof : str
        How it was proven, as the end of a sentence that starts with "Proven".
    """

    value: float
    proof: str


def strongest_bound(
    x: Matrix,
    k: int,
    *,
    rounds: int = 0,
    seconds: float = 0.0,
    start: Labels | None = None,
    one_label: Mask | None = None,
    weights: Matrix | None = None,
) -> Bound:
    """Prove the strongest lower bound that a budget allows.

    Parameters
    ----------
    x : Matrix of shape (n, d)
        Standardised records.
    k : int
        Least group size.
    rounds : int
        Most rounds of the semidefinite bound; the same number gives the same bound on any machine.
        With 0 rounds and no seconds, the bound is that of nearest neighbours.
    seconds : float
        Seconds spent on column generation, for tables of up to `LARGEST_TABLE` rows; 0 for none.
    start : Labels of shape (n,), optional
        Groups that column generation starts from.
    one_label : Mask of shape (d,), optional
        The coordinates of columns in which a group publishes one label.
    weights : Matrix of shape (n,), optional
        The weight of each record; only bounds by distances are proven for records with weights.
    """
    x = np.ascontiguousarray(x)
    labels = np.zeros(x.shape[1], dtype=bool) if one_label is None else one_label
    if seconds and not rounds:
        rounds = DEFAULT_ROUNDS
    proof = "by weighted distances" if rounds else "by nearest neighbours"
    if weights is not None:
        steps = RECORD_WEIGHT_ROUNDS if rounds else 0
        return Bound(record_weight_bound(x, weights, k, rounds=steps), proof)
    steps = WEIGHTED_ROUNDS if rounds else 0
    bounds = [Bound(weighted_bound(stretched(x, labels, k), k, rounds=steps), proof)]
    if rounds and len(x) <= LARGEST_SEMIDEFINITE:
        bounds.append(_semidefinite(x, k, rounds, labels))
    if seconds and start is not None and len(x) <= LARGEST_TABLE:
        found = group_bound(x, k, start, seconds)
        proof = f"by column generation with cuts, in {found.rounds} rounds"
        if found.optimal:
            known = max(found.value, *(bound.value for bound in bounds))
            return Bound(known, f"{proof}; a partition that loses no more is known")
        bounds.append(Bound(found.value, proof))
    return max(bounds, key=lambda bound: bound.value)


def _semidefinite(x: Matrix, k: int, rounds: int, one_label: Mask) -> Bound:
    """Prove the semidefinite bound, or remember it; of the records only a digest is kept."""
    digest = hashlib.sha256(repr((x.shape, k, rounds)).encode())
    digest.update(one_label.tobytes())
    digest.update(x.data)
    key = digest.digest()
    if key not in _remembered:
        value, done = semidefinite_bound(x, k, rounds=rounds, one_label=one_label)
        _remembered[key] = Bound(value, f"by a semidefinite programme, in {done} rounds")
    _remembered.move_to_end(key)
    while len(_remembered) > REMEMBERED:
        _remembered.popitem(last=False)
    return _remembered[key]
