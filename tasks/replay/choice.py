"""One way to protect a series, and the releases that it would have given."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from algorithms.evaluation import Evaluation
from algorithms.measures import MEASURES
from expectations.gate import Verdict
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.sections.series import COHORTS, FRESH, SeriesSection
from expectations.request.spec import ReleaseSpec

YARDSTICK = "mdav"
"""The method whose fresh groups losses are compared with."""
CEILINGS_TRIED = (1.1, 1.25, 1.5)
"""Losses over those of fresh groups that a replay tries by default."""
MOST_MUTED = 5.0
"""Share of records, in per cent, that a recommended choice may mute in each release, if the spec
gives no ceiling."""

OVER_FRESH = "over_fresh"
PROMISED = ("candidates_min", "under_k_across", "singled_out", "lone_changes")
"""Measures that must hold over all releases, whatever the spec limits."""
EACH = ("il", "dld", "k", "muted", *PROMISED)
"""Measures of every release."""
ATTACKS = ("row_links", "exact_singled_out", "solved", "l_across")
"""Measures of the last release only: they take longer, and the last release gives away most."""


@dataclass(frozen=True)
class Choice:
    """A way to protect a series.

    Attributes
    ----------
    method : str
        ``cohorts``, or a method whose groups are formed afresh in every release.
    window : int, optional
        Number of releases over which an attacker can follow a record; None for all.
    il_over_fresh : float, optional
        For cohorts, the largest loss as a multiple of that of fresh groups.
    """

    method: str
    window: int | None = None
    il_over_fresh: float | None = None

    @property
    def lasts(self) -> bool:
        """Whether groups last over releases."""
        return self.method == COHORTS

    @property
    def name(self) -> str:
        """The choice in a few words."""
        groups = f"cohorts {self.il_over_fresh:g}" if self.lasts else f"fresh {self.method}"
        return groups if self.window is None else f"{groups}, window {self.window}"

    def spec(self, spec: ReleaseSpec) -> ReleaseSpec:
        """Put the choice into the spec of a period."""
        series = spec.series or SeriesSection()
        how = spec.microaggregation
        if self.lasts:
            changed = {"method": COHORTS, "il_over_fresh": self.il_over_fresh}
        else:
            changed = {"method": FRESH}
            if self.method != how.method:
                how = MicroaggregationSection(
                    method=self.method, k=how.k, small_strata=how.small_strata
                )
        series = series.model_copy(update={**changed, "window": self.window})
        return spec.model_copy(update={"series": series, "microaggregation": how})


@dataclass(frozen=True)
class Step:
    """One release of a replay.

    Attributes
    ----------
    period : str
        Its period.
    evaluation : Evaluation
        Its measures.
    verdicts : tuple of Verdict
        The measures against the limits of the spec.
    over_fresh : float
        Its loss as a multiple of that of fresh groups.
    """

    period: str
    evaluation: Evaluation
    verdicts: tuple[Verdict, ...]
    over_fresh: float

    def measure(self, name: str) -> float:
        """Give a measure; NaN if it does not apply."""
        return self.evaluation.measures.get(name, float("nan"))

    @property
    def keeps_k(self) -> bool:
        """Whether k holds over all releases that are compared, and no group gives a person away."""
        # a measure that does not apply has nobody to be about
        exact = self.evaluation.exact
        return not any(exact.get(name, 0.0) for name in ("under_k_across", "lone_changes"))

    @property
    def passes(self) -> bool:
        """Whether every measure is within the limits of the spec."""
        return all(verdict.passed for verdict in self.verdicts)


@dataclass(frozen=True)
class Replayed:
    """The releases that a choice would have given.

    Attributes
    ----------
    choice : Choice
        The choice.
    steps : tuple of Step
        Its releases in their order; those before a fault only.
    seconds : float
        Seconds that grouping and measuring took.
    fault : str
        Why a release could not be made; empty if all could.
    """

    choice: Choice
    steps: tuple[Step, ...]
    seconds: float = 0.0
    fault: str = ""

    def values(self, name: str) -> list[float]:
        """Give a measure of each release, or ``over_fresh``; NaN where it does not apply."""
        if name == OVER_FRESH:
            return [step.over_fresh for step in self.steps]
        return [step.measure(name) for step in self.steps]

    def mean(self, name: str) -> float:
        """Average a measure over the releases to which it applies; NaN if there is none."""
        return self._over(name, lambda values: sum(values) / len(values))

    def most(self, name: str) -> float:
        """Give the largest value of a measure."""
        return self._over(name, max)

    def least(self, name: str) -> float:
        """Give the smallest value of a measure."""
        return self._over(name, min)

    def last(self, name: str) -> float:
        """Give a measure of the last release."""
        return self._over(name, lambda values: values[-1])

    def _over(self, name: str, summary: Callable[[Sequence[float]], float]) -> float:
        applying = [value for value in self.values(name) if not math.isnan(value)]
        return summary(applying) if applying else math.nan

    @property
    def keeps_k(self) -> bool:
        """Whether k holds over all releases, in each of them."""
        return not self.fault and all(step.keeps_k for step in self.steps)

    @property
    def passes(self) -> bool:
        """Whether each release is within the limits of the spec."""
        return not self.fault and all(step.passes for step in self.steps)


def choices(
    spec: ReleaseSpec, windows: Sequence[int | None], ceilings: Sequence[float]
) -> tuple[Choice, ...]:
    """List fresh groups of the yardstick and of the spec's method, and cohorts, by window."""
    fresh = dict.fromkeys((YARDSTICK, spec.microaggregation.method))
    found = [Choice(method, window) for method in fresh for window in windows]
    found += [
        Choice(COHORTS, window, ceiling) for window in windows for ceiling in sorted(set(ceilings))
    ]
    return tuple(found)


def measures_of(spec: ReleaseSpec, *, last: bool) -> tuple[str, ...]:
    """List the measures of a release of a replay, and those that the gate limits."""
    shown = {*EACH, *spec.gate.ceilings.all, *spec.gate.floors.all, *(ATTACKS if last else ())}
    return tuple(name for name in MEASURES if name in shown)
