"""The pipeline: from a release spec to a published, verified folder."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, runtime
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from algorithms.errors import RefusedError, ReleaseError
from algorithms.evaluation import Evaluation
from algorithms.profile import Profile
from expectations.gate import Verdict, verdicts
from expectations.spec import ReleaseSpec
from tasks.evaluate import evaluate
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.microaggregate import microaggregate
from tasks.order import order
from tasks.profile import profile
from tasks.publish import publish, record_attempt
from tasks.round_integers import round_integers
from tasks.shelves import provenance
from tasks.shelves.artefacts import show_measures
from tasks.shelves.public_folder import check_places
from tasks.shelves.register import BLOCKED, FAILED, now
from tasks.stage import guarded
from tasks.standardise import standardise
from tasks.validate import validate


@dataclass
class Outcome:
    """How an attempt ended, in figures and sentences that may be shown to anyone."""

    sentence: str = ""
    error: ReleaseError | None = None
    evaluation: Evaluation | None = None
    verdicts: tuple[Verdict, ...] = ()
    folder: Path | None = None
    manifest: Path | None = None
    record: dict[str, Any] = field(default_factory=dict)
    profile: Profile | None = None
    started: float = field(default_factory=time.monotonic)

    def timed_record(self) -> dict[str, Any]:
        """Say what the manifest says of the attempt, up to now."""
        seconds = round(time.monotonic() - self.started, 3)
        return {**self.record, "ended": now(), "seconds": seconds}


observers: list[Callable[[Outcome], None]] = []
"""Told the outcome of every release in this process."""


def _run_name() -> str:
    spec = runtime.flow_run.parameters["spec"]
    named = spec if isinstance(spec, ReleaseSpec) else ReleaseSpec.model_validate(spec)
    return "-".join(named.release.folder.parts)


@flow(
    name="release",
    flow_run_name=_run_name,
    persist_result=False,
    log_prints=False,
)
def release(spec: ReleaseSpec, dry_run: bool = False) -> State[None]:
    """Mask one table as its spec asks, and publish it if the gate approves.

    Args:
        spec: everything that changes the result.
        dry_run: judge, but publish and record nothing.
    """
    outcome = Outcome()
    try:
        guarded("release", _release)(spec, dry_run, outcome)
    except ReleaseError as error:
        outcome.error, outcome.sentence = error, str(error)
    if outcome.verdicts:
        show_measures(spec.release.name, outcome.sentence, outcome.verdicts)
    if outcome.error is not None and not dry_run:
        _keep_record(spec, outcome)
    for observer in observers:
        observer(outcome)
    if outcome.error is not None:
        return Failed(name=outcome.error.state_name, message=outcome.sentence)
    return Completed(name="Approved" if dry_run else "Published", message=outcome.sentence)


def _release(spec: ReleaseSpec, dry_run: bool, outcome: Outcome) -> None:
    log = get_run_logger()
    record = outcome.record
    record.update(
        release=spec.release.model_dump(mode="json"),
        spec=spec.model_dump(mode="json"),
        code=provenance.code(),
        environment=provenance.environment(),
        warnings=list(spec.warnings),
        started=now(),
    )
    for warning in spec.warnings:
        log.warning("%s", warning)
    check_places(spec.publication)

    source = ingest(spec)
    record["input"] = {
        "path": str(spec.source.path),
        "sha256": source.sha256,
        "bytes": source.size,
        "rows": len(source.frame),
        "columns": len(source.frame.columns),
    }
    table = validate(source.frame, spec)
    data = standardise(table.frame, spec.columns)
    paths = order(data, spec.microaggregation)
    partitions = microaggregate(data, spec.microaggregation, paths)
    made = [groups.iterations for groups in partitions if groups.iterations is not None]
    if made:
        record["iterations"] = made if spec.microaggregation.each_column else made[0]
    masked = round_integers(table.frame, partitions, spec.columns)
    evaluation = evaluate(table.frame, masked, partitions, spec)
    log.info("%s", evaluation)

    outcome.evaluation = evaluation
    outcome.verdicts = verdicts(evaluation, spec.gate, spec.microaggregation.k)
    record["evaluation"] = asdict(evaluation)
    record["gate"] = [asdict(verdict) for verdict in outcome.verdicts]
    record["expectations"] = [asdict(finding) for finding in table.findings]
    if not dry_run:
        outcome.profile = profile(table.frame, masked, spec)
    judgement = judge(table.frame, masked, evaluation, spec)
    record["expectations"] += [asdict(finding) for finding in judgement.findings]
    if dry_run:
        outcome.sentence = "approved; a dry run publishes and records nothing"
        return

    told = outcome.timed_record()
    publication = publish(masked, judgement.approval, spec, told, outcome.profile)
    outcome.folder, outcome.manifest = publication.folder, publication.manifest
    outcome.sentence = (
        "already published with the same bytes; nothing was changed"
        if publication.unchanged
        else f"published {spec.release.name} {publication.folder.name}"
    )


def _keep_record(spec: ReleaseSpec, outcome: Outcome) -> None:
    """Enter a blocked or failed attempt into the register, if that can be written."""
    decision = BLOCKED if isinstance(outcome.error, RefusedError) else FAILED
    record = {**outcome.timed_record(), "decision": decision, "reason": outcome.sentence}
    try:
        outcome.manifest = guarded("record", record_attempt)(spec, record, outcome.profile)
    except ReleaseError as error:
        # the first fault is the one to report
        get_run_logger().warning("the attempt could not be entered in the register: %s", error)
