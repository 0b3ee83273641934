"""The gate between a masked file and its publication: limits on risk and utility."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from algorithms.errors import RefusedError
from algorithms.evaluation import Evaluation
from algorithms.measure import figure
from algorithms.measures import MEASURES
from expectations.remedies import remedy
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.gate import MANDATORY, GateSection
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.sections.series import COHORTS, SeriesSection
from expectations.request.series_rules import COMPARING, ceilings_to_give

COUNTED = {"k": ("occur in", "records"), "k_units": ("belong to", "units")}
"""Measures that count, and the words for what they count."""


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
class Verdicts:
    """Every gated measure, unrounded, against its limit; what is not a number fails.

    Only limits that are given are judged; without those of IL and DLD there is no `Approval`.

    Attributes
    ----------
    evaluation : Evaluation
        The measures of a table.
    gate : GateSection
        The limits.
    k : int
        The smallest group allowed.
    columns : ColumnsSection, optional
        The roles of columns: whether k counts units, and what may break it.
    grouping : MicroaggregationSection, optional
        The method and its options: what to try next depends on them.
    series : SeriesSection, optional
        How releases are compared: groups that last promise k across releases.
    each : tuple of Verdict
        Ceilings first, then floors, then k in records, if there are units in units and, if groups
        last, across releases.
    """

    evaluation: Evaluation
    gate: GateSection
    k: int
    columns: ColumnsSection | None = None
    grouping: MicroaggregationSection | None = None
    series: SeriesSection | None = None
    each: tuple[Verdict, ...] = field(init=False)

    def __post_init__(self) -> None:
        exact = self.evaluation.exact
        missing = float("nan")
        each = (
            *(
                _verdict(name, exact.get(name, missing), most)
                for name, most in self.gate.ceilings.all.items()
            ),
            *(
                _verdict(name, exact.get(name, missing), least, floor=True)
                for name, least in self.gate.floors.all.items()
            ),
            _verdict("k", exact["k"], float(self.k), floor=True),
        )
        if self.columns is not None and self.columns.unit is not None:
            units = _verdict("k_units", exact.get("k_units", missing), float(self.k), floor=True)
            each = (*each, units)
        object.__setattr__(self, "each", (*each, *self._across()))

    def _across(self) -> Iterator[Verdict]:
        """Judge what groups that last promise, unless a limit of the gate is as strict."""
        if self.series is None or self.series.method != COHORTS:
            return
        exact, missing = self.evaluation.exact, float("nan")
        if self.gate.floors.all.get("candidates_min", 0.0) < self.k:
            found = exact.get("candidates_min", missing)
            yield _verdict("candidates_min", found, float(self.k), floor=True)
        if self.gate.ceilings.all.get("lone_changes", math.inf) > 0.0:
            yield _verdict("lone_changes", exact.get("lone_changes", missing), 0.0)
        # a revision keeps the groups of what it revises, and is compared with no fresh ones
        if "il_over_fresh" in exact and "il_over_fresh" not in self.gate.ceilings.all:
            yield _verdict("il_over_fresh", exact["il_over_fresh"], self.series.il_over_fresh)

    @property
    def missing(self) -> tuple[str, ...]:
        """The measures without whose ceilings nothing can be released, and that have none."""
        return ceilings_to_give(self.gate, self.series)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.each)


@dataclass(frozen=True)
class Approval:
    """Permission to publish one table; it cannot exist unless the table has passed the gate.

    Attributes
    ----------
    verdicts : Verdicts
        The measures of the table against their limits.
    digest : str
        Digest of the table that was judged; no other table may be published.

    Raises
    ------
    RefusedError
        If IL or DLD has no ceiling, a measure is above its ceiling or below its floor, a group is
        smaller than k or, for groups that last, fewer than k persons may be behind a record if
        releases are compared. The message names the measure, its value, its limit and what to try.
    """

    verdicts: Verdicts
    digest: str

    def __post_init__(self) -> None:
        reasons = [
            *(
                f"{MEASURES[name].title} has no ceiling: give one in gate.ceilings.{name}"
                for name in self.verdicts.missing
            ),
            *_reasons(self.verdicts),
        ]
        if reasons:
            raise RefusedError("; ".join(reasons))

    @property
    def evaluation(self) -> Evaluation:
        """The measures of the table."""
        return self.verdicts.evaluation


def _verdict(name: str, value: float, limit: float, *, floor: bool = False) -> Verdict:
    """Decide on all digits, and keep no more of them than it takes to see why."""

    def passes(number: float) -> bool:
        return number >= limit if floor else number <= limit

    passed = passes(value)
    rounded = (figure(value), *(round(value, digits) for digits in (6, 8, 10, 12)))
    agreeing = (number for number in rounded if passes(number) == passed)
    return Verdict(name, next(agreeing, value), limit, floor, passed)


def _reasons(verdicts: Verdicts) -> list[str]:
    """Give the broken limits; those with the same remedy share one clause."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if not verdict.passed:
            found.setdefault(_advice(verdict, verdicts), []).append(verdict)
    return [
        f"{', and '.join(map(_finding, broken))}: {advice}{_review(broken)}"
        for advice, broken in found.items()
    ]


