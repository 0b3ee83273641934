"""One choice of method, path and k, with its measures."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from algorithms.errors import SpecError
from algorithms.evaluation import Evaluation
from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.table import Table
from expectations.gate import Verdict, Verdicts
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec import ReleaseSpec
from tasks.pipeline import mask_and_measure, plainly

SHOWN = (
    "il", "rounding", "il_bound", "il_over_bound", "k", "dld", "within_records",
    "reidentified_best",
)  # fmt: skip
"""Measures that every map shows."""

REASONS = 3
"""Number of reasons that a recommendation gives for choices that were not measured."""


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
    seconds : float
        Seconds that grouping and measuring took.
    fault : str
        Why there is no evaluation; empty if there is one.
    """

    choice: MicroaggregationSection
    evaluation: Evaluation | None = None
    verdicts: tuple[Verdict, ...] = field(default=())
    below: bool = False
    seconds: float = 0.0
    fault: str = ""

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

    def measure(self, name: str) -> float:
        """Give a measure; NaN if the choice was not measured."""
        return float("nan") if self.evaluation is None else self.evaluation.measures[name]


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
                    )
                )
    return sections


def measures_of(spec: ReleaseSpec) -> tuple[str, ...]:
    """List the measures that a map shows, and those that the gate limits."""
    gated = (*spec.gate.ceilings.all, *spec.gate.floors.all)
    return tuple(name for name in MEASURES if name in SHOWN or name in gated)


def try_choice(table: Table, spec: ReleaseSpec, choice: MicroaggregationSection) -> Cell:
    """Group, round and measure a table as a release would, and compare it with the limits."""
    changed = spec.model_copy(update={"microaggregation": choice})
    least = spec.microaggregation.k
    _, evaluation = mask_and_measure(table, changed, plainly, measures_of(spec))
    verdicts = Verdicts(evaluation, spec.gate, max(choice.k, least))
    return Cell(choice, evaluation, verdicts.each, below=choice.k < least)


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


def recommendation(cells: Sequence[Cell], spec: ReleaseSpec) -> str:
    """Recommend a choice, with reasons."""
    measured = [cell for cell in cells if cell.evaluation is not None]
    sentences = [_choice(measured, spec) if measured else "No choice could be measured."]
    return " ".join([*sentences, *_unmeasured(cells)])


def _choice(measured: Sequence[Cell], spec: ReleaseSpec) -> str:
    chosen = best(measured)
    if chosen is None:
        return _none_admissible(measured, spec)
    admissible = [cell for cell in measured if cell.admissible]
    il, dld = chosen.measure("il"), chosen.measure("dld")
    words = (
        f"Use {chosen.name}: it has the lowest IL ({il:.2f} %, with DLD {dld:.2f} %) of all "
        f"choices that meet the limits ({len(admissible)} of {len(measured)} measured)."
    )
    runner_up = best([cell for cell in admissible if cell.family != chosen.family])
    if runner_up is not None:
        words += f" The next best is {runner_up.name}, with IL {runner_up.measure('il'):.2f} %."
    bound = chosen.evaluation.measures.get("il_bound") if chosen.evaluation else None
    if bound:
        words += (
            f" No method could lose less than {bound:.2f} % at k = {chosen.choice.k}, so this is "
            f"at most {il / bound:.2f} times the optimum."
        )
    current = next((cell for cell in measured if cell.choice == spec.microaggregation), None)
    if current is not None and current != chosen:
        words += f" The spec now uses {current.name}, with IL {current.measure('il'):.2f} %."
    return words


def _none_admissible(measured: Sequence[Cell], spec: ReleaseSpec) -> str:
    """Name the choice that comes closest to the limits, and the limits that it misses."""

    def excess(cell: Cell) -> tuple[int, float]:
        failed = [verdict for verdict in cell.verdicts if not verdict.passed]
        return len(failed), sum(abs(v.value - v.limit) / (abs(v.limit) or 1.0) for v in failed)

    candidates = [cell for cell in measured if not cell.below]
    if not candidates:
        return (
            f"No choice with at least the k of the spec was measured: try k = "
            f"{spec.microaggregation.k} or larger. A smaller k is never recommended."
        )
    closest = min(candidates, key=excess)
    misses = "; ".join(
        f"{verdict.title} is {verdict.shown_value} but must be {verdict.shown_limit}"
        for verdict in closest.verdicts
        if not verdict.passed
    )
    return (
        f"No choice meets all limits ({len(candidates)} measured). The closest is {closest.name}: "
        f"{misses}. Try other values of k, or have the limits reviewed."
    )


def _unmeasured(cells: Sequence[Cell]) -> Iterator[str]:
    """Count the choices that were not measured, with the most frequent reasons."""
    faults = Counter(cell.fault for cell in cells if cell.evaluation is None)
    if faults:
        common = faults.most_common(REASONS)
        reasons = [f"{fault} ({count})" for fault, count in common]
        others = faults.total() - sum(count for _, count in common)
        reasons += [f"other reasons ({others})"] if others else []
        yield (
            f"Caution: {faults.total()} of {len(cells)} choices were not measured and may be "
            f"better. Reasons: {'; '.join(reasons)}."
        )


def timed(cell: Cell, seconds: float) -> Cell:
    """Add the seconds that a cell took."""
    return replace(cell, seconds=seconds)
