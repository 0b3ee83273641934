"""The report of one attempt, for the auditor: the decision first, then everything behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import yaml

from algorithms.evaluation import Evaluation
from algorithms.measure import Measure
from algorithms.measures import MEASURES
from algorithms.profile import ColumnProfile, LabelProfile, Margin, Profile
from algorithms.utility.moments import QUANTILES
from expectations.concerns import Concern, concerns
from expectations.manifest import Manifest
from expectations.request.series_rules import COMPARING
from tasks.reporting import pictures
from tasks.reporting.page import MOST_CONCERNS, in_words, render
from tasks.reporting.pictures import Svg, as_svg
from tasks.reporting.sizes import size_ranges

MOST_PAIRS = 8
"""Changes of correlations that are listed."""

MOST_LABELS = 40
"""Labels of one column whose totals are listed."""

KINDS = {
    "dates": "date",
    "ordered": "ordered levels",
    "categories": "labels",
    "hierarchies": "codes in a tree",
}
"""Kinds of columns in words, by the list of the spec that names them."""

GROUPS = {
    "fresh": "fresh in every release",
    "cohorts": "last from release to release; records that could be followed are muted",
}
LINKS = {
    "perfect": "every record from release to release (the worst case)",
    "measured": "only records that matching published values finds; this is a measurement, not a "
    "proof",
}
"""Choices of the section ``series`` in words."""


@dataclass(frozen=True)
class ColumnLoss:
    """The loss of one column; None where a share does not apply or was not recorded.

    Attributes
    ----------
    name, kind : str
        The column, and its kind in words.
    il : float
        Its IL in per cent.
    filled, blanked : float or None
        Records with a value in place of a missing one, and the reverse, in per cent.
    error, totals : float or None
        For labels and codes: records whose label is not theirs, and the change of the totals of
        labels, in per cent.
    """

    name: str
    kind: str
    il: float
    filled: float | None
    blanked: float | None
    error: float | None
    totals: float | None


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
class LabelPictures:
    """The totals of a column of labels or codes, before and after.

    Attributes
    ----------
    column : LabelProfile
        The totals.
    listed : tuple of Margin
        The most frequent labels.
    bars : Svg
        Their totals as bars; None if no label may be shown.
    """

    column: LabelProfile
    listed: tuple[Margin, ...]
    bars: Svg | None


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

    columns: tuple[ColumnPictures | LabelPictures, ...]
    correlations: Correlations | None
    linkage: Svg


@dataclass(frozen=True)
class Bounds:
    """The least possible IL for values of k around that of the release.

    Attributes
    ----------
    least : dict of int to float
        The least possible IL in per cent, by k.
    picture : Svg, optional
        The bounds as a curve, with the release; None if there are none.
    sentence : str
        What the nearest other k would cost; empty if there are none.
    note : str
        Why there are none, or how they were computed if that is not as usual; otherwise empty.
    """

    least: dict[int, float]
    picture: Svg | None
    sentence: str
    note: str


@dataclass(frozen=True)
class Compared:
    """The release beside the earlier ones of its series.

    Attributes
    ----------
    editions : tuple of str, optional
        The releases that it was compared with; None if persons cannot be followed.
    terms : dict of str to str
        What the spec says about the series, for people.
    decisions : dict of str to str
        Decisions that someone gave a reason for, and the reason.
    measured : tuple of Measure
        Measures that follow persons from release to release, and have a value.
    omitted : dict of str to str
        Titles of such measures that were left out, and why.
    """

    editions: tuple[str, ...] | None
    terms: dict[str, str]
    decisions: dict[str, str]
    measured: tuple[Measure, ...]
    omitted: dict[str, str]


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
    # a manifest has one part beside the measures of one file
    evaluation = None if facts is None else Evaluation(**facts.model_dump(exclude={"bounds"}))
    return render(
        "release_report.html",
        manifest=manifest,
        spec=yaml.safe_dump(elided(manifest.spec), sort_keys=False, allow_unicode=True).strip(),
        roles=manifest.spec.get("columns", {}),
        verdicts=manifest.gate,
        evaluation=evaluation,
        concerns=_concerns(manifest, evaluation),
        compared=_compared(manifest, evaluation),
        measures=MEASURES,
        losses=list(_losses(manifest, evaluation)),
        column_changes=_column_changes(manifest, evaluation),
        bounds=_bounds(manifest),
        sizes=[] if evaluation is None else size_ranges(_sizes(evaluation)),
        profile=profile,
        drawings=None if profile is None else _drawings(profile),
    )


def _concerns(manifest: Manifest, evaluation: Evaluation | None) -> tuple[Concern, ...]:
    """Rank the measures that give cause for concern."""
    if evaluation is None or not manifest.k:
        return ()
    limits = {verdict.measure: verdict.limit for verdict in manifest.gate}
    ranked = concerns(evaluation.measures, manifest.k, limits)
    return tuple(concern for concern in ranked if concern.level != "low")[:MOST_CONCERNS]


def _bounds(manifest: Manifest) -> Bounds | None:
    """Draw the least possible IL by k; versions before 0.4 recorded none."""
    facts = manifest.evaluation
    if facts is None or facts.bounds is None:
        return None
    least, k = dict(sorted(facts.bounds.least.items())), manifest.k
    if not least:
        return Bounds({}, None, "", facts.bounds.note)
    il = facts.measures["il"]
    drawing = pictures.bounds(least, k, il)
    label = f"Least possible IL by k, and this release: k = {k} and an IL of {il:.4g} %"
    return Bounds(least, as_svg(drawing, label), _next_to(least, k), facts.bounds.note)


def _next_to(least: Mapping[int, float], k: int) -> str:
    """Say what a smaller and a larger k would cost at least."""
    near = [other for other in (k - 1, k, k + 1) if other in least]
    words = [f"{least[other]:.4g} % with k = {other}" for other in near]
    return f"Every release loses at least {in_words(words)}." if words else ""


def _compared(manifest: Manifest, evaluation: Evaluation | None) -> Compared | None:
    """Describe the release beside earlier ones; None if neither figures nor the spec tell of it."""
    series = manifest.spec.get("series") or {}
    decisions = _decisions(manifest, series)
    if evaluation is None or (evaluation.compared is None and not series and not decisions):
        return None
    follow = [MEASURES[name] for name in MEASURES if name in COMPARING]
    return Compared(
        editions=evaluation.compared,
        terms=_terms(series),
        decisions=decisions,
        measured=tuple(each for each in follow if each.name in evaluation.measures),
        omitted={
            each.title: evaluation.notes[each.name]
            for each in follow
            if each.name in evaluation.notes and each.name not in evaluation.measures
        },
    )


def _terms(series: Mapping[str, Any]) -> dict[str, str]:
    """Say how releases are protected together."""
    if not series:
        return {"Section series of the spec": "none: releases are compared, and only warned of"}
    window = series["window"]
    return {
        "Groups": GROUPS[series["method"]],
        "Persons": series["persons"],
        "An attacker can follow": LINKS[series["links"]],
        "Over": "all releases" if window is None else f"{window} releases, this one included",
    }


def _decisions(manifest: Manifest, series: Mapping[str, Any]) -> dict[str, str]:
    """Collect the decisions that every report repeats, with their reasons."""
    found = {}
    if series.get("reason"):
        found["No person is in two releases"] = series["reason"]
    if series.get("start"):
        start = series["start"]
        found[f"Releases before {start['period']} are not compared"] = start["reason"]
    reason = manifest.spec.get("release", {}).get("reason")
    if reason:
        found["The period is published again"] = reason
    return found


def elided(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the lines of hierarchy files, which can be thousands, from a spec that is shown.

    Examples
    --------
    >>> tree = {"file": "isco.csv", "sha256": "ab", "rows": [["1", "*"], ["2", "*"]]}
    >>> elided({"columns": {"hierarchies": {"isco": tree}}})
    {'columns': {'hierarchies': {'isco': {'file': 'isco.csv', 'sha256': 'ab', 'rows': '2 lines, \
not shown'}}}}
    """
    columns = spec.get("columns") or {}
    trees = columns.get("hierarchies")
    if not trees:
        return dict(spec)
    shown = {
        name: {**tree, "rows": f"{len(tree['rows']):,} lines, not shown"}
        if tree.get("rows")
        else tree
        for name, tree in trees.items()
    }
    return {**spec, "columns": {**columns, "hierarchies": shown}}


