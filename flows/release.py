"""The pipeline: from a release spec to a published, verified folder."""

from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from prefect import flow, get_run_logger, runtime
from prefect.client.schemas.objects import State

from algorithms.errors import RejectedError, ReleaseError
from expectations.data_warnings import (
    masking_warnings,
    series_warnings,
    source_warnings,
    table_warnings,
)
from expectations.gate import Verdicts
from expectations.manifest import Record
from expectations.request.named import NamedSpec, ResolvedSpec, resolve_spec
from expectations.request.spec import ReleaseSpec
from flows.alone import alone, deciding, end_with_worker
from flows.notify import tell_of
from flows.outcome import (
    Approved,
    Attempt,
    Outcome,
    Refused,
    Sealed,
    Stopped,
    published,
    sealed,
    show,
    state_of,
    stopped,
)
from flows.review import ask, check_answerable, check_starter, starter
from flows.states import WAITING
from flows.wait import check_present, wait_for_source
from tasks.ingest import connection_warnings, ingest
from tasks.judge import judge
from tasks.pipeline import as_task, mask_and_measure
from tasks.profile import profile
from tasks.publish import Candidate, begin, decide, publish, record_attempt, seal
from tasks.recall import recall
from tasks.reporting.artefacts import progress
from tasks.stage import guarded, reduced
from tasks.store import provenance
from tasks.store.ownership import check_owner
from tasks.store.predecessors import compare_with_earlier
from tasks.store.public_folder import check_places
from tasks.store.register import BLOCKED, FAILED, Register, now
from tasks.validate import validate


def run_name() -> str:
    """Name a run after its release; if the spec is faulty, the run itself reports that."""
    try:
        parts = guarded("name", _named)().spec.release.folder.parts
    except ReleaseError:
        parts = (str(runtime.flow_run.id)[:8],)
    flow_name = runtime.flow_run.flow_name
    return "-".join(parts if flow_name == "release" else (flow_name, *parts))


def _named() -> ResolvedSpec:
    """Resolve the spec that the parameters name; Prefect has not validated them yet."""
    return resolve_spec(NamedSpec.model_validate(runtime.flow_run.parameters["spec"]), due())


def due() -> datetime:
    """Give the time at which this run was due, however late it started."""
    time: datetime | None = runtime.flow_run.scheduled_start_time
    return time or datetime.now(UTC)


@flow(
    name="release",
    flow_run_name=run_name,
    persist_result=False,
    log_prints=False,
    on_failure=[tell_of],
    on_crashed=[tell_of],
)
def release(
    spec: NamedSpec,
    dry_run: bool = False,
    candidate: bool = False,
    started_by: str = "",
) -> State[Any]:
    """Mask one table as its spec asks, and publish it if the gate approves.

    Args:
        spec: the name of a reviewed spec, and how this run tightens it.
        dry_run: judge, but publish and record nothing.
        candidate: seal what passes the gate for `microrelease approve`, and publish nothing yet.
        started_by: your name, if you start this by hand; someone else must review it then.
    """
    end_with_worker()
    outcome: Outcome
    try:
        resolved = guarded("resolve", resolve_spec)(spec, due())
        # ceilings that only this run gives are not reviewed, and could be as high as it likes
        resolved.file.spec.check_releasable()
        resolved.spec.check_reason()
        absence = guarded("wait", wait_for_source)(resolved.spec, due())
        attempt = guarded("release", _attempt)(resolved, starter(started_by))
    except ReleaseError as error:
        outcome = stopped(None, error)
    else:
        outcome = _release(attempt, resolved, dry_run, candidate, absence)
    show(outcome)
    return state_of(outcome)


def _attempt(resolved: ResolvedSpec, started_by: str) -> Attempt:
    """Start the record with everything that is known before any work is done."""
    spec = resolved.spec
    record = Record.of_resolved(
        resolved,
        started_by=started_by,
        flow_run=str(runtime.flow_run.id),
        code=provenance.code(),
        environment=provenance.environment(),
        warnings=spec.warnings,
        started=now(),
    )
    return Attempt(spec, record)


