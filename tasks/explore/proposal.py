"""Ceilings for a spec that has none yet, proposed from the measures of the recommended choice."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from algorithms.measures import MEASURES
from expectations.request.sections.gate import MANDATORY
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, best

MARGIN = 1.15
"""A proposed ceiling is this many times the measured value: tables of later periods differ."""

STEPS = ((5.0, 0.5), (0.5, 0.1), (0.0, 0.01))
"""Ceilings are rounded up to whole steps: from which value on, and how large a step."""

FURTHER_CEILINGS = ("within_records", "reidentified_best")
"""Measures besides IL and DLD for which a ceiling is proposed, if they were measured."""

DISTINCT = 2.0
"""Proposed floor of l_distinct: no group then shows one confidential value for all its records."""

MEANINGS = {
    "il": "the published values may lose up to {:g} % of the variance of the originals",
    "dld": "up to {:g} % of the published records may be linked to their originals by distance",
    "within_records": "up to {:g} % of the records may stay close to their originals in every "
    "averaged column",
    "reidentified_best": "an attacker who holds all originals may assign up to {:g} % of the "
    "records correctly",
    "l_distinct": "every group must have at least {:g} different values of each confidential "
    "column",
}
SIGN = "Proposed by `microrelease explore`: a custodian must decide on them and sign for them."


@dataclass(frozen=True)
class Proposal:
    """Limits that someone may adopt; none of them counts before.

    Attributes
    ----------
    basis : Cell
        The recommended choice, from whose measures they follow.
    ceilings, floors : mapping of str to float
        Proposed limits by measure; limits that the spec gives are not among them.
    """

    basis: Cell
    ceilings: Mapping[str, float]
    floors: Mapping[str, float]

    @property
    def refused(self) -> tuple[str, ...]:
        """Measures of the recommended choice itself that its proposed ceilings refuse."""
        return tuple(
            name for name, most in self.ceilings.items() if self.basis.measure(name) > most
        )

    @property
    def sentence(self) -> str:
        """The proposal in words."""
        limits = [
            *(_limit(name, most, "at most") for name, most in self.ceilings.items()),
            *(_limit(name, least, "at least") for name, least in self.floors.items()),
        ]
        words = (
            f"The spec lacks ceilings. Proposed for {self.basis.name}, from its figures and a "
            f"margin of {100.0 * (MARGIN - 1.0):.0f} %, but below what can never refuse: "
            f"{', '.join(limits)}."
        )
        for name in self.refused:
            words += (
                f" No ceiling that can refuse allows the {MEASURES[name].title} of this choice: "
                "try another k."
            )
        return f"{words} These are proposals only: a person must decide on them and sign for them."

    @property
    def meanings(self) -> tuple[str, ...]:
        """What each limit means, in a sentence."""
        limits = {**self.ceilings, **self.floors}
        return tuple(
            f"{MEASURES[name].title}: {MEANINGS[name].format(limit)}."
            for name, limit in limits.items()
        )

    def merged(self, gate: Mapping[str, Any] | None) -> dict[str, Any]:
        """Add the proposal to the section ``gate`` of a spec, as its file has it."""
        given = dict(gate or {})
        order = [*MANDATORY, *FURTHER_CEILINGS]
        own = given.pop("ceilings", None) or {}
        ceilings = {**self.ceilings, **{n: most for n, most in own.items() if most is not None}}
        first = {name: ceilings.pop(name) for name in order if name in ceilings}
        floors = {**self.floors, **(given.pop("floors", None) or {})}
        return {
            "ceilings": {**first, **ceilings},
            **({"floors": floors} if floors else {}),
            **given,
        }

    def snippet(self, spec: ReleaseSpec) -> str:
        """Write the section ``gate`` with the proposal, ready to paste into the spec."""
        gate = self.merged(spec.gate.model_dump(mode="json", exclude_defaults=True))
        return f"# {SIGN}\n{yaml.safe_dump({'gate': gate}, sort_keys=False)}".strip()


def propose(cells: Sequence[Cell], spec: ReleaseSpec) -> Proposal | None:
    """Propose ceilings where the spec lacks that of IL or DLD.

    Returns
    -------
    Proposal or None
        None if the spec lacks none, or if no choice meets the limits that it gives.
    """
    basis = best(cells)
    missing = spec.gate.ceilings.missing
    if basis is None or basis.evaluation is None or not missing:
        return None
    measured, k = basis.evaluation.measures, basis.choice.k
    ceilings, floors = spec.gate.ceilings.all, spec.gate.floors.all
    wanted = [
        name
        for name in FURTHER_CEILINGS
        if name not in ceilings and _leaves_room(name, measured.get(name, 0.0), k)
    ]
    return Proposal(
        basis,
        {name: ceiling_for(name, measured[name], k) for name in (*missing, *wanted)},
        {"l_distinct": DISTINCT}
        if measured.get("l_distinct", 0.0) >= DISTINCT and "l_distinct" not in floors
        else {},
    )


def ceiling_for(name: str, value: float, k: int) -> float:
    """Propose a ceiling: somewhat above a measured value, and below the worst possible one.

    Examples
    --------
    >>> ceiling_for("il", 16.7383, k=5), ceiling_for("dld", 37.65, k=5)
    (19.5, 39.5)
    """
    # a file that loses 100 % is no better than its means, although IL can be larger
    worst = 100.0 if name == "il" else MEASURES[name].worst_at(k)
    aim = MARGIN * value
    step = next(step for least, step in STEPS if aim >= least)
    if aim < worst:
        ceiling = _whole(max(math.ceil(aim / step - 1e-9), 1), step)
        if ceiling < worst:
            return ceiling
    below = [_whole(math.ceil(worst / step - 1e-9) - 1, step) for step in (0.5, 0.1, 0.01, 0.001)]
    return next((each for each in below if each > value), below[0])


def _leaves_room(name: str, value: float, k: int) -> bool:
    """Check that a ceiling with its margin could refuse; zero tells nothing of later periods."""
    return 0.0 < MARGIN * value < MEASURES[name].worst_at(k)


def _whole(steps: int, step: float) -> float:
    return round(steps * step, 3)


def _limit(name: str, value: float, words: str) -> str:
    measure = MEASURES[name]
    return f"{measure.title} {words} {value:g} {measure.unit}".strip()
