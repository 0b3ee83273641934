"""What to try next when a measure breaks its limit, in the order in which it should be tried."""

from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.sections.series import COHORTS, SeriesSection

DIRECT = {
    "rounding": "publish more decimals (columns.decimals)",
    "filled": "choose blank or apart for more columns in columns.missing",
    "blanked": "choose fill or apart for more columns in columns.missing",
    "withheld": "name fewer strata, then merge small ones (microaggregation.small_strata), then "
    "try a smaller k",
    "merged": "name fewer strata, then try a smaller k",
    "muted": "try a larger series.il_over_fresh, then a series.window if links do not last, then "
    "fewer releases, then a smaller k in a new series",
    "il_over_fresh": "try a smaller series.il_over_fresh, which mutes more records",
    "row_links": "drop confidential columns whose values are unique and hardly change, or publish "
    "them coarser",
    **dict.fromkeys(
        ("unique_with_one", "below_k_with_one", "unique_with_all", "below_k_with_all"),
        "make confidential columns that someone may know quasi-identifiers, or drop them",
    ),
    **dict.fromkeys(
        ("one_value", "l_distinct", "l_entropy", "t_equal", "t_ordered"),
        "try a larger k, then fewer strata, then drop the confidential column",
    ),
}
"""Remedies of measures for which neither the method nor the precision of the keys decides."""

TOLD_APART = ("candidates_min", "under_k_across", "singled_out", "exact_singled_out", "solved")
"""Measures of persons whom comparisons of releases tell apart."""


def remedy(
    measure: str,
    columns: ColumnsSection | None,
    grouping: MicroaggregationSection | None,
    series: SeriesSection | None = None,
) -> str:
    """Say what to try, and in which order.

    Utility improves first with the search, which costs nothing but time, then with fewer or coarser
    columns, and last with a smaller k, which protects less. Risk falls with a larger k, then with
    coarser columns; across releases, it falls with groups that last.

    Examples
    --------
    >>> remedy("dld", None, None)
    'try a larger k, then coarser columns (fewer decimals, dates by month or year, columns dropped)'
    """
    if measure in DIRECT:
        return DIRECT[measure]
    if measure in TOLD_APART or measure in ("lone_changes", "l_across"):
        return _lasting_groups(series)
    if MEASURES[measure].kind == "risk":
        return f"try a larger k, then coarser columns ({_less_precise(columns)})"
    calibrate = "calibrated labels (columns.published), then " * (measure == "margin_change")
    return (
        f"try {calibrate}{_better_groups(grouping)}, then coarser columns ({_simpler(columns)}), "
        "then a smaller k"
    )


def _lasting_groups(series: SeriesSection | None) -> str:
    """Name ways to tell fewer persons apart by comparing releases."""
    fewer = "publish fewer releases or fewer confidential columns"
    if series is None or series.method != COHORTS:
        return f"try groups that last (series.method: cohorts), then {fewer}"
    return (
        f"try a larger series.il_over_fresh than {series.il_over_fresh:g}, which leaves room for "
        f"larger groups, then {fewer}"
    )


def _better_groups(grouping: MicroaggregationSection | None) -> str:
    """Name the method or the budget that finds better groups."""
    if grouping is None:
        return "the method best"
    searches = METHODS[grouping.method].searches
    if not searches and grouping.refine is None:
        return "the method best with iterations"
    options = grouping.options if searches else grouping.refine or {}
    given = options.get("iterations")
    return "more iterations" if given is None else f"more than {given} iterations"


def _simpler(columns: ColumnsSection | None) -> str:
    """List ways to give groups fewer differences to bridge."""
    ways = {
        "fewer strata": columns is None or columns.strata,
        "a hierarchy in place of a category": columns is None or columns.categories,
        "columns dropped": True,
    }
    return ", ".join(way for way, applies in ways.items() if applies)


def _less_precise(columns: ColumnsSection | None) -> str:
    """List ways to publish less exactly."""
    ways = {
        "fewer decimals": columns is None or _has_reals(columns),
        "dates by month or year": columns is None or columns.dates,
        "columns dropped": True,
    }
    return ", ".join(way for way, applies in ways.items() if applies)


def _has_reals(columns: ColumnsSection) -> bool:
    other_kinds = {
        *columns.integers, *columns.dates, *columns.ordered, *columns.categories,
        *columns.hierarchies,
    }  # fmt: skip
    return not other_kinds.issuperset(columns.quasi_identifiers)
