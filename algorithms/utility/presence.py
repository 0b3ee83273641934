"""Values and records that were filled in, blanked, withheld or merged, and weighted totals."""

from collections.abc import Callable

import numpy as np

from algorithms.attributes import WithMissing, is_missing
from algorithms.comparison import Files
from algorithms.measure import Measure


def filled(files: Files, column: int) -> float:
    """Give the share of records in which a missing value is published as a value, in per cent."""
    before, after = files.original.keys[column], files.published.keys[column]
    return float(100.0 * (is_missing(before) & ~is_missing(after)).mean())


def blanked(files: Files, column: int) -> float:
    """Give the share of records in which a value is published as missing, in per cent."""
    before, after = files.original.keys[column], files.published.keys[column]
    return float(100.0 * (~is_missing(before) & is_missing(after)).mean())


def withheld(files: Files) -> float | None:
    """Give the share of records that are left out; None if groups may cross the whole table."""
    if files.sets is None:
        return None
    left_out = 0 if files.withheld is None else len(files.withheld)
    return 100.0 * left_out / (files.rows + left_out)


def merged(files: Files) -> float | None:
    """Give the share of records whose stratum is published as a wider one; None without strata."""
    if not files.original.strata:
        return None
    return 100.0 * files.merged / files.rows


def weighted_total_change(files: Files) -> float | None:
    """Give the largest relative change of a weighted total; None if no weights are published."""
    weights, published = files.original.weights, files.published.weights
    if weights is None or published is None:
        return None
    pairs = [
        (attribute.numbers(before), attribute.numbers(after))
        for attribute, before, after in zip(
            files.original.attributes,
            files.original.keys,
            files.published.keys,
            strict=True,
        )
    ]
    pairs += [(codes.numbers, codes.numbers) for codes in files.original.confidential.values()]
    changes = []
    for before, after in pairs:
        if before is not None and after is not None:
            original = float(np.nansum(weights * before))
            if original:
                changes.append(abs(float(np.nansum(published * after)) - original) / abs(original))
    return 100.0 * max(changes) if changes else None


def _largest(files: Files, share: Callable[[Files, int], float]) -> float | None:
    columns = [
        j
        for j, attribute in enumerate(files.original.attributes)
        if isinstance(attribute, WithMissing)
    ]
    return max((share(files, j) for j in columns), default=None)


MEASURES = (
    Measure(
        name="filled",
        title="filled values",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Share of records in which a missing value is published as a value, in the key column "
            "where that is most frequent."
        ),
        paper="DT05",
        run=lambda files: _largest(files, filled),
        most=100.0,
    ),
    Measure(
        name="blanked",
        title="blanked values",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Share of records in which a value is published as missing, in the key column where "
            "that is most frequent."
        ),
        paper="DT05",
        run=lambda files: _largest(files, blanked),
        most=100.0,
    ),
    Measure(
        name="withheld",
        title="withheld records",
        kind="utility",
        unit="%",
        better="lower",
        definition="Share of records that are not published, because their stratum is too small.",
        paper="SWE02",
        run=withheld,
        most=100.0,
    ),
    Measure(
        name="merged",
        title="records in merged strata",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Share of records whose stratum is published as a wider one, because it is too small."
        ),
        paper="SWE02",
        run=merged,
        most=100.0,
    ),
    Measure(
        name="weighted_total_change",
        title="largest change of a weighted total",
        kind="utility",
        unit="%",
        better="lower",
        definition=(
            "Largest relative change of the weighted total of a numeric key column or confidential "
            "column, with the weights that are published."
        ),
        paper="DMT01",
        run=weighted_total_change,
    ),
)
