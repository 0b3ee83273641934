"""Likely mistakes in a table that is valid: counts of labels and records, never a value."""

import unicodedata
from collections import Counter
from collections.abc import Iterator

import numpy as np

from algorithms.attributes import Category, Hierarchy, Values, WithMissing, is_missing
from algorithms.evaluation import Evaluation
from algorithms.masked import Masked
from algorithms.measures import MEASURES
from algorithms.table import Table, combinations
from expectations.manifest import InputFacts
from expectations.request.sections.series import COHORTS
from expectations.request.spec import ReleaseSpec

TELLING = ("candidates_min", "singled_out", "under_k_across", "lone_changes")
"""Measures that tell whether comparisons of releases reveal persons."""


def source_warnings(source: InputFacts) -> tuple[str, ...]:
    """Warn of codes for missing values that no cell has."""
    return tuple(
        f"source.missing_codes.{column}: {code} occurs nowhere in the source; is it written as in "
        "the source?"
        for column, counts in source.missing_codes.items()
        for code, count in counts.items()
        if not count
    )


def table_warnings(table: Table, k: int) -> tuple[str, ...]:
    """Warn of labels that look alike, of labels that will vanish, and of columns that break k."""
    return (*_labels(table, k), *_other(table, k))


def masking_warnings(masked: Masked) -> tuple[str, ...]:
    """Warn of columns in which most missing values were filled."""
    return tuple(_filled(masked))


def series_warnings(spec: ReleaseSpec, evaluation: Evaluation) -> tuple[str, ...]:
    """Warn of a series that nothing in the spec protects, with what comparisons tell."""
    if not evaluation.compared or _is_protected(spec):
        return ()
    figures = [
        f"{MEASURES[name].title} {MEASURES[name].shown(evaluation.measures[name])}"
        for name in TELLING
        if name in evaluation.measures
    ]
    count = len(evaluation.compared)
    return (
        f"nothing in the spec protects its series; compared with {count} earlier "
        f"release{'' if count == 1 else 's'}: {', '.join(figures)}. Set series.method to cohorts, "
        "or limit these measures in gate",
    )


def _is_protected(spec: ReleaseSpec) -> bool:
    """Check whether groups last, or the gate has a limit on what comparisons tell."""
    limits = {**spec.gate.ceilings.all, **spec.gate.floors.all}
    lasting = spec.series is not None and spec.series.method == COHORTS
    return lasting or not limits.keys().isdisjoint(TELLING)


def _labels(table: Table, k: int) -> Iterator[str]:
    for attribute, values in zip(table.attributes, table.keys, strict=True):
        kind = attribute.present if isinstance(attribute, WithMissing) else attribute
        if isinstance(kind, Category):
            names = kind.labels
        elif isinstance(kind, Hierarchy):
            names = tuple(kind.tree.leaves)
        else:
            continue
        alike = sum(count for count in Counter(map(_plain, names)).values() if count > 1)
        if alike:
            yield (
                f"{alike} labels of {kind.name!r} differ from another only by case, blanks or "
                "Unicode form: are they the same?"
            )
        if isinstance(kind, Category):
            yield from _rare(kind, values, k)


def _plain(label: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", label).casefold().split())


def _rare(kind: Category, values: Values, k: int) -> Iterator[str]:
    counts = np.bincount(values[~is_missing(values)], minlength=len(kind.labels))
    rare = counts[(counts > 0) & (counts < k)]
    if rare.size and kind.published != "calibrated":
        yield (
            f"{rare.size} of {len(kind.labels)} labels of {kind.name!r} stand for fewer than k={k} "
            f"records each ({int(rare.sum())} in all) and are likely to vanish: combine them "
            f"before the release, or set columns.published.{kind.name} to calibrated"
        )


def _other(table: Table, k: int) -> Iterator[str]:
    if not table.other:
        return
    names = ", ".join(map(repr, table.other))
    sizes = np.bincount(
        combinations(
            [
                *(each.values for each in table.strata),
                *(codes.values for codes in table.other.values()),
            ]
        )
    )
    yield (
        f"columns.other ({names}) counts into k, and groups do not heed it: expect the gate to "
        f"refuse. {int(sizes[sizes < k].sum())} records stand out by these columns alone. Make "
        "each of them a stratum, a quasi-identifier, confidential or dropped"
    )


def _filled(masked: Masked) -> Iterator[str]:
    columns = zip(
        masked.original.attributes, masked.original.keys, masked.published.keys, strict=True
    )
    for attribute, before, after in columns:
        if isinstance(attribute, WithMissing) and attribute.policy == "state":
            missing = is_missing(before)
            filled = int((missing & ~is_missing(after)).sum())
            if 2 * filled > int(missing.sum()):
                yield (
                    f"{filled} of {int(missing.sum())} missing values of {attribute.name!r} are "
                    "published as values; apart or blank would keep them missing"
                )
