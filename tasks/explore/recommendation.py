"""The recommendation of an exploration, with everything that it could not take into account."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, best
from tasks.explore.proposal import propose

REASONS = 3
"""Number of reasons that a recommendation gives for choices that were not measured."""
NAMES = 4
"""Number of names that it lists; the page lists all."""


def recommendation(cells: Sequence[Cell], spec: ReleaseSpec) -> str:
    """Recommend a choice, with reasons; propose missing ceilings; name all that was left out."""
    measured = [cell for cell in cells if cell.evaluation is not None]
    sentences = [_choice(measured, spec) if measured else "No choice could be measured."]
    proposal = propose(cells, spec)
    if proposal is not None:
        sentences.append(proposal.sentence)
    return " ".join([*sentences, *_unmeasured(cells), *_shortened(cells), *_left_out(cells)])


def methods_not_tried(cells: Sequence[Cell]) -> list[str]:
    """List the methods that no choice has; `best`, which mostly loses least, comes first."""
    tried = {cell.choice.method for cell in cells}
    return sorted((name for name in METHODS if name not in tried), key=lambda name: name != "best")


def orderings_not_tried(cells: Sequence[Cell]) -> list[str]:
    """List the orderings that no choice has; none if no method that cuts a path was tried."""
    tried = {cell.choice.ordering for cell in cells} - {None}
    return [name for name in ORDERINGS if tried and name not in tried]


def measures_not_computed(cells: Sequence[Cell]) -> list[str]:
    """List the measures that no choice has; a release computes all that apply."""
    known = {name for cell in cells if cell.evaluation for name in cell.evaluation.measures}
    return [name for name in MEASURES if name not in known]


def _choice(measured: Sequence[Cell], spec: ReleaseSpec) -> str:
    chosen = best(measured)
    if chosen is None:
        return _none_admissible(measured, spec)
    admissible = [cell for cell in measured if cell.admissible]
    il, dld = chosen.measure("il"), chosen.measure("dld")
    limits = "the limits given so far" if spec.gate.ceilings.missing else "the limits"
    words = (
        f"Use {chosen.name}: it has the lowest IL ({il:.2f} %, with DLD {dld:.2f} %) of all "
        f"choices that meet {limits} ({len(admissible)} of {len(measured)} measured)."
    )
    runner_up = best([cell for cell in admissible if cell.family != chosen.family])
    if runner_up is not None:
        words += f" The next best is {runner_up.name}, with IL {runner_up.measure('il'):.2f} %."
    if chosen.gap_in_words:
        words += (
            f" No method could lose less than {chosen.least:.2f} % at k = {chosen.choice.k}, so "
            f"this is {chosen.gap_in_words}."
        )
    current = next((cell for cell in measured if _is_current(cell.choice, spec)), None)
    if current is None:
        words += " The choice in the spec was not measured."
    elif current != chosen:
        words += f" The spec now uses {current.name}, with IL {current.measure('il'):.2f} %."
    return words


def _is_current(choice: MicroaggregationSection, spec: ReleaseSpec) -> bool:
    """Check whether a choice is that of the spec; explorations add iterations to a search."""
    return _without_iterations(choice) == _without_iterations(spec.microaggregation)


def _without_iterations(choice: MicroaggregationSection) -> MicroaggregationSection:
    options = {name: value for name, value in choice.options.items() if name != "iterations"}
    return choice.model_copy(update={"options": options})


def _none_admissible(measured: Sequence[Cell], spec: ReleaseSpec) -> str:
    """Name the choice that comes closest to the limits, and the limits that it misses."""

    def excess(cell: Cell) -> tuple[int, float]:
        failed = [verdict for verdict in cell.verdicts if not verdict.passed]
        # a measure that does not apply fails for every choice
        applying = [verdict for verdict in failed if not math.isnan(verdict.value)]
        return len(failed), sum(abs(v.value - v.limit) / (abs(v.limit) or 1.0) for v in applying)

    candidates = [cell for cell in measured if not cell.below]
    if not candidates:
        return (
            f"No choice with at least the k of the spec was measured: try k = "
            f"{spec.microaggregation.k} or larger. A smaller k is never recommended."
        )
    closest = min(candidates, key=excess)
    misses = "; ".join(
        f"{verdict.title} does not apply to this table: drop its limit"
        if math.isnan(verdict.value)
        else f"{verdict.title} is {verdict.shown_value} but must be {verdict.shown_limit}"
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


def _shortened(cells: Sequence[Cell]) -> Iterator[str]:
    """Name the searches that got fewer iterations than a release without a budget spends."""
    methods = sorted({cell.choice.method for cell in cells if cell.shortened})
    if methods:
        yield (
            f"So that it fits the time limit, {_named(methods)} got fewer iterations than by "
            "default; with more --seconds it may lose less."
        )


def _left_out(cells: Sequence[Cell]) -> Iterator[str]:
    """Name everything that was not part of the exploration."""
    parts = [
        f"{kind} {_named(names)}"
        for kind, names in (
            ("methods", methods_not_tried(cells)),
            ("orderings", orderings_not_tried(cells)),
        )
        if names
    ]
    if parts:
        yield f"Not tried: {'; '.join(parts)}."
    if any(cell.evaluation for cell in cells):
        lacking = measures_not_computed(cells)
        yield (
            f"Of {len(MEASURES)} measures, {len(lacking)} were not computed here; a dry run "
            "computes all that apply."
        )


def _named(names: Iterable[str]) -> str:
    """List a few names, and count the others."""
    first, rest = [*names][:NAMES], [*names][NAMES:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")
