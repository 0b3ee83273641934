"""What a run shows in the Prefect UI: aggregates only."""

import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from prefect import get_run_logger
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from algorithms.profile import Profile
from expectations.gate import Verdict
from expectations.manifest import SealedSpec
from expectations.request.named import Change
from expectations.request.spec import ReleaseSpec
from tasks.explore.cell import Cell, recommendation
from tasks.explore.table import rows_of
from tasks.listening import Listener, listening
from tasks.stage import RELEASE_STAGES
from tasks.store.audit import Audit
from tasks.store.history import MOST_PERIODS, Past, history, latest
from tasks.store.register import REPORT


@contextmanager
def harmless() -> Iterator[None]:
    """Let a run go on if an artefact cannot be shown: what it tells of has happened already."""
    try:
        yield
    except Exception as error:
        get_run_logger().warning("an artefact could not be shown: %s", type(error).__name__)


@contextmanager
def progress(dataset: str) -> Iterator[None]:
    """Show how far a release has come, stage by stage, and within a search."""
    artefact: Any = None
    with harmless():
        artefact = create_progress_artifact(
            progress=0.0, key=f"release-progress-{dataset}", description=f"Release of {dataset}"
        )
    if artefact is None:
        yield
        return
    with listening(_Progress(artefact)):
        yield


class _Progress(Listener):
    """Keeps a progress artefact up to date."""

    def __init__(self, artefact: Any) -> None:
        self._artefact = artefact
        self._stage = 0
        self._percent = 0.0

    def stage_started(self, name: str) -> None:
        if name in RELEASE_STAGES:
            self._stage = RELEASE_STAGES.index(name)
            self._show(0.0)

    def stage_ended(self, name: str, seconds: float) -> None:  # noqa: ARG002
        if name in RELEASE_STAGES:
            self._show(1.0)

    def searched(self, share: float) -> None:
        self._show(share)

    def _show(self, share: float) -> None:
        percent = round(100.0 * (self._stage + share) / len(RELEASE_STAGES), 1)
        # each call costs the server some milliseconds
        if share in (0.0, 1.0) or percent >= self._percent + 1.0:
            self._percent = percent
            with harmless():
                update_progress_artifact(self._artefact, progress=percent)


def show_measures(
    spec: ReleaseSpec | SealedSpec, sentence: str, verdicts: Sequence[Verdict]
) -> None:
    """Log a table of measures against limits, and above it the history of the dataset."""
    create_table_artifact(
        key=f"release-measures-{spec.release.name}",
        table=[
            {
                "release": spec.release.folder.name,
                "measure": verdict.title,
                "value": verdict.shown_value,
                "limit": verdict.shown_limit,
                "verdict": "passed" if verdict.passed else "failed",
            }
            for verdict in verdicts
        ],
        description="\n\n".join([f"{sentence}.", *_history_table(_measured(spec))]),
    )


def show_expectations(dataset: str, findings: Sequence[Mapping[str, Any]]) -> None:
    """Log the rules of the source and of what would be published; counts, never values."""
    create_table_artifact(
        key=f"release-expectations-{dataset}",
        table=[dict(finding) for finding in findings],
        description=f"{sum(bool(finding['met']) for finding in findings)} of {len(findings)} met",
    )


def show_summary(
    spec: ReleaseSpec | SealedSpec,
    heading: str,
    sentence: str,
    record: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    profile: Profile | None,
    manifest: Path | None,
) -> None:
    """Log what was decided, why, and pictures of it."""
    told = [f"# {heading}: {spec.release.title}, {spec.release.folder.name}", f"{sentence}."]
    if verdicts:
        told += [_verdict_table(verdicts), record.get("certificate", "")]
    told += [f"![{label}](data:image/png;base64,{png})" for label, png in _pictures(spec, profile)]
    told += ["## By whom and how", _facts(record), _reviewed(record)]
    if manifest is not None:
        told += ["## Files", files_text(record, manifest)]
    create_markdown_artifact(
        key=f"release-summary-{spec.release.name}", markdown="\n\n".join(filter(None, told))
    )


def show_links(dataset: str, folder: Path | None, manifest: Path | None) -> None:
    """Log where report and public files are, to be opened on the machine that holds them."""
    if manifest is not None:
        create_link_artifact(
            key=f"release-report-{dataset}",
            link=manifest.with_name(REPORT).as_uri(),
            link_text=str(manifest.with_name(REPORT)),
            description="The report of this attempt.",
        )
    if folder is not None:
        create_link_artifact(
            key=f"release-files-{dataset}",
            link=folder.as_uri(),
            link_text=str(folder),
            description="The public files.",
        )


def review_text(
    record: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    certificate: str,
    manifest: Path,
    fault: str,
) -> str:
    """Say to a reviewer what there is to decide."""
    release = record["release"]
    told = [
        f"**{fault}.** Another reviewer must decide." if fault else "",
        f"**{release['title']}, {release['period']}**, started by "
        f"{record.get('started_by') or 'someone without a name'}, passed its gate and is sealed. "
        "Shall it be published?",
        _verdict_table(verdicts),
        _reviewed(record),
        certificate,
        f"Report: [{manifest.with_name(REPORT)}]({manifest.with_name(REPORT).as_uri()})",
        f"Candidate: `{manifest.parent.name}`",
    ]
    return "\n\n".join(filter(None, told))


