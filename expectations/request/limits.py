"""The limits of a gate in words, each with the worst value that its measure can take."""

import math
from collections.abc import Iterator

from algorithms.measures import MEASURES
from expectations.request.sections.gate import GateSection

LOSES_ALL = 100.0
"""IL, in per cent, of a file that gives every record the mean of each column."""


def limits_in_words(gate: GateSection, k: int) -> tuple[str, ...]:
    """Describe every limit of a gate, and every ceiling that a release still needs.

    Examples
    --------
    >>> gate = GateSection.model_validate({"ceilings": {"dld": 38.0}})
    >>> for limit in limits_in_words(gate, k=5):
    ...     print(limit)
    k at least 5
    DLD at most 38 % (never above 40 % with groups of at least 5)
    IL: no ceiling yet
    """
    return tuple(_sentences(gate, k))


def _sentences(gate: GateSection, k: int) -> Iterator[str]:
    yield f"k at least {k}"
    for words, limits in (("at most", gate.ceilings), ("at least", gate.floors)):
        for name, limit in limits.all.items():
            yield f"{MEASURES[name].title} {words} {_shown(name, limit)} ({_range(name, k)})"
    for name in gate.ceilings.missing:
        yield f"{MEASURES[name].title}: no ceiling yet"


def _shown(name: str, value: float) -> str:
    return f"{value:.4g} {MEASURES[name].unit}".strip()


def _range(name: str, k: int) -> str:
    """Tell how bad a measure can get, so that a reader sees whether its limit can refuse."""
    if name == "il":
        return f"no largest value; {LOSES_ALL:g} % is no better than publishing the mean"
    measure = MEASURES[name]
    worst = measure.worst_at(k)
    if math.isinf(worst):
        return "no largest value"
    side = "above" if measure.better == "lower" else "below"
    groups = f" with groups of at least {k}" if measure.over_k else ""
    return f"never {side} {_shown(name, worst)}{groups}"
