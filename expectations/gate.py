"""Of the risk and the utility: the gate between a masked file and its publication."""

import math
from dataclasses import dataclass

from algorithms.errors import RefusedError
from algorithms.evaluation import Evaluation
from algorithms.measure import figure
from algorithms.measures import MEASURES
from expectations.request.sections.gate import GateSection

MANDATORY = ("il", "dld")

REMEDIES = {
    "utility": "try a smaller k or a method that loses less",
    "risk": "try a larger k",
}


@dataclass(frozen=True)
class Verdict:
    """One measure against its limit.

    Attributes
    ----------
    measure : str
        Its name.
    value : float
        The measure, to as many digits as show on which side of its limit it is; not a number where
        the measure does not apply.
    limit : float
        The most or the least that is tolerated.
    floor : bool
        Whether the limit is the least.
    passed : bool
        Whether the measure with all its digits keeps the limit; what is not a number does not.
    """

    measure: str
    value: float
    limit: float
    floor: bool
    passed: bool

    @property
    def title(self) -> str:
        """The measure's name for people."""
        return MEASURES[self.measure].title

    @property
    def shown_value(self) -> str:
        """The value with its unit."""
        return MEASURES[self.measure].shown(self.value)

    @property
    def shown_limit(self) -> str:
        """The limit with its unit, and which kind it is."""
        words = "at least" if self.floor else "at most"
        return f"{words} {MEASURES[self.measure].shown(self.limit)}"


@dataclass(frozen=True)
class Approval:
    """Leave to publish one table; one that exists has passed the gate.

    Attributes
    ----------
    evaluation : Evaluation
        What was measured on the table.
    gate : GateSection
        What was tolerated.
    k : int
        The smallest group allowed.
    digest : str
        Of the table that was judged; no other may be published.

    Raises
    ------
    RefusedError
        If a measure is above its ceiling or below its floor or a group is smaller than ``k``; the
        message names the measure, its value, its limit and what to try.
    """

    evaluation: Evaluation
    gate: GateSection
    k: int
    digest: str

    def __post_init__(self) -> None:
        reasons = [
            _reason(verdict)
            for verdict in verdicts(self.evaluation, self.gate, self.k)
            if not verdict.passed
        ]
        if reasons:
            raise RefusedError("; ".join(reasons))


def verdicts(evaluation: Evaluation, gate: GateSection, k: int) -> tuple[Verdict, ...]:
    """Hold every gated measure, unrounded, against its limit; what is not a number fails."""
    exact = evaluation.exact
    missing = float("nan")
    return (
        *(
            _verdict(name, exact.get(name, missing), most)
            for name, most in gate.ceilings.all.items()
        ),
        *(
            _verdict(name, exact.get(name, missing), least, floor=True)
            for name, least in gate.floors.all.items()
        ),
        _verdict("k", exact["k"], float(k), floor=True),
    )


def _verdict(name: str, value: float, limit: float, *, floor: bool = False) -> Verdict:
    """Decide on all digits, and keep no more of them than it takes to see why."""

    def passes(number: float) -> bool:
        return number >= limit if floor else number <= limit

    passed = passes(value)
    rounded = (figure(value), *(round(value, digits) for digits in (6, 8, 10, 12)))
    agreeing = (number for number in rounded if passes(number) == passed)
    return Verdict(name, next(agreeing, value), limit, floor, passed)


def _reason(verdict: Verdict) -> str:
    if verdict.measure == "k":
        return (
            f"the smallest group must hold k={verdict.limit:.0f} records; it holds "
            f"{verdict.value:.0f}: use a method that groups all quasi-identifiers together"
        )
    measure = MEASURES[verdict.measure]
    if verdict.measure not in MANDATORY and math.isnan(verdict.value):
        return f"{measure.title} does not apply to this table: drop its limit"
    digits = next(
        (d for d in (2, 4, 6, 8) if round(verdict.value, d) != round(verdict.limit, d)), 12
    )
    value, limit = (
        f"{number:.{digits}f} {measure.unit}".rstrip() for number in (verdict.value, verdict.limit)
    )
    side, limited = ("below", "floor") if verdict.floor else ("above", "ceiling")
    return (
        f"{measure.title} is {value}, {side} its {limited} of {limit}: {REMEDIES[measure.kind]}, "
        f"or have the {limited} reviewed"
    )
