"""The rules of the section ``series`` that concern other sections of a spec, too."""

from collections.abc import Iterator

from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.gate import MANDATORY, GateSection
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.sections.series import COHORTS, LASTING, NEW_EACH_PERIOD, SeriesSection

COMPARING = (
    "candidates_min", "under_k_across", "singled_out", "muted", "lone_changes", "l_across",
    "row_links", "exact_singled_out", "solved", "il_over_fresh",
)  # fmt: skip
"""Measures that follow persons from release to release."""

PROMISED = ("candidates_min", "lone_changes")
"""Measures that have a limit wherever groups last, whatever the gate says."""


def series_faults(
    series: SeriesSection | None,
    columns: ColumnsSection,
    grouping: MicroaggregationSection,
    gate: GateSection,
) -> Iterator[str]:
    """Give the faults of a section ``series`` beside the others, and of limits without it."""
    yield from _persons_at_fault(series, columns, gate)
    if series is None:
        return
    if series.method == COHORTS and grouping.each_column:
        yield (
            "series.method: cohorts keeps groups of all quasi-identifiers together, and "
            "microaggregation.each_column groups each on its own: drop one of them"
        )
    strays = [name for name in series.stable if name not in columns.muted]
    if strays:
        yield (
            "series.stable must name confidential or other columns; these are not: "
            f"{', '.join(map(repr, strays))}"
        )


def _persons_at_fault(
    series: SeriesSection | None, columns: ColumnsSection, gate: GateSection
) -> Iterator[str]:
    """Give the faults of limits, or of a series, that nothing could ever be compared for."""
    limited = [name for name in COMPARING if name in {**gate.ceilings.all, **gate.floors.all}]
    limits = f"gate: limits on {', '.join(limited)}"
    if series is not None and series.persons == NEW_EACH_PERIOD:
        if limited:
            yield (
                f"{limits} follow persons from release to release; series.persons "
                f"says {NEW_EACH_PERIOD}: drop these limits"
            )
        return
    if not columns.identifiers and (limited or series is not None):
        subject = limits if limited else "series: comparisons of releases"
        yield (
            f"{subject} need identifiers, which tell whether two records are of one person; "
            "columns.identifiers names none: name them, or declare series.persons: "
            f"{NEW_EACH_PERIOD} with a reason, without such limits"
        )
    if "l_across" in limited and (series is None or not series.stable):
        yield (
            "gate: a limit on l_across is about columns whose values hardly change; "
            "series.stable names none: name them"
        )
    if "il_over_fresh" in limited and (series is None or series.method != COHORTS):
        yield (
            "gate: a limit on il_over_fresh is about series.method: cohorts; the groups of this "
            "spec are fresh: drop the limit"
        )


def series_warnings(series: SeriesSection | None) -> Iterator[str]:
    """Warn of assumptions that nobody can prove."""
    if series is not None and series.links == "measured":
        yield (
            "series.links: measured assumes that an attacker follows only those records that "
            "matching published values finds; that is a measurement, not a proof, and a better "
            "attacker may follow more"
        )
    if series is not None and series.persons != LASTING:
        yield (
            f"series.persons: {NEW_EACH_PERIOD} means that releases are never compared; a person "
            "who is in two of them is not protected across them"
        )


def ceilings_to_give(gate: GateSection, series: SeriesSection | None) -> tuple[str, ...]:
    """Name the measures without whose ceilings nothing can be released, and that have none."""
    needed = mandatory_ceilings(series)
    return tuple(name for name in needed if name not in gate.ceilings.all)


def mandatory_ceilings(series: SeriesSection | None) -> tuple[str, ...]:
    """Name the measures that a release must have a ceiling for.

    Cohorts could mute every record, so that someone must say how many they may.
    """
    lasting = series is not None and series.method == COHORTS
    return (*MANDATORY, "muted") if lasting else MANDATORY
