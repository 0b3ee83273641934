"""Replays past periods of a series by several choices; publishes nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from algorithms.errors import SpecError
from expectations.request.named import Changes, resolve_spec, spec_from_file
from expectations.request.sections.series import SeriesSection
from expectations.request.spec import ReleaseSpec
from expectations.request.spec_file import load
from tasks.replay.choice import CEILINGS_TRIED, choices
from tasks.replay.engine import LARGEST_BOUND, Replay
from tasks.replay.findings import Findings
from tasks.replay.periods import (
    FEWEST_PERIODS,
    check_followed,
    counted,
    periods_at_hand,
    read_periods,
)


def period_specs(path: Path, periods: Sequence[str] | None) -> tuple[ReleaseSpec, ...]:
    """Read a spec for each period; by default those whose files are at hand.

    Raises
    ------
    SpecError
        If the spec is not valid, persons cannot be followed, or there are too few periods.
    """
    spec = load(path)
    check_followed(spec)
    names = periods_at_hand(spec) if periods is None else tuple(dict.fromkeys(periods))
    if len(names) < FEWEST_PERIODS:
        raise SpecError(
            f"a replay must have at least {FEWEST_PERIODS} periods; {len(names)} found: put "
            "their files where source.path expects them, or name periods with --periods"
        )
    found = []
    for name in names:
        with spec_from_file(path, Changes.of(name)) as named:
            found.append(resolve_spec(named, datetime.now(UTC)).spec)
    return tuple(found)


def replayed(
    specs: Sequence[ReleaseSpec],
    windows: Sequence[int | None] | None = None,
    ceilings: Sequence[float] | None = None,
) -> Findings:
    """Release past periods again by every choice, and prove what no method can avoid.

    Parameters
    ----------
    specs : sequence of ReleaseSpec
        The spec of each period, the oldest first.
    windows : sequence of (int or None), optional
        Releases over which attackers can follow a record; by default all, and the spec's window.
    ceilings : sequence of float, optional
        Largest losses of cohorts over those of fresh groups; by default 1.1, 1.25, 1.5 and that of
        the spec.
    """
    series = specs[-1].series or SeriesSection()
    windows = windows or tuple(dict.fromkeys((None, series.window)))
    tables = read_periods(specs)
    replay = Replay(tables, specs)
    tried = choices(specs[-1], windows, ceilings or (*CEILINGS_TRIED, series.il_over_fresh))
    total = len(tried) * len(specs)
    bounds = {window: replay.bounds(window) for window in windows}
    return Findings(
        spec=specs[-1],
        periods=counted([str(spec.release.period) for spec in specs], tables),
        replays=tuple(replay.run(choice, total) for choice in tried),
        bounds=bounds,
        unproven="" if any(bounds.values()) else _unproven(replay),
    )


def _unproven(replay: Replay) -> str:
    if replay.is_large:
        return f"a period has more than {LARGEST_BOUND:,} records"
    return "no lower bound is proven for records with weights"
