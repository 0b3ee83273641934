"""One choice of method, path and k, and what came of it."""

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
"""Measures of every map."""

REASONS = 3
"""Reasons that a recommendation names why choices were not measured."""


@dataclass(frozen=True)
class Cell:
    """A choice, and what it gave or why it gave nothing.

    Attributes
    ----------
    choice : MicroaggregationSection
        Method, k and, if the method cuts one, path.
    evaluation : Evaluation, optional
        What was measured.
    verdicts : tuple of Verdict
        The measures against the limits of the spec.
    below : bool
        Whether its k is smaller than that of the spec, which it may show but never replace.
    seconds : float
        How long grouping and measuring took.
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
        """Whether it keeps every limit, and the k of the spec."""
        kept = self.evaluation is not None and all(verdict.passed for verdict in self.verdicts)
        return kept and not self.below

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
        """Take a measure; not a number where there is none."""
        return float("nan") if self.evaluation is None else self.evaluation.measures[name]


def choices(
    spec: ReleaseSpec, methods: Sequence[str], orderings: Sequence[str], ks: Sequence[int]
) -> list[MicroaggregationSection]:
    """List every combination; only methods that cut a path are combined with orderings.

    The method of the spec keeps its options; others have their defaults.
    """
    if not ks or min(ks) < 2:
        raise SpecError("k must be at least 2")
    for registry, names in ((METHODS, methods), (ORDERINGS, orderings)):
        for name in names:
            registry.known(name)
    found = []
    for method in methods:
        paths: Sequence[str | None] = orderings if METHODS[method].reads_path else [None]
        for path in paths:
            for k in sorted(set(ks)):
                how = spec.microaggregation
                found.append(
                    MicroaggregationSection(
                        method=method,
                        k=k,
                        ordering=path,
                        options=how.options if method == how.method else {},
                        # a spec without a path has no options of one
                        ordering_options=how.ordering_options if path == how.ordering else {},
                    )
                )
    return found


def measures_of(spec: ReleaseSpec) -> tuple[str, ...]:
    """Name the measures that a map shows, and those that the gate limits."""
    gated = (*spec.gate.ceilings.all, *spec.gate.floors.all)
    return tuple(name for name in MEASURES if name in SHOWN or name in gated)


def try_choice(table: Table, spec: ReleaseSpec, choice: MicroaggregationSection) -> Cell:
    """Group, round and measure a table as a release would, and hold it against the limits."""
    chosen = spec.model_copy(update={"microaggregation": choice})
    least = spec.microaggregation.k
    _, evaluation = mask_and_measure(table, chosen, plainly, measures_of(spec))
    limits = Verdicts(evaluation, spec.gate, max(choice.k, least))
    return Cell(choice, evaluation, limits.each, below=choice.k < least)


def best(cells: Sequence[Cell]) -> Cell | None:
    """Find the admissible choice with the least IL; of equals the least DLD, then the larger k."""
    admissible = [cell for cell in cells if cell.admissible]
    return min(
        admissible,
        key=lambda cell: (cell.measure("il"), cell.measure("dld"), -cell.choice.k, cell.name),
        default=None,
    )


def front(cells: Sequence[Cell]) -> list[Cell]:
    """Find the choices that no other beats in both IL and DLD, by rising IL."""
    found: list[Cell] = []
    measured = [cell for cell in cells if cell.evaluation is not None]
    for cell in sorted(measured, key=lambda cell: (cell.measure("il"), cell.measure("dld"))):
        if not found or cell.measure("dld") < found[-1].measure("dld"):
            found.append(cell)
    return found


def recommendation(cells: Sequence[Cell], spec: ReleaseSpec) -> str:
    """Say which choice to take, and why."""
    measured = [cell for cell in cells if cell.evaluation is not None]
    sentences = [_choice(measured, spec) if measured else "Nothing could be measured."]
    return " ".join([*sentences, *_unmeasured(cells)])


def _choice(measured: Sequence[Cell], spec: ReleaseSpec) -> str:
    chosen = best(measured)
    if chosen is None:
        return _none_admissible(measured, spec)
    admissible = [cell for cell in measured if cell.admissible]
    il, dld = chosen.measure("il"), chosen.measure("dld")
    words = (
        f"Take {chosen.name}: of {len(admissible)} choices within all limits (of {len(measured)} "
        f"that were measured) it loses least, IL {il:.2f} % at DLD {dld:.2f} %."
    )
    others = best([cell for cell in admissible if cell.family != chosen.family])
    if others is not None:
        words += f" The next best is {others.name} with IL {others.measure('il'):.2f} %."
    bound = chosen.evaluation.measures.get("il_bound") if chosen.evaluation else None
    if bound:
        words += (
            f" No method could lose less than {bound:.2f} % at k = {chosen.choice.k}, so this is "
            f"at most {il / bound:.2f} times the optimum."
        )
    now = spec.microaggregation
    current = next((cell for cell in measured if cell.choice == now), None)
    if current is not None and current != chosen:
        words += f" The spec has {current.name}, with IL {current.measure('il'):.2f} %."
    return words


def _none_admissible(measured: Sequence[Cell], spec: ReleaseSpec) -> str:
    """Say which choice comes nearest to the limits, and what it misses."""

    def excess(cell: Cell) -> tuple[int, float]:
        failed = [verdict for verdict in cell.verdicts if not verdict.passed]
        return len(failed), sum(abs(v.value - v.limit) / (abs(v.limit) or 1.0) for v in failed)

    allowed = [cell for cell in measured if not cell.below]
    if not allowed:
        return (
            f"No choice with the k of the spec or a larger one was measured: try k = "
            f"{spec.microaggregation.k} and more. A smaller k is never recommended."
        )
    nearest = min(allowed, key=excess)
    misses = "; ".join(
        f"{verdict.title} is {verdict.shown_value}, must be {verdict.shown_limit}"
        for verdict in nearest.verdicts
        if not verdict.passed
    )
    return (
        f"None of {len(allowed)} choices keeps all limits. {nearest.name} comes nearest: "
        f"{misses}. Try other k, or have the limits reviewed."
    )


def _unmeasured(cells: Sequence[Cell]) -> Iterator[str]:
    """Say how many choices were not measured, and why."""
    faults = Counter(cell.fault for cell in cells if cell.evaluation is None)
    if faults:
        common = faults.most_common(REASONS)
        reasons = [f"{fault} ({count})" for fault, count in common]
        others = faults.total() - sum(count for _, count in common)
        reasons += [f"other reasons ({others})"] if others else []
        yield (
            f"Caution: {faults.total()} of {len(cells)} choices were not measured and may be "
            f"better: {'; '.join(reasons)}."
        )


def timed(cell: Cell, seconds: float) -> Cell:
    """Note how long a cell took."""
    return replace(cell, seconds=seconds)