def _release(
    attempt: Attempt, resolved: ResolvedSpec, dry_run: bool, candidate: bool, absence: str
) -> Outcome:
    """Check what can be checked before any work is done; then mask, review and record.

    ``absence`` says why the source is still not there after a wait.
    """
    spec, started_by = resolved.spec, attempt.record.started_by
    outcome: Outcome | None = None
    with ExitStack() as until_recorded:
        try:
            for warning in spec.warnings:
                get_run_logger().warning("%s", warning)
            if not dry_run:
                running = until_recorded.enter_context(closing(begin(spec, started_by)))
                attempt = attempt.adding(attempt=running.attempt)
            check_present(absence)
            spec.check_repeatable()
            check_places(spec.publication)
            attempt = _warned(attempt, compare_with_earlier(spec))
            if dry_run:
                return _process(attempt, spec, dry_run=True)
            if candidate or spec.gate.review is not None:
                check_starter(started_by)
            if not candidate:
                check_answerable(spec)
            register = Register(spec.publication.register_folder)
            with progress(spec.release.name):
                with alone(spec.release.name, register.folder):
                    check_owner(register, spec.release, spec.publication, resolved.file.name)
                    outcome = _process(
                        attempt, spec, hold=candidate or spec.gate.review is not None
                    )
                if not candidate:
                    outcome = _reviewed(outcome, spec)
        except Exception as error:
            known = attempt if outcome is None or outcome.attempt is None else outcome.attempt
            outcome = stopped(known, reduced("release", error))
        return outcome if dry_run else _recorded(outcome)


def _process(
    attempt: Attempt, spec: ReleaseSpec, *, dry_run: bool = False, hold: bool = False
) -> Outcome:
    """Take the table through all stages; no record of it is left in memory after that."""
    try:
        source, facts = ingest(spec)
        read = (*connection_warnings(spec), *source_warnings(facts))
        attempt = _warned(attempt.adding(input=facts), read)
        table, checked = validate(source, spec)
        attempt = _warned(attempt, table_warnings(table, spec.microaggregation.k))
        recalled = recall(source, table, spec)
        attempt = _warned(attempt, recalled.warnings)
        files, evaluation = mask_and_measure(table, spec, as_task, history=recalled.history)
        masked = files.masked
        found = (*masking_warnings(masked), *series_warnings(spec, evaluation))
        attempt = _warned(attempt, found)
        iterations = [each.iterations for each in masked.groupings if each.iterations is not None]
        if iterations:
            each_column = spec.microaggregation.each_column
            attempt = attempt.adding(iterations=iterations if each_column else iterations[0])
        get_run_logger().info("%s", evaluation)

        verdicts = Verdicts(
            evaluation,
            spec.gate,
            spec.microaggregation.k,
            spec.columns,
            spec.microaggregation,
            spec.series,
        )
        findings = [asdict(finding) for finding in checked]
        attempt = replace(attempt, verdicts=verdicts).adding(
            evaluation=asdict(evaluation), gate=verdicts.each, expectations=findings
        )
        if not dry_run:
            attempt = replace(attempt, profile=profile(files))
        judgement = judge(masked, verdicts, spec)
        findings += [asdict(finding) for finding in judgement.findings]
        attempt = attempt.adding(expectations=findings)
        if dry_run:
            return Approved(attempt, "approved; a dry run publishes and records nothing")

        make_public = seal if hold else publish
        result = make_public(
            masked, judgement.approval, spec, attempt.timed(), attempt.profile, recalled
        )
    except Exception as error:
        return stopped(attempt, reduced("release", error))
    if isinstance(result, Candidate):
        return sealed(attempt, result)
    return published(attempt, result)


def _warned(attempt: Attempt, warnings: tuple[str, ...]) -> Attempt:
    """Log warnings about the table, and add them to the record."""
    for warning in warnings:
        get_run_logger().warning("%s", warning)
    return attempt.adding(warnings=(*attempt.record.warnings, *warnings)) if warnings else attempt


def _reviewed(outcome: Outcome, spec: ReleaseSpec) -> Outcome:
    """Publish or drop a sealed release, as a reviewer decides; other outcomes stay as they are."""
    if not isinstance(outcome, Sealed) or outcome.attempt is None or spec.gate.review is None:
        return outcome
    attempt, candidate = outcome.attempt, outcome.candidate.attempt
    register = spec.publication.register_folder
    with deciding(register, candidate):
        show(outcome, WAITING)
        decision = ask(attempt, outcome.candidate, spec.gate.review.hours)
        try:
            return published(attempt, decide(register, candidate, decision))
        except RejectedError as error:
            return stopped(attempt, error)
        except ReleaseError as error:
            # unlike a rejection, this is not in the register yet
            return stopped(replace(attempt, manifest=None), error)


def _recorded(outcome: Outcome) -> Outcome:
    """Enter a blocked or failed attempt into the register, if that can be written."""
    attempt = outcome.attempt
    if not isinstance(outcome, Stopped) or attempt is None or attempt.manifest is not None:
        return outcome
    decision = BLOCKED if isinstance(outcome, Refused) else FAILED
    try:
        manifest = guarded("record", record_attempt)(
            attempt.spec, attempt.timed(), decision, outcome.sentence, attempt.profile
        )
    except ReleaseError as error:
        # the first fault is the one to report
        sentence = f"{outcome.sentence}; this could not be recorded in the register ({error})"
        return replace(outcome, sentence=sentence)
    return replace(outcome, attempt=replace(attempt, manifest=manifest))
