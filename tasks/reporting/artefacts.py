"""Artefacts of a run in the Prefect UI: aggregates only."""

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
from expectations.manifest import FindingFacts, Manifest, Record, SealedSpec
from expectations.request.spec import ReleaseSpec
from tasks.listening import Listener, listening
from tasks.stage import RELEASE_STAGES
from tasks.store.audit import Audit
from tasks.store.desk_pages import release_page, review_page
from tasks.store.history import MOST_PERIODS, Past, history, latest
from tasks.store.register import REPORT


@contextmanager
def harmless() -> Iterator[None]:
    """Let a run go on if an artefact cannot be shown: the outcome it describes already stands."""
    try:
        yield
    except Exception as error:
        get_run_logger().warning("an artefact could not be shown: %s", type(error).__name__)


@contextmanager
def progress(dataset: str) -> Iterator[None]:
    """Show the progress of a release, stage by stage, and within stages that can tell it."""
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

    def progressed(self, share: float) -> None:
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


def show_expectations(dataset: str, findings: Sequence[FindingFacts]) -> None:
    """Log the rules for the source and for the data to be published; counts, never values."""
    create_table_artifact(
        key=f"release-expectations-{dataset}",
        table=[finding.model_dump(mode="json", exclude_unset=True) for finding in findings],
        description=f"{sum(finding.met for finding in findings)} of {len(findings)} rules "
        "were met.",
    )


def show_summary(
    spec: ReleaseSpec | SealedSpec,
    heading: str,
    sentence: str,
    record: Record,
    verdicts: Sequence[Verdict],
    certificate: str,
    profile: Profile | None,
    manifest: Path | None,
) -> None:
    """Log the decision, its reasons, and pictures."""
    parts = [f"# {heading}: {spec.release.title}, {spec.release.folder.name}", f"{sentence}."]
    parts.append(_warnings(record))
    if verdicts:
        parts += [_verdict_table(verdicts), certificate]
    parts += [f"![{label}](data:image/png;base64,{png})" for label, png in _pictures(spec, profile)]
    parts += ["## Details", _facts(record), _reviewed(record)]
    if manifest is not None:
        parts += ["## Files", files_text(record, manifest)]
    create_markdown_artifact(
        key=f"release-summary-{spec.release.name}", markdown="\n\n".join(filter(None, parts))
    )


def show_timeline(spec: ReleaseSpec | SealedSpec) -> None:
    """Log the timeline of a dataset, which grows with each release."""
    measured = _measured(spec)
    if measured:
        label, png = _timeline(measured)
        parts = [f"# Timeline: {spec.release.title}", f"![{label}](data:image/png;base64,{png})"]
        create_markdown_artifact(
            key=f"release-timeline-{spec.release.name}",
            markdown="\n\n".join([*parts, *_history_table(measured)]),
        )


def show_links(dataset: str, folder: Path | None, manifest: Path | None) -> None:
    """Log links to the report and the public files: pages of the desk, or files without one."""
    if manifest is None:
        return
    report, page = manifest.with_name(REPORT), _page_of(manifest)
    create_link_artifact(
        key=f"release-report-{dataset}",
        link=page or report.as_uri(),
        link_text=f"{manifest.parent.name}, in the desk" if page else str(report),
        description="The report of this attempt.",
    )
    if folder is not None:
        create_link_artifact(
            key=f"release-files-{dataset}",
            link=page or folder.as_uri(),
            link_text=str(folder),
            description="The public files.",
        )


def _page_of(manifest: Path) -> str:
    """Give the address of an attempt's page in the desk; empty if no desk is known."""
    attempt = manifest.parent
    return release_page(attempt.parents[1], attempt.name)


def review_text(
    spec: ReleaseSpec | SealedSpec,
    record: Record,
    verdicts: Sequence[Verdict],
    certificate: str,
    manifest: Path,
    note: str,
) -> str:
    """Describe to a reviewer the decision to be made; ``note`` says what happened so far."""
    release = spec.release
    parts = [
        f"**{note}.**" if note else "",
        f"**{release.title}, {release.period}**, started by "
        f"{record.started_by or 'an unnamed person'}, passed its gate and is sealed. "
        "Should it be published?",
        _verdict_table(verdicts),
        _warnings(record),
        _reviewed(record),
        certificate,
        _where_to_look(manifest),
        f"Candidate: `{manifest.parent.name}`",
    ]
    return "\n\n".join(filter(None, parts))


def _where_to_look(manifest: Path) -> str:
    """Say where the report can be read; a browser does not open a file from this page."""
    attempt = manifest.parent
    page = review_page(attempt.parents[1], attempt.name)
    if not page:
        return f"Report: `{manifest.with_name(REPORT)}`"
    return f"Read the report, and decide under your own login, in [the desk]({page})."