def _finding(verdict: Verdict) -> str:
    """Say what was found, and which limit it breaks."""
    if verdict.measure in COUNTED:
        relation, noun = COUNTED[verdict.measure]
        return (
            f"every combination of columns that an attacker may know must {relation} k="
            f"{verdict.limit:.0f} {noun}; the rarest {relation.replace(' ', 's ', 1)} "
            f"{verdict.value:.0f}"
        )
    measure = MEASURES[verdict.measure]
    if _is_inapplicable(verdict):
        return f"{measure.title} does not apply to this table"
    digits = next(
        (d for d in (2, 4, 6, 8) if round(verdict.value, d) != round(verdict.limit, d)), 12
    )
    value, limit = (
        f"{number:.{digits}f} {measure.unit}".rstrip() for number in (verdict.value, verdict.limit)
    )
    side, limited = ("below", "floor") if verdict.floor else ("above", "ceiling")
    return f"{measure.title} is {value}, {side} its {limited} of {limit}"


def _advice(verdict: Verdict, verdicts: Verdicts) -> str:
    """Say what to try."""
    if verdict.measure in COUNTED:
        return _remedy_of_k(verdicts.columns)
    if _is_inapplicable(verdict):
        return _remedy_of_nothing(verdict.measure, verdicts)
    return remedy(verdict.measure, verdicts.columns, verdicts.grouping, verdicts.series)


def _review(broken: list[Verdict]) -> str:
    """Name the limits that may be reviewed; the promise of k is not one of them."""
    if any(verdict.measure in COUNTED or _is_inapplicable(verdict) for verdict in broken):
        return ""
    names = {"floor" if verdict.floor else "ceiling" for verdict in broken}
    name = names.pop() if len(names) == 1 else "limit"
    return f", or have the {name}{'s' if len(broken) > 1 else ''} reviewed"


def _is_inapplicable(verdict: Verdict) -> bool:
    return verdict.measure not in MANDATORY and math.isnan(verdict.value)


def _remedy_of_nothing(measure: str, verdicts: Verdicts) -> str:
    """Say what to do about a limit on a measure that has no value."""
    if measure not in COMPARING:
        return "drop its limit"
    why = verdicts.evaluation.notes.get(measure, "").removeprefix("Left out: ")
    return f"releases could not be compared{f', because {why}' if why else ''}"


def _remedy_of_k(columns: ColumnsSection | None) -> str:
    """Say what to choose instead of what breaks k."""
    if columns is not None and columns.other:
        names = ", ".join(map(repr, columns.other))
        return (
            f"columns.other ({names}) is published unchanged and counted into k, but groups do not "
            "heed it: make each of these columns a stratum (groups stay within its values), a "
            "quasi-identifier (masked), confidential (someone signs that attackers do not know "
            "it) or dropped (not published)"
        )
    if columns is not None and columns.weight and columns.weight_published == "as_it_is":
        return (
            f"the weight {columns.weight!r} is published as it is and counted into k: set "
            "columns.weight_published to averaged or never"
        )
    return "use a method that groups all quasi-identifiers together"