def witness_key(register: Path) -> str:
    """Name the artefact that keeps the last line of a register where its owner cannot reach."""
    return f"register-head-{sha256(os.path.realpath(register).encode()).hexdigest()[:12]}"


def show_head(register: Path, lines: int, head: str) -> None:
    """Log the hash of the last line of a register, as a witness for audits to come."""
    create_table_artifact(
        key=witness_key(register),
        table=[{"register": str(register), "lines": lines, "head": head}],
        description="The last line of the register when this was written.",
    )


def show_audit(found: Mapping[Path, Audit]) -> None:
    """Log what was found in each register."""
    create_table_artifact(
        key="audit",
        table=[
            {
                "register": str(register),
                "status": "not what was written" if audit.faults else "whole",
                "lines": audit.lines,
                "attempts": audit.attempts,
                "verified releases": len(audit.verified),
                "waiting for a reviewer": ", ".join(audit.waiting),
                "faults": "; ".join(audit.faults),
                "incomplete": "; ".join(audit.incomplete),
                "last line": audit.head,
            }
            for register, audit in found.items()
        ],
        description="Every published release and every line of the registers, verified again.",
    )


def show_map(cells: Sequence[Cell], spec: ReleaseSpec) -> None:
    """Log the recommendation and the table of all choices that were tried."""
    create_markdown_artifact(
        key=f"explore-recommendation-{spec.release.name}", markdown=recommendation(cells, spec)
    )
    create_table_artifact(
        key=f"explore-choices-{spec.release.name}",
        table=rows_of(cells),
        description="Every choice that was tried, and all measures of it.",
    )


def files_text(record: Mapping[str, Any], manifest: Path) -> str:
    """List report and public files with their checksums."""
    lines = [f"- report `{manifest.with_name(REPORT)}`", f"- manifest `{manifest}`"]
    public = record.get("public")
    if public:
        lines.append(f"- public files `{public['folder']}`")
        lines += [f"    - `{name}` SHA-256 `{told}`" for name, told in public["checksums"].items()]
    return "\n".join(lines)


def _verdict_table(verdicts: Sequence[Verdict]) -> str:
    rows = [
        f"| {verdict.title} | {verdict.shown_value} | {verdict.shown_limit} | "
        f"{'passed' if verdict.passed else '**failed**'} |"
        for verdict in verdicts
    ]
    return "\n".join(["| measure | value | limit | verdict |", "|---|--:|--:|---|", *rows])


def _facts(record: Mapping[str, Any]) -> str:
    how, source = record["spec"]["microaggregation"], record.get("input", {})
    review = record.get("review", {})
    facts = {
        "method": " along ".join(filter(None, (how["method"], how["ordering"]))),
        "k": how["k"],
        "started by": record.get("started_by"),
        "reviewed by": review.get("reviewer"),
        "records": source.get("rows"),
        "SHA-256 of the input": source.get("sha256"),
        "code": record.get("code", {}).get("version"),
        "SHA-256 of the sources": record.get("code", {}).get("sources_sha256"),
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _reviewed(record: Mapping[str, Any]) -> str:
    """Name the reviewed spec, and every value of which the run departed from it."""
    if "spec_file" not in record:
        return ""
    file, changes = record["spec_file"], record.get("changes", ())
    lines = [f"Reviewed spec `{file['name']}`, SHA-256 `{file['sha256']}`"]
    if changes:
        lines[0] += ". Changed in this run:\n"
    return "\n".join([*lines, *(f"- {Change(**change)}" for change in changes)])


def _measured(spec: ReleaseSpec | SealedSpec) -> list[Past]:
    """Recall the latest attempt at each period of a dataset."""
    return latest(history(spec.publication.register_folder), spec.release.name)


def _history_table(pasts: Sequence[Past]) -> Iterator[str]:
    if pasts:
        rows = [
            f"| {past.period} | {past.decision} | {past.il:.2f} % | {past.il_ceiling:g} % | "
            f"{past.dld:.2f} % | {past.dld_ceiling:g} % |"
            for past in pasts[-MOST_PERIODS:]
        ]
        heading = "| release | decision | IL | at most | DLD | at most |\n|---|---|--:|--:|--:|--:|"
        yield "\n".join([heading, *reversed(rows)])


def _pictures(spec: ReleaseSpec | SealedSpec, profile: Profile | None) -> Iterator[tuple[str, str]]:
    from tasks.reporting.pictures import as_png, linkage
    from tasks.reporting.register_page import over_time

    drawn: list[tuple[str, Callable[[], Any]]] = []
    measured = _measured(spec)
    if measured:
        drawn.append(("IL and DLD by period", lambda: over_time(measured)))
    if profile is not None:
        drawn.append(("What each column adds to the risk of linkage", lambda: linkage(profile)))
    for label, draw in drawn:
        yield label, base64.b64encode(as_png(draw(), 1.5)).decode()
