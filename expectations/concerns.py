"""Which measures of a masked file a reader should look at first, and why."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from algorithms.measures import MEASURES

Level = Literal["high", "medium", "low"]
LEVELS: tuple[Level, ...] = ("high", "medium", "low")
"""From the most worrying to the least."""


@dataclass(frozen=True)
class Concern:
    """A measure, and how much it should worry a reader.

    Attributes
    ----------
    measure : str
        Its name.
    title : str
        Its name for people.
    value : float
        Its value.
    level : {"high", "medium", "low"}
        How much it should worry a reader.
    why : str
        One sentence, with the figure.
    """

    measure: str
    title: str
    value: float
    level: Level
    why: str


RULES_OF_THUMB: dict[str, tuple[float, float, str]] = {
    "il": (15, 30, "the published values lose {value} of the variance of the originals"),
    "il1s": (0.15, 0.3, "values moved by about 1.4 times {value} standard deviations on average"),
    "il_over_bound": (2, 4, "IL is up to {value} the least that is possible: try other methods"),
    "category_error": (5, 15, "{value} of the published labels are not those of their records"),
    "margin_change": (1, 5, "the totals of labels changed by {value} of the records"),
    "association_change": (0.05, 0.15, "associations between columns changed by {value} on "
                           "average"),
    "filled": (2, 10, "{value} of the records show a value where theirs is missing, in one column"),
    "blanked": (2, 10, "{value} of the records show no value where they have one, in one column"),
    "withheld": (1, 5, "{value} of the records are left out, because their stratum is too small"),
    "merged": (5, 25, "the stratum of {value} of the records is published as a wider one"),
    "weighted_total_change": (1, 5, "the weighted total of a column changed by {value}"),
    "mean_change": (0.01, 0.1, "the mean of a column moved by {value}"),
    "variance_change": (25, 50, "the variance of a column changed by {value}"),
    "quantile_change": (0.1, 0.3, "a quantile of a column moved by {value}"),
    "correlation_change": (0.1, 0.3, "the correlation of two columns changed by {value}"),
    "correlation_change_mean": (0.05, 0.15, "correlations changed by {value} on average"),
    "spectrum_change": (10, 25, "the variance along one direction changed by {value} of the total"),
    "spectrum_change_mean": (5, 15, "variances along directions changed by {value} on average"),
    "pmse": (0.025, 0.1, "a model tells published from original records apart, with a pMSE of "
             "{value}"),
    "below_k": (1, 1, "{value} combinations occur in fewer than k records"),
    "within_records": (10, 30, "{value} of the records lie close to their originals in every "
                       "masked column"),
    "within_values": (50, 80, "{value} of the masked values lie close to their originals"),
    "within_ranks_records": (20, 50, "{value} of the records hardly change their ranks"),
    "within_ranks_values": (70, 90, "{value} of the masked values hardly change their ranks"),
    "under_k_across": (1, 10, "comparing releases leaves fewer than k candidates for {value} of "
                       "the visible records"),
    "singled_out": (0.01, 1, "comparing releases singles out {value} of the visible records"),
    "muted": (5, 15, "{value} of the records are muted, outliers and movers first"),
    "lone_changes": (1, 1, "{value} groups differ from an earlier one by a single person, whose "
                     "values follow from the two averages"),
    "row_links": (10, 50, "{value} of the records can be followed from the last release by their "
                  "published values"),
    "solved": (20, 50, "someone who can follow records and solves the averages of all releases "
               "finds the original of {value} of them"),
    "il_over_fresh": (1.25, 2, "groups that last lose {value} the IL of fresh ones"),
    "one_value": (1, 10, "the group shares one value of a confidential column for {value} of the "
                  "records, and anyone who finds the group learns that value"),
    "t_equal": (0.5, 0.9, "confidential values of a group are distributed unlike those of the "
                "table, at a distance of {value} of at most 1"),
    "t_ordered": (0.3, 0.5, "confidential numbers of a group are distributed unlike those of the "
                  "table, at a distance of {value} of at most 1"),
}  # fmt: skip
"""From which value on a measure for which lower is better is of medium and of high concern, and
its sentence. These are conventions, not theorems."""

LINKED: dict[str, tuple[float, float]] = {
    "dld": (0.75, 0.95),
    "dld_optimistic": (0.75, 0.95),
    "dld_pessimistic": (0.75, 0.95),
    # at worst these are 1/k, which is what k promises
    "linked_nearest": (0.95, math.inf),
    "reidentified_best": (0.95, math.inf),
}
"""From which share of the worst possible value on a linked share of the records is of medium and of
high concern; picking a record of each group at random links 1/k of them."""

TIES = ("dld_optimistic", "dld_pessimistic")
"""Measures that differ from DLD only if originals tie."""

NEAR_LIMIT = (0.9, 1.0)
"""Share of its limit from which on a measure is of medium concern, and above which it is high."""

DIVERSITY = {"l_distinct": (3.0, 1.0), "l_entropy": (2.0, 1.0)}
"""Below which value diversity is of medium concern, and down to which it is high."""

LINKED_BY_KNOWN = 0.9
"""Share of 1/k, which k allows, from which on a share linked by known columns is of concern."""

STANDS_OUT = 10.0
"""Share of records, in per cent, from which on records that stand out by confidential columns are
of medium concern; never of high, because attackers are held not to know these columns."""

ROUNDING_SHARE = (0.1, 0.5)
"""Share of IL from which on rounding is of medium and of high concern."""

SMALL_K = 2
"""In a group of so many records, one member can compute the values of the other."""

DESCRIBES_THE_TABLE = ("sse", "sst", "il_bound")
"""Measures that depend on the table more than on how it was masked."""


@dataclass(frozen=True)
class _Finding:
    """One reason to worry; severity is 1 where high concern begins."""

    level: Level
    severity: float
    why: str


def concerns(
    measures: Mapping[str, float], k: int, limits: Mapping[str, float]
) -> tuple[Concern, ...]:
    """Rank measures by how much they should worry a reader, the most worrying first.

    Parameters
    ----------
    measures : mapping of str to float
        Measures of a masked file by name; unknown names are ignored.
    k : int
        Smallest group allowed.
    limits : mapping of str to float
        Ceilings and floors by the name of their measure.

    Examples
    --------
    >>> for concern in concerns({"il": 33.0, "l_distinct": 1.0}, k=5, limits={"il": 40.0}):
    ...     print(concern.level, concern.why)
    high The published values lose 33 % of the variance of the originals.
    high In at least one group all records share one value of a confidential column (1).
    """
    ranked = [
        (max(_findings(name, measures, k, limits), key=_weight), name)
        for name in MEASURES
        if name in measures
    ]
    ranked.sort(key=lambda entry: _weight(entry[0]), reverse=True)
    return tuple(
        Concern(
            name,
            MEASURES[name].title,
            measures[name],
            finding.level,
            f"{finding.why[0].upper()}{finding.why[1:]}.",
        )
        for finding, name in ranked
    )


def _weight(finding: _Finding) -> tuple[int, float]:
    return -LEVELS.index(finding.level), finding.severity


def _findings(
    name: str, measures: Mapping[str, float], k: int, limits: Mapping[str, float]
) -> Iterator[_Finding]:
    """Give every reason to worry about one measure, and one reason not to."""
    value = measures[name]
    shown = _shown(name, value)
    yield _Finding("low", -1.0, _harmless(name, shown))
    if math.isnan(value):
        yield _Finding("medium", 0.0, f"it is {shown}, because it could not be computed")
        return
    if name in limits and name not in ("k", "k_units"):
        yield _near_limit(name, value, limits[name])
    if name in LINKED and not (name in TIES and value == measures.get("dld")):
        yield _linked(name, value, k)
    if name in RULES_OF_THUMB:
        medium, high, sentence = RULES_OF_THUMB[name]
        if name == "t_equal" and "t_ordered" in measures:
            # nearly all values of a numeric column differ, in any group and in the table
            high = math.inf
        yield _finding(value, medium, high, sentence.format(value=shown))
    special = SPECIAL.get(name)
    if special is not None:
        yield special(value, k, measures)


def _finding(value: float, medium: float, high: float, why: str) -> _Finding:
    level: Level = "high" if value >= high else "medium" if value >= medium else "low"
    return _Finding(level, value / (medium if math.isinf(high) else high), why)


def _near_limit(name: str, value: float, limit: float) -> _Finding:
    """Compare a measure with its limit."""
    lower = MEASURES[name].better == "lower"
    over, under = (value, limit) if lower else (limit, value)
    share = over / under if under > 0.0 else math.inf if over > 0.0 else 0.0
    kind = "ceiling" if lower else "floor"
    medium, high = NEAR_LIMIT
    found = f"{_shown(name, value)} against a {kind} of {_shown(name, limit)}"
    if share > high:
        return _Finding("high", share, f"it misses its limit, with {found}")
    if share >= medium:
        return _Finding("medium", share, f"it is close to its limit, with {found}")
    return _Finding("low", share, f"it keeps its limit well, with {found}")


def _linked(name: str, value: float, k: int) -> _Finding:
    """Compare a linked share with the largest possible one, and with a guess in each group."""
    worst = MEASURES[name].worst_at(k)
    guess = 100.0 / k
    why = (
        f"an attacker who holds the originals links {_shown(name, value)} of the records, of at "
        f"most {_shown(name, worst)}; a guess in each group links {_shown(name, guess)}"
    )
    return _finding(value / worst, *LINKED[name], why)


def _rounding(value: float, _k: int, measures: Mapping[str, float]) -> _Finding:
    il = measures.get("il", 0.0)
    share = value / il if il > 0.0 else 0.0
    why = (
        f"rounding averages accounts for {_shown('rounding', value)} of an IL of {_shown('il', il)}"
    )
    advice = ": publish more decimals" if share >= ROUNDING_SHARE[0] else ""
    return _finding(share, *ROUNDING_SHARE, why + advice)


def _smallest_group(counted: str) -> Callable[[float, int, Mapping[str, float]], _Finding]:
    def judged(value: float, k: int, _measures: Mapping[str, float]) -> _Finding:
        size = f"the smallest group has {value:.0f} {counted}"
        if value < k:
            return _Finding("high", k / value, f"{size}, not {k}")
        if value <= SMALL_K:
            why = f"in a group of {value:.0f}, each member can compute the values of the other"
            return _Finding("medium", 1.0, why)
        return _Finding("low", 0.0, f"{size}, as it must")

    return judged


def _linked_by_known(value: float, k: int, _measures: Mapping[str, float]) -> _Finding:
    """Compare a linked share with 1/k, which k allows."""
    allowed = 100.0 / k
    why = (
        "an attacker who knows every column that is counted into k links "
        f"{_shown('linked_known', value)} of the records; groups of {k} allow at most "
        f"{_shown('linked_known', allowed)}"
    )
    return _finding(value / allowed, LINKED_BY_KNOWN, math.inf, why)


def _if_known(
    name: str, columns: str, stands_out: str
) -> Callable[[float, int, Mapping[str, float]], _Finding]:
    """Judge records that stand out only if attackers know confidential columns after all."""

    def judged(value: float, _k: int, measures: Mapping[str, float]) -> _Finding:
        why = (
            f"if an attacker knows {columns} after all, {_shown(name, value)} of the records "
            f"{stands_out}; such shares are usual for columns of numbers, and k does not cover them"
        )
        if name in FOLLOWS and FOLLOWS[name] in measures:
            # the other measure tells of the same records
            return _finding(value - measures[FOLLOWS[name]], STANDS_OUT, math.inf, why)
        return _finding(value, STANDS_OUT, math.inf, why)

    return judged


FOLLOWS = {
    "below_k_with_one": "unique_with_one",
    "unique_with_all": "unique_with_one",
    "below_k_with_all": "unique_with_all",
}
"""Measures of records that stand out by confidential columns: only those that stand out by the
second measure's columns not yet are of concern."""


