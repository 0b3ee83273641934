"""One choice of method, path and k, with its measures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from algorithms.errors import SpecError
from algorithms.evaluation import Evaluation
from algorithms.history import History
from algorithms.local_search.search import default_iterations
from algorithms.masked import Masked
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.problem import BUDGET_OPTIONS
from algorithms.table import Table
from algorithms.utility.bound_curve import BoundCurve
from expectations.gate import Verdict, Verdicts
from expectations.request.sections.evaluation import EvaluationSection
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.sections.series import COHORTS
from expectations.request.series_rules import PROMISED
from expectations.request.spec import ReleaseSpec
from tasks.pipeline import mask_and_measure, plainly

SHOWN = (
    "il", "rounding", "il_bound", "il_over_bound", "category_error", "k", "linked_known",
    "unique_with_one", "one_value", "dld", "within_records", "reidentified_best", "l_distinct",
)  # fmt: skip
"""Measures that every map shows, if they apply."""

ORDERINGS_TRIED = ("npn", "tsp")
KS_TRIED = (2, 3, 4, 5, 7, 10, 15)
"""Orderings and group sizes that an exploration tries by default."""

FULL_SECONDS = 60.0
"""Time limit of a choice from which on a search gets all iterations of a release without a budget:
they take some ten seconds, and up to three times as many on a slow machine."""


FAR = 100.0
"""Per cent above the optimum from which on IL is given as a multiple of it."""


@dataclass(frozen=True)
class Cell:
    """A choice with its evaluation, or with the reason why there is none.

    Attributes
    ----------
    choice : MicroaggregationSection
        Method, k and, if the method cuts a path, the ordering.
    evaluation : Evaluation, optional
        The measures; None if the choice could not be measured.
    verdicts : tuple of Verdict
        Verdicts on the measures, by the limits of the spec.
    below : bool
        Whether its k is smaller than that of the spec: such a choice is shown but never
        recommended.
    iterations : int, optional
        Iterations of its search; None if it did not search.
    shortened : bool
        Whether its search got fewer iterations than a release without a budget would spend, so that
        it fits the time limit.
    seconds : float
        Seconds that grouping and measuring took.
    fault : str
        Why there is no evaluation; empty if there is one.
    bound : float, optional
        A lower bound of the IL of any method at its k, in per cent, proven apart from the choice.
    """

    choice: MicroaggregationSection
    evaluation: Evaluation | None = None
    verdicts: tuple[Verdict, ...] = field(default=())
    below: bool = False
    iterations: int | None = None
    shortened: bool = False
    seconds: float = 0.0
    fault: str = ""
    bound: float | None = None

    @property
    def admissible(self) -> bool:
        """Whether it meets every limit and has at least the k of the spec."""
        passed = self.evaluation is not None and all(verdict.passed for verdict in self.verdicts)
        return passed and not self.below

    @property
    def family(self) -> str:
        """The method, and the path that it cuts."""
        path = self.choice.ordering
        return self.choice.method if path is None else f"{self.choice.method} along {path}"

    @property
    def name(self) -> str:
        """The choice in one line."""
        return f"{self.family}, k = {self.choice.k}"

    @property
    def released(self) -> MicroaggregationSection:
        """The choice as a release may use it: a search has a budget of iterations, not seconds."""
        if self.iterations is None:
            return self.choice
        own = {name: value for name, value in self.choice.options.items() if name != "seconds"}
        return self.choice.model_copy(update={"options": own | {"iterations": self.iterations}})

    def measure(self, name: str) -> float:
        """Give a measure; NaN if it does not apply, or if the choice was not measured."""
        measures = {} if self.evaluation is None else self.evaluation.measures
        return measures.get(name, float("nan"))

    @property
    def least(self) -> float:
        """The least possible IL at its k in per cent, as far as it is proven; NaN if nothing is."""
        proven = [self.measure("il_bound"), math.nan if self.bound is None else self.bound]
        return max((each for each in proven if not math.isnan(each)), default=math.nan)

    @property
    def gap(self) -> float:
        """How far its IL is above the optimum at most, in per cent of the least possible IL.

        NaN if nothing is proven; infinite if the least possible IL is zero.
        """
        il, least = self.measure("il"), self.least
        if least == 0.0:
            return 0.0 if il == 0.0 else math.inf
        return max(100.0 * (il / least - 1.0), 0.0)

    @property
    def gap_in_words(self) -> str:
        """How far it is from the optimum at most; empty if that is not known."""
        if not math.isfinite(self.gap):
            return ""
        if self.gap >= FAR:
            return f"at most {1.0 + self.gap / 100.0:.2f} times the optimum"
        return f"at most {math.ceil(10.0 * self.gap - 1e-9) / 10.0:.1f} % above the optimum"


def choices(
    spec: ReleaseSpec, methods: Sequence[str], orderings: Sequence[str], ks: Sequence[int]
) -> list[MicroaggregationSection]:
    """List every combination; only methods that cut a path are combined with orderings.

    The method of the spec keeps its options; all others use their defaults.
    """
    if not ks or min(ks) < 2:
        raise SpecError("k must be at least 2")
    for registry, names in ((METHODS, methods), (ORDERINGS, orderings)):
        for name in names:
            registry.known(name)
    sections = []
    for method in methods:
        paths: Sequence[str | None] = orderings if METHODS[method].reads_path else [None]
        for path in paths:
            for k in sorted(set(ks)):
                how = spec.microaggregation
                sections.append(
                    MicroaggregationSection(
                        method=method,
                        k=k,
                        ordering=path,
                        options=how.options if method == how.method else {},
                        # a spec without a path has no options of one
                        ordering_options=how.ordering_options if path == how.ordering else {},
                        small_strata=how.small_strata,
                        blocks=None if METHODS[method].reads_path else how.blocks,
                    )
                )
    return sections


def fitted(
    choice: MicroaggregationSection, spec: ReleaseSpec, records: int, seconds: float
) -> MicroaggregationSection:
    """Give a search without a budget as many iterations as fit a time limit, on most machines.

    Counted in iterations, a search finds the same groups in an exploration and in a release.
    """
    if not is_unlimited(choice, spec):
        return choice
    share = min(seconds / FULL_SECONDS, 1.0)
    return _with_iterations(choice, int(share * default_iterations(records, choice.k)))


def shorter(choice: MicroaggregationSection) -> list[MicroaggregationSection]:
    """Give a search a tenth of its iterations; then its descent only, which needs none."""
    tenth = choice.options.get("iterations", 0) // 10
    return [_with_iterations(choice, iterations) for iterations in sorted({tenth, 0}, reverse=True)]


def is_unlimited(choice: MicroaggregationSection, spec: ReleaseSpec) -> bool:
    """Check whether a choice is a search for which the spec gives no budget."""
    own = spec.microaggregation
    budget = own.options if choice.method == own.method else {}
    searches = METHODS[choice.method].searches
    return searches and not any(budget.get(name) is not None for name in BUDGET_OPTIONS)


def _with_iterations(choice: MicroaggregationSection, iterations: int) -> MicroaggregationSection:
    options = {**choice.options, "iterations": iterations}
    return choice.model_copy(update={"options": options})


def measures_of(spec: ReleaseSpec) -> tuple[str, ...]:
    """List the measures that a map shows, and those that the gate limits."""
    gated = (*spec.gate.ceilings.all, *spec.gate.floors.all)
    lasting = spec.series is not None and spec.series.method == COHORTS
    shown = (*SHOWN, *PROMISED) if lasting else SHOWN
    return tuple(name for name in MEASURES if name in shown or name in gated)


def try_choice(table: Table, spec: ReleaseSpec, choice: MicroaggregationSection) -> Cell:
    """Group, round and measure a table as a release would, and compare it with the limits.

    It is taken for the first release of its series.
    """
    changed = spec.model_copy(update={"microaggregation": choice, "evaluation": _quick(spec)})
    least = spec.microaggregation.k
    first = History() if spec.follows_persons else None
    files, evaluation = mask_and_measure(table, changed, plainly, measures_of(spec), first)
    verdicts = Verdicts(
        evaluation, spec.gate, max(choice.k, least), spec.columns, series=spec.series
    )
    iterations = _iterations(files.masked)
    return Cell(
        choice,
        evaluation,
        verdicts.each,
        below=choice.k < least,
        iterations=iterations,
        shortened=iterations is not None
        and is_unlimited(choice, spec)
        and iterations < default_iterations(len(table), choice.k),
    )


def _quick(spec: ReleaseSpec) -> EvaluationSection:
    """Spend no rounds on the bound of a single choice, unless the gate limits it.

    It is the same for all choices with the same k, and is proven once, with the curve.
    """
    if {"il_bound", "il_over_bound"} & {*spec.gate.ceilings.all, *spec.gate.floors.all}:
        return spec.evaluation
    return spec.evaluation.model_copy(update={"bound_rounds": 0})


def _iterations(masked: Masked) -> int | None:
    """Add up the iterations of all searches; None if there was none."""
    counts = [each.iterations for each in masked.groupings if each.iterations is not None]
    return sum(counts) if counts else None


def best(cells: Sequence[Cell]) -> Cell | None:
    """Find the admissible choice with the lowest IL; ties go to lower DLD, then to larger k."""
    admissible = [cell for cell in cells if cell.admissible]
    return min(
        admissible,
        key=lambda cell: (cell.measure("il"), cell.measure("dld"), -cell.choice.k, cell.name),
        default=None,
    )


def front(cells: Sequence[Cell]) -> list[Cell]:
    """Find the Pareto front of IL and DLD, by increasing IL."""
    undominated: list[Cell] = []
    measured = [cell for cell in cells if cell.evaluation is not None]
    for cell in sorted(measured, key=lambda cell: (cell.measure("il"), cell.measure("dld"))):
        if not undominated or cell.measure("dld") < undominated[-1].measure("dld"):
            undominated.append(cell)
    return undominated


def proven(cells: Sequence[Cell]) -> dict[int, float]:
    """Give the largest lower bound of IL that any choice has, by k."""
    largest: dict[int, float] = {}
    for cell in sorted(cells, key=lambda cell: cell.choice.k):
        k, least = cell.choice.k, cell.least
        if not math.isnan(least):
            largest[k] = max(largest.get(k, 0.0), least)
    return largest


def bounded(cells: Sequence[Cell], curve: BoundCurve) -> tuple[Cell, ...]:
    """Add to each choice the lower bound of any method at its k."""
    return tuple(_bounded(cell, curve.least.get(cell.choice.k)) for cell in cells)


def _bounded(cell: Cell, bound: float | None) -> Cell:
    """Add a bound to a choice, and to its measures if they have a smaller one."""
    evaluation = cell.evaluation
    if bound is not None and evaluation is not None and cell.measure("il_bound") < bound:
        better = {"il_bound": bound, "il_over_bound": max(cell.measure("il") / bound, 1.0)}
        evaluation = replace(evaluation, measures=evaluation.measures | better)
    return replace(cell, evaluation=evaluation, bound=bound)


def timed(cell: Cell, seconds: float) -> Cell:
    """Add the seconds that a cell took."""
    return replace(cell, seconds=seconds)