def witness_key(register: Path) -> str:
    """Name the artefact that keeps the hash of a register's last line out of its owner's reach."""
    return f"register-head-{sha256(os.path.realpath(register).encode()).hexdigest()[:12]}"


def show_head(register: Path, lines: int, head: str) -> None:
    """Log the hash of the last line of a register, as a witness for later audits."""
    create_table_artifact(
        key=witness_key(register),
        table=[{"register": str(register), "lines": lines, "head": head}],
        description="The number of lines of the register, and the hash of the last one.",
    )


def show_audit(found: Mapping[Path, Audit]) -> None:
    """Log the audit of each register."""
    create_table_artifact(
        key="audit",
        table=[
            {
                "register": str(register),
                "status": "failed" if audit.faults else "passed",
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
        description="All published releases and all lines of the registers, verified again.",
    )


def files_text(record: Record, manifest: Path) -> str:
    """List the report, the manifest and the public files with their checksums."""
    page = _page_of(manifest)
    report = f"[in the desk]({page})" if page else f"`{manifest.with_name(REPORT)}`"
    lines = [f"- report {report}", f"- manifest `{manifest}`"]
    if isinstance(record, Manifest) and record.public is not None:
        files = record.public
        lines.append(f"- public files `{files.folder}`")
        lines += [f"    - `{name}` SHA-256 `{sha}`" for name, sha in files.checksums.items()]
    return "\n".join(lines)


def _verdict_table(verdicts: Sequence[Verdict]) -> str:
    rows = [
        f"| {verdict.title} | {verdict.shown_value} | {verdict.shown_limit} | "
        f"{'passed' if verdict.passed else '**failed**'} |"
        for verdict in verdicts
    ]
    return "\n".join(["| measure | value | limit | verdict |", "|---|--:|--:|---|", *rows])


def _warnings(record: Record) -> str:
    """List the warnings of an attempt."""
    return "\n".join(f"- **Warning:** {warning}" for warning in record.warnings)


def _facts(record: Record) -> str:
    facts = {
        "method": record.method,
        "k": record.k,
        "started by": record.started_by,
        "reviewed by": record.review and record.review.reviewer,
        "records": record.input and record.input.rows,
        "SHA-256 of the input": record.input and record.input.sha256,
        "code": record.code.get("version"),
        "SHA-256 of the sources": record.code.get("sources_sha256"),
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _reviewed(record: Record) -> str:
    """Name the reviewed spec, and every value that the run changed."""
    if record.spec_file is None:
        return ""
    lines = [f"Reviewed spec `{record.spec_file.name}`, SHA-256 `{record.spec_file.sha256}`"]
    if record.changes:
        lines[0] += ". Changed in this run:\n"
    return "\n".join([*lines, *(f"- {change}" for change in record.changes)])


def _measured(spec: ReleaseSpec | SealedSpec) -> list[Past]:
    """Find the latest measured attempt for each period of a dataset."""
    return latest(history(spec.publication.register_folder), spec.release.name)


def _history_table(pasts: Sequence[Past]) -> Iterator[str]:
    """Write the timeline of a dataset, the latest period first; nothing if nothing was measured."""
    if not pasts:
        return
    columns: list[tuple[str, Callable[[Past], str]]] = [
        ("IL", lambda past: f"{past.il:.2f} %"),
        ("at most", lambda past: f"{past.il_ceiling:g} %"),
        ("DLD", lambda past: f"{past.dld:.2f} %"),
        ("at most", lambda past: f"{past.dld_ceiling:g} %"),
    ]
    if any(past.is_compared for past in pasts):
        columns += [
            ("fewest candidates", lambda past: _or_empty(past.candidates_min, "{:.0f}")),
            ("muted", lambda past: _or_empty(past.muted, "{:.2f} %")),
        ]
    headings = " | ".join(heading for heading, _ in columns)
    rows = [
        f"| {past.period} | {past.decision} | {' | '.join(show(past) for _, show in columns)} |"
        for past in pasts[-MOST_PERIODS:]
    ]
    yield "\n".join(
        [
            f"| release | decision | {headings} |",
            f"|---|---|{'--:|' * len(columns)}",
            *reversed(rows),
        ]
    )


def _or_empty(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _timeline(measured: Sequence[Past]) -> tuple[str, str]:
    """Draw the timeline, as a label and an encoded picture."""
    from tasks.reporting.timeline import over_time

    return "Measures by period", _encoded(over_time(measured))


def _pictures(spec: ReleaseSpec | SealedSpec, profile: Profile | None) -> Iterator[tuple[str, str]]:
    from tasks.reporting.pictures import linkage

    measured = _measured(spec)
    if measured:
        yield _timeline(measured)
    if profile is not None:
        yield "DLD by column", _encoded(linkage(profile))


def _encoded(drawing: Any) -> str:
    from tasks.reporting.pictures import as_png

    return base64.b64encode(as_png(drawing, 1.5)).decode()