def _diversity(name: str) -> Callable[[float, int, Mapping[str, float]], _Finding]:
    medium, high = DIVERSITY[name]

    def judged(value: float, _k: int, measures: Mapping[str, float]) -> _Finding:
        shown = _shown(name, value)
        if value <= high:
            why = "in at least one group all records share one value of a confidential column"
            # one such group among thousands gives this value, too: their share tells more
            level: Level = "medium" if "one_value" in measures else "high"
            return _Finding(level, 1.0, f"{why} ({shown})")
        why = f"the group with the fewest has {shown} different values of a confidential column"
        if name == "l_entropy":
            why = f"confidential values of a group are as varied as {shown} equally frequent ones"
        return _Finding("medium" if value < medium else "low", medium / value / 2.0, why)

    return judged


def _candidates(value: float, k: int, _measures: Mapping[str, float]) -> _Finding:
    """Compare the fewest candidates across releases with k."""
    why = f"comparing releases leaves {value:.0f} candidates for at least one visible record"
    if value < k:
        return _Finding("high", k / value, f"{why}, not {k}")
    return _Finding("low", 0.0, f"{why}, as many as k asks for")


def _values_across(value: float, _k: int, _measures: Mapping[str, float]) -> _Finding:
    """Judge the values of a stable column that comparisons leave."""
    if value <= 1:
        why = "comparing releases leaves one value of a stable column for at least one record"
        return _Finding("high", 1.0, why)
    why = f"comparing releases leaves at least {value:.0f} values of each stable column"
    return _Finding("medium" if value <= SMALL_K else "low", 1.0 / value, why)


