"""Changes of k and of limits from period to period, and against the reviewed spec."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from algorithms.measures import MEASURES
from expectations.request.named import Change
from tasks.store.history import NO_LIMIT, Past

PREVIOUS, REVIEWED = "the previous period", "the reviewed spec"
K = "k"

CAPTION = (
    "Each measure period by period. Dashed steps show its limit; hollow markers show attempts that "
    "were not published; r1, r2 and so on mark revisions. A vertical mark shows where k or the "
    "limit changed; “by the run” means that it differs from the reviewed spec."
)
"""What a reader must know of the pictures that mark changes."""


@dataclass(frozen=True)
class Shift:
    """A k or a limit that differs from the one before, or from the reviewed one.

    Attributes
    ----------
    past : Past
        The attempt in which it changed.
    measure : str
        Name of the measure; ``k`` for k itself.
    before, after : float
        The limits; not a number where there was none.
    floor : bool
        Whether the limit is the least.
    against : str
        What it is compared with: `PREVIOUS` or `REVIEWED`.
    """

    past: Past
    measure: str
    before: float
    after: float
    floor: bool
    against: str

    @property
    def title(self) -> str:
        """The limit, for readers."""
        if self.measure == K:
            return K
        kind = "floor" if self.floor else "ceiling"
        return f"{kind} of {title_of(self.measure)}"

    @property
    def step(self) -> str:
        """Both values, short enough for a picture."""
        return f"{_short(self.before)} → {_short(self.after)}"

    @property
    def tightens(self) -> bool:
        """Whether less is tolerated than before."""
        if math.isnan(self.before) or math.isnan(self.after):
            return math.isnan(self.before)
        return self.after > self.before if self.floor else self.after < self.before

    def __str__(self) -> str:
        """Describe the change in words."""
        before, after = (shown_limit(self.measure, value) for value in (self.before, self.after))
        if self.against == REVIEWED:
            return f"{self.title} {after} in this run, {before} in the reviewed spec"
        return f"{self.title} {after}, {before} in the period before"


def shifts(pasts: Sequence[Past]) -> list[Shift]:
    """Find every change of k and of limits, in the order of the attempts given.

    Parameters
    ----------
    pasts : sequence of Past
        One attempt for each period, by period.
    """
    found = [shift for past in pasts[:1] for shift in _against_reviewed(past)]
    for before, past in pairwise(pasts):
        found += [*_against_previous(before, past), *_against_reviewed(past)]
    return found


def title_of(measure: str) -> str:
    """Give the name of a measure for readers; that of a measure of another version as it is."""
    return MEASURES[measure].title if measure in MEASURES else measure


def unit_of(measure: str) -> str:
    """Give the unit of a measure; empty for a plain number, or a measure of another version."""
    return MEASURES[measure].unit if measure in MEASURES else ""


def shown_limit(measure: str, value: float) -> str:
    """Write a limit with its unit; "none" where there is none."""
    return "none" if math.isnan(value) else f"{value:g} {unit_of(measure)}".strip()


def _against_previous(before: Past, past: Past) -> Iterator[Shift]:
    if before.k != past.k:
        yield Shift(past, K, float(before.k), float(past.k), True, PREVIOUS)
    for floor, old, new in (
        (False, before.ceilings, past.ceilings),
        (True, before.floors, past.floors),
    ):
        for name in {**old, **new}:
            limits = old.get(name, NO_LIMIT), new.get(name, NO_LIMIT)
            if old.get(name) != new.get(name):
                yield Shift(past, name, *limits, floor, PREVIOUS)


def _against_reviewed(past: Past) -> Iterator[Shift]:
    for change in past.changes:
        section, _, name = change.field.rpartition(".")
        if change.field == "microaggregation.k":
            yield Shift(past, K, *_values(change), True, REVIEWED)
        elif section in ("gate.ceilings", "gate.floors"):
            yield Shift(past, name, *_values(change), section == "gate.floors", REVIEWED)


def _values(change: Change) -> tuple[float, float]:
    """Give the reviewed and the used value; not a number where there is none."""
    reviewed, used = (
        NO_LIMIT if value is None else float(value) for value in (change.reviewed, change.used)
    )
    return reviewed, used


def _short(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:g}"
