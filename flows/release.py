"""The pipeline: from a release spec to a published, verified folder."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from prefect import flow, get_run_logger, runtime
from prefect.client.schemas.objects import State

from algorithms.comparison import Files
from algorithms.errors import RejectedError, ReleaseError
from algorithms.evaluation import Evaluation
from algorithms.masked import Masked
from algorithms.table import Table
from algorithms.utility.bound_curve import ks_around
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
from expectations.suites.require import Finding
from flows.alone import alone, end_with_worker
from flows.notify import tell_of, tell_waiting
from flows.outcome import (
    Approved,
    Attempt,
    Outcome,
    Refused,
    Sealed,
    Stopped,
    decided,
    published,
    sealed,
    show,
    state_of,
    stopped,
)
from flows.review import ask, check_answerable, check_starter, starter
from flows.states import WAITING
from flows.wait import check_present, wait_for_source
from tasks.bound import bound
from tasks.compute.computing import computing
from tasks.compute.engine import Engine
from tasks.evaluate import evaluate
from tasks.ingest import connection_warnings, ingest
from tasks.judge import Judgement, judge
from tasks.pipeline import as_task, mask_and_measure
from tasks.profile import profile
from tasks.publish import Candidate, begin, publish, record_attempt, seal, settle
from tasks.publishable import Publishable
from tasks.recall import Recalled, recall
from tasks.reporting.artefacts import progress
from tasks.stage import guarded, reduced
from tasks.store import provenance
from tasks.store.candidates import deciding
from tasks.store.chain import BLOCKED, FAILED
from tasks.store.editions import population_of
from tasks.store.ownership import check_owner
from tasks.store.predecessors import compare_with_earlier
from tasks.store.public_folder import check_places
from tasks.store.register import Register, now
from tasks.streamed import stages as streamed
from tasks.streamed.checking import StreamedTable
from tasks.streamed.files import StreamedFiles
from tasks.streamed.sorting import StreamedRows
from tasks.streamed.source import StreamedSource
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
                elif isinstance(outcome, Sealed):
                    command = f"microrelease approve {outcome.candidate.attempt}"
                    tell_waiting(attempt, outcome.candidate, f"`{command}`")
        except Exception as error:
            known = attempt if outcome is None or outcome.attempt is None else outcome.attempt
            outcome = stopped(known, reduced("release", error))
        return outcome if dry_run else _recorded(outcome)


def _process(
    attempt: Attempt, spec: ReleaseSpec, *, dry_run: bool = False, hold: bool = False
) -> Outcome:
    """Take the table through all stages, once the engine has been checked."""
    try:
        with computing(spec.compute) as engine:
            return _through_stages(attempt, spec, engine, dry_run=dry_run, hold=hold)
    except Exception as error:
        return stopped(attempt, reduced("compute", error))


def _through_stages(
    attempt: Attempt, spec: ReleaseSpec, engine: Engine, *, dry_run: bool, hold: bool
) -> Outcome:
    """Take the table through all stages; no record of it is left in memory after that."""
    try:
        attempt, table, findings, recalled = _checked(attempt, spec, engine)
        if isinstance(table, StreamedTable):
            measured = _streamed(table, spec)
        else:
            measured = _in_memory(table, spec, recalled, engine)
        attempt = _warned(attempt, measured.warnings)
        evaluation = measured.evaluation
        if measured.iterations is not None:
            attempt = attempt.adding(iterations=measured.iterations)
        blocks = spec.plan.blocks_for(evaluation.records)
        if blocks is not None:
            attempt = attempt.adding(blocks=asdict(blocks))
        get_run_logger().info("%s", evaluation)

        verdicts = Verdicts(
            evaluation,
            spec.gate,
            spec.microaggregation.k,
            spec.columns,
            spec.microaggregation,
            spec.series,
        )
        rules = [asdict(finding) for finding in findings]
        attempt = replace(attempt, verdicts=verdicts).adding(
            evaluation=asdict(evaluation), gate=verdicts.each, expectations=rules
        )
        if not dry_run:
            attempt = replace(attempt, profile=profile(measured.files))
            attempt = attempt.adding(evaluation=_with_bounds(evaluation, table, spec))
        judgement = measured.judge(verdicts, spec)
        rules += [asdict(finding) for finding in judgement.findings]
        attempt = attempt.adding(expectations=rules)
        if dry_run:
            return Approved(attempt, "approved; a dry run publishes and records nothing")

        make_public = seal if hold else publish
        result = make_public(
            measured.rows,
            judgement.approval,
            spec,
            attempt.timed(),
            attempt.profile,
            recalled,
        )
    except Exception as error:
        return stopped(attempt, reduced("release", error))
    if isinstance(result, Candidate):
        return sealed(attempt, result)
    return published(attempt, result)


def _with_bounds(
    evaluation: Evaluation, table: Table | StreamedTable, spec: ReleaseSpec
) -> dict[str, Any]:
    """Add the least possible IL for values of k around that of the release."""
    k = spec.microaggregation.k
    proven = evaluation.measures.get("il_bound")
    curve = bound(
        table if isinstance(table, Table) else None,
        spec,
        ks_around(k),
        {} if proven is None else {k: proven},
    )
    return {**asdict(evaluation), "bounds": asdict(curve)}


def _checked(
    attempt: Attempt, spec: ReleaseSpec, engine: Engine
) -> tuple[Attempt, Table | StreamedTable, tuple[Finding, ...], Recalled]:
    """Read and check the source, and look its persons up; the source itself is released then."""
    source, facts = ingest(spec, engine)
    read = (*connection_warnings(spec), *source_warnings(facts))
    attempt = _warned(attempt.adding(input=facts), read)
    if isinstance(source, StreamedSource):
        streamed_table, findings = streamed.validate(source, spec)
        recalled = _not_recalled(spec)
        return _warned(attempt, recalled.warnings), streamed_table, findings, recalled
    table, findings = validate(source, spec)
    attempt = _warned(attempt, table_warnings(table, spec.microaggregation.k))
    recalled = recall(source, table, spec)
    return _warned(attempt, recalled.warnings), table, findings, recalled


def _not_recalled(spec: ReleaseSpec) -> Recalled:
    """Tell that a streamed table is not compared with earlier releases, if persons could be."""
    if population_of(spec) is None:
        return Recalled()
    warning = (
        "a table that is not held in memory is not compared with earlier releases of its persons: "
        "raise compute.memory_rows if the machine can hold it"
    )
    return Recalled(warnings=(warning,))


@dataclass(frozen=True, eq=False)
class _Measured:
    """A masked table and its measures, wherever its records are.

    Attributes
    ----------
    files : Files
        The records before and after.
    evaluation : Evaluation
        The measures.
    judge : callable
        The stage that judges the table, given verdicts and the spec.
    rows : Masked or Publishable
        The rows that would be published.
    iterations : int or list of int, optional
        Iterations of the search, for each column if these are grouped apart.
    warnings : tuple of str
        Likely mistakes.
    """

    files: Files
    evaluation: Evaluation
    judge: Callable[[Verdicts, ReleaseSpec], Judgement]
    rows: Masked | Publishable
    iterations: int | list[int] | None
    warnings: tuple[str, ...] = ()


def _in_memory(table: Table, spec: ReleaseSpec, recalled: Recalled, engine: Engine) -> _Measured:
    """Mask and measure a table in memory."""
    files, evaluation = mask_and_measure(
        table, spec, as_task, history=recalled.history, run=engine.run
    )
    masked = files.masked
    searches = [each.iterations for each in masked.groupings if each.iterations is not None]
    iterations = searches if spec.microaggregation.each_column else sum(searches)
    return _Measured(
        files,
        evaluation,
        partial(judge, masked),
        masked,
        iterations if searches else None,
        (*masking_warnings(masked), *series_warnings(spec, evaluation)),
    )


def _streamed(table: StreamedTable, spec: ReleaseSpec) -> _Measured:
    """Mask and measure a table that is too large for memory."""
    masked = streamed.microaggregate(streamed.standardise(table, spec))
    files = StreamedFiles(masked, spec.columns.confidential)
    return _Measured(
        files,
        evaluate(files, spec),
        partial(streamed.judge, masked),
        StreamedRows(masked, spec.columns),
        masked.iterations,
    )


def _warned(attempt: Attempt, warnings: tuple[str, ...]) -> Attempt:
    """Log warnings about the table, and add them to the record."""
    for warning in warnings:
        get_run_logger().warning("%s", warning)
    return attempt.adding(warnings=(*attempt.record.warnings, *warnings)) if warnings else attempt


def _reviewed(outcome: Outcome, spec: ReleaseSpec) -> Outcome:
    """Publish or drop a sealed release, as reviewers decide; other outcomes stay as they are."""
    if not isinstance(outcome, Sealed) or outcome.attempt is None or spec.gate.review is None:
        return outcome
    attempt, candidate = outcome.attempt, outcome.candidate.attempt
    register = spec.publication.register_folder
    with deciding(register, candidate):
        show(outcome, WAITING)
        tell_waiting(attempt, outcome.candidate, "Resume on the page of the run in the Prefect UI")
        ask(attempt, outcome.candidate, spec.gate.review.hours)
        try:
            return decided(attempt, settle(register, candidate))
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
