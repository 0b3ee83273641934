"""The releases that a dataset has published before: what a new one keeps, and what it changes."""

from collections.abc import Iterator, Sequence

from algorithms.errors import RefusedError
from expectations.manifest import Manifest
from expectations.request.sections.columns import ColumnsSection
from expectations.request.sections.series import COHORTS, FRESH, NEW_EACH_PERIOD
from expectations.request.spec import ReleaseSpec
from tasks.store.register import Register

ROLES = (
    "identifiers", "unit", "dropped", "strata", "quasi_identifiers", "weight", "confidential",
    "other",
)  # fmt: skip
"""Keys of the section ``columns`` that give roles."""


def compare_with_earlier(spec: ReleaseSpec) -> tuple[str, ...]:
    """Check a revision against the release it revises, and warn of changes in a series.

    Raises
    ------
    RefusedError
        If a revision protects less than the release it revises.
    """
    earlier = published(Register(spec.publication.register_folder), spec.release.name)
    check_revision(earlier, spec)
    return changes_of_series(earlier, spec)


def published(register: Register, dataset: str) -> list[Manifest]:
    """Read the manifests of all published releases of a dataset, in the order of publication."""
    return [
        register.manifest(entry.attempt)
        for entry in register.chain().published
        if entry.dataset == dataset
    ]


def check_revision(earlier: Sequence[Manifest], spec: ReleaseSpec) -> None:
    """Check that a revision protects no less than the release it revises.

    Both stay public, and columns that are published unchanged join them exactly.

    Parameters
    ----------
    earlier : sequence of Manifest
        The published releases of the dataset.
    spec : ReleaseSpec
        The spec of the revision.

    Raises
    ------
    RefusedError
        If k is smaller, or a column has another role.
    """
    period, revision = spec.release.period, spec.release.revision
    revised = [
        manifest
        for manifest in earlier
        if manifest.release.period == period and manifest.release.revision < revision
    ]
    if not revised:
        return
    last, k = revised[-1], spec.microaggregation.k
    if k < last.k:
        raise RefusedError(
            f"a revision must not have a smaller k than the release it revises; k is {k}, and that "
            f"of {last.release.edition} is {last.k}: set microaggregation.k to {last.k} or more"
        )
    moved = _moved(last, spec.columns)
    if moved:
        raise RefusedError(
            "in a revision all columns must have the roles that they have in the release it "
            f"revises; in {last.release.edition} other columns are listed in {', '.join(moved)}: "
            "restore these roles"
        )


def _moved(last: Manifest, columns: ColumnsSection) -> list[str]:
    """Name the roles that other columns had."""
    before = last.spec.get("columns", {})
    return [
        f"columns.{role}"
        for role in ROLES
        if _names(before.get(role)) != _names(getattr(columns, role))
    ]


def _names(given: object) -> set[str]:
    """Take the names of columns from a role that has one, several or none."""
    if given is None:
        return set()
    return {given} if isinstance(given, str) else set(given)  # type: ignore[call-overload]


def changes_of_series(earlier: Sequence[Manifest], spec: ReleaseSpec) -> tuple[str, ...]:
    """Warn of changes in the middle of a series, and of a series that nobody can measure."""
    others = [
        manifest
        for manifest in earlier
        if (manifest.release.period, manifest.release.revision)
        != (spec.release.period, spec.release.revision)
    ]
    return tuple(_changes(others, spec)) if others else ()


def _changes(others: Sequence[Manifest], spec: ReleaseSpec) -> Iterator[str]:
    last, k = others[-1], spec.microaggregation.k
    if spec.series is None and not spec.columns.identifiers:
        yield (
            f"{_count(others)} of this dataset published earlier cannot be compared with this one, "
            "because the spec names no identifiers: name them in columns.identifiers, or declare "
            f"series.persons: {NEW_EACH_PERIOD} with a reason"
        )
    now, before = _method(spec.model_dump(mode="json")), _method(last.spec)
    if (before, now) == (FRESH, COHORTS):
        yield (
            f"groups last from this release on, and {last.release.edition} was grouped afresh: "
            "records that the earlier releases tell apart already are muted"
        )
    elif (before, now) == (COHORTS, FRESH):
        yield (
            f"groups lasted until {last.release.edition}, and this release is grouped afresh: "
            "comparing it with the earlier ones may single records out"
        )
    if k > last.k and spec.follows_persons:
        below = "are muted" if now == COHORTS else "count as below k across releases"
        yield (
            f"k is {k}, and was {last.k} in {last.release.edition}: records to which earlier "
            f"releases leave fewer than {k} candidates {below}"
        )


def _method(spec: dict[str, object]) -> object:
    """Give the method of a series; groups of specs that name none are fresh."""
    series = spec.get("series")
    return series["method"] if isinstance(series, dict) else FRESH


def _count(others: Sequence[Manifest]) -> str:
    return "1 release" if len(others) == 1 else f"{len(others)} releases"
