"""The report of one attempt, for the auditor: the decision first, then everything behind it."""

from dataclasses import dataclass
from itertools import combinations

import yaml

from algorithms.evaluation import Evaluation
from algorithms.measures import MEASURES
from algorithms.profile import ColumnProfile, Profile
from algorithms.utility.moments import QUANTILES
from expectations.manifest import Manifest
from tasks.reporting import pictures
from tasks.reporting.page import render
from tasks.reporting.pictures import Svg, as_svg
from tasks.reporting.sizes import size_ranges

MOST_PAIRS = 8
"""Changes of correlations that are listed."""


@dataclass(frozen=True)
class ColumnChanges:
    """The changes of one column, in standard deviations, and the ratio of its variances."""

    name: str
    mean: float
    variance_ratio: float
    quantiles: dict[str, float]


@dataclass(frozen=True)
class ColumnPictures:
    """The pictures of one column before and after; None where nothing may be drawn."""

    column: ColumnProfile
    density: Svg | None = None
    quantiles: Svg | None = None


@dataclass(frozen=True)
class CorrelationChange:
    """The correlation of two columns before and after."""

    columns: tuple[str, str]
    original: float
    published: float

    @property
    def change(self) -> float:
        """The published correlation less the original one."""
        return self.published - self.original


@dataclass(frozen=True)
class Correlations:
    """The correlations of all columns as pictures, and the largest changes."""

    original: Svg
    published: Svg
    changes: tuple[CorrelationChange, ...]


@dataclass(frozen=True)
class Drawings:
    """All pictures of a report."""

    columns: tuple[ColumnPictures, ...]
    correlations: Correlations | None
    linkage: Svg


def release_report(manifest: Manifest, profile: Profile | None = None) -> str:
    """Write the page of one attempt, published, blocked or failed.

    Parameters
    ----------
    manifest : Manifest
        Every figure is taken from it. It lacks the parts that the attempt did not reach.
    profile : Profile, optional
        The summary of originals that may be drawn.
    """
    facts = manifest.evaluation
    evaluation = None if facts is None else Evaluation(**facts.model_dump())
    return render(
        "release_report.html",
        manifest=manifest,
        spec=yaml.safe_dump(manifest.spec, sort_keys=False, allow_unicode=True).strip(),
        verdicts=manifest.gate,
        evaluation=evaluation,
        measures=MEASURES,
        column_changes=_column_changes(manifest, evaluation),
        sizes=[] if evaluation is None else size_ranges(_sizes(evaluation)),
        profile=profile,
        drawings=None if profile is None else _drawings(profile),
    )


def _column_changes(manifest: Manifest, evaluation: Evaluation | None) -> list[ColumnChanges]:
    if evaluation is None or not evaluation.columns or not manifest.spec:
        return []
    names = manifest.spec["columns"]["quasi_identifiers"]
    return [
        ColumnChanges(
            name=name,
            mean=column["mean_change"],
            variance_ratio=column["variance_ratio"],
            quantiles={
                f"{percent} % quantile": column[key]
                for percent in QUANTILES
                # an evaluation leaves out quantiles that would describe fewer than k records
                if (key := f"quantile_{percent}_change") in column
            },
        )
        for name, column in zip(names, evaluation.columns, strict=True)
        if column
    ]


def _sizes(evaluation: Evaluation) -> dict[int, int]:
    """Read the sizes as numbers, which JSON has as text."""
    return {int(size): count for size, count in evaluation.sizes.items()}


def _drawings(profile: Profile) -> Drawings:
    return Drawings(
        columns=tuple(_column_pictures(column) for column in profile.columns),
        correlations=_correlations(profile) if len(profile.columns) > 1 else None,
        linkage=as_svg(pictures.linkage(profile), "DLD by column"),
    )


def _column_pictures(column: ColumnProfile) -> ColumnPictures:
    if not column.drawn:
        return ColumnPictures(column)
    return ColumnPictures(
        column,
        as_svg(pictures.density(column), f"Density of {column.name}, original and published"),
        as_svg(
            pictures.quantiles(column), f"Quantiles of {column.name}, published against original"
        ),
    )


def _correlations(profile: Profile) -> Correlations:
    names = [column.name for column in profile.columns]
    original, published = profile.correlations_before, profile.correlations_after
    changes = [
        CorrelationChange((names[i], names[j]), float(original[i, j]), float(published[i, j]))
        for i, j in combinations(range(len(names)), 2)
    ]
    changes.sort(key=lambda pair: -abs(pair.change))
    return Correlations(
        original=as_svg(pictures.correlation(original, names), "Correlations, original"),
        published=as_svg(pictures.correlation(published, names), "Correlations, published"),
        changes=tuple(changes[:MOST_PAIRS]),
    )