def _keys(
    manifest: Manifest, evaluation: Evaluation | None
) -> Iterator[tuple[str, dict[str, float]]]:
    """Give the name and the figures of each quasi-identifier, if there are any."""
    if evaluation is not None and evaluation.columns and manifest.spec:
        names = manifest.spec["columns"]["quasi_identifiers"]
        yield from zip(names, evaluation.columns, strict=True)


def _losses(manifest: Manifest, evaluation: Evaluation | None) -> Iterator[ColumnLoss]:
    """List the loss of each column; formats 1 and 2 recorded none."""
    for name, column in _keys(manifest, evaluation):
        if "il" in column:
            yield ColumnLoss(
                name=name,
                kind=_kind(name, manifest.spec["columns"]),
                il=column["il"],
                filled=column.get("filled"),
                blanked=column.get("blanked"),
                error=column.get("label_error"),
                totals=column.get("margin_change"),
            )


def _kind(name: str, columns: Mapping[str, Any]) -> str:
    return next((kind for key, kind in KINDS.items() if name in columns.get(key, ())), "number")


def _column_changes(manifest: Manifest, evaluation: Evaluation | None) -> list[ColumnChanges]:
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
        for name, column in _keys(manifest, evaluation)
        # labels have no mean
        if "mean_change" in column
    ]


def _sizes(evaluation: Evaluation) -> dict[int, int]:
    """Read the sizes as numbers, which JSON has as text."""
    return {int(size): count for size, count in evaluation.sizes.items()}


def _drawings(profile: Profile) -> Drawings:
    drawn: dict[str, ColumnPictures | LabelPictures] = {
        **{column.name: _column_pictures(column) for column in profile.columns},
        **{column.name: _label_pictures(column) for column in profile.labels},
    }
    return Drawings(
        # in the order of the spec
        columns=tuple(drawn[column.name] for column in profile.linkage),
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


def _label_pictures(column: LabelProfile) -> LabelPictures:
    label = f"Totals of {column.name}, original and published"
    bars = as_svg(pictures.totals(column), label) if column.margins else None
    return LabelPictures(column, column.margins[:MOST_LABELS], bars)


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