SPECIAL: dict[str, Callable[[float, int, Mapping[str, float]], _Finding]] = {
    "rounding": _rounding,
    "k": _smallest_group("records"),
    "k_units": _smallest_group("units"),
    "linked_known": _linked_by_known,
    "unique_with_one": _if_known("unique_with_one", "one confidential column", "are unique"),
    "below_k_with_one": _if_known(
        "below_k_with_one", "one confidential column", "have fewer than k alike"
    ),
    "unique_with_all": _if_known("unique_with_all", "all confidential columns", "are unique"),
    "below_k_with_all": _if_known(
        "below_k_with_all", "all confidential columns", "have fewer than k alike"
    ),
    "candidates_min": _candidates,
    "l_across": _values_across,
    "l_distinct": _diversity("l_distinct"),
    "l_entropy": _diversity("l_entropy"),
}
"""Measures that no table of thresholds describes."""


def _harmless(name: str, shown: str) -> str:
    if name in DESCRIBES_THE_TABLE:
        return f"{shown} depends on the table more than on how it was masked"
    if name == "exact_singled_out":
        return f"{shown} of the records would stand out to someone who knows all absences"
    if name == "reidentified_random":
        return f"{shown} of the records would be guessed, which follows from the sizes of groups"
    return f"{shown} is no cause for concern"


def _shown(name: str, value: float) -> str:
    return f"{value:.4g} {MEASURES[name].unit}".strip()
