"""The pipeline: from a release spec to a published, verified folder."""

from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime

from prefect import flow, get_run_logger, runtime
from prefect.client.schemas.objects import State

from algorithms.errors import RefusedError, RejectedError, ReleaseError
from expectations.gate import Verdicts
from expectations.request.named import NamedSpec, Settled, settle
from expectations.request.spec import ReleaseSpec
from flows.alone import alone, deciding, end_with_worker
from flows.notify import tell_of
from flows.outcome import Outcome, observers
from flows.review import ask, check_answerable, check_starter, starter
from tasks.evaluate import evaluate
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.microaggregate import microaggregate
from tasks.order import order
from tasks.profile import profile
from tasks.publish import Candidate, begin, decide, publish, record_attempt, seal
from tasks.reporting.artefacts import progress
from tasks.round_integers import round_integers
from tasks.stage import guarded
from tasks.standardise import standardise
from tasks.store import provenance
from tasks.store.ownership import check_owner
from tasks.store.public_folder import check_places
from tasks.store.register import BLOCKED, FAILED, Register, now
from tasks.validate import validate


def run_name() -> str:
    """Name a run after its release; the run itself will say what is wrong with its spec."""
    try:
        parts = guarded("name", _named)().spec.release.folder.parts
    except ReleaseError:
        parts = (str(runtime.flow_run.id)[:8],)
    flow_name = runtime.flow_run.flow_name
    return "-".join(parts if flow_name == "release" else (flow_name, *parts))


def _named() -> Settled:
    """Settle the spec that the parameters name, before Prefect has validated them."""
    return settle(NamedSpec.model_validate(runtime.flow_run.parameters["spec"]), due())


def due() -> datetime:
    """Tell when this run was due, however late it is."""
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
) -> State[None]:
    """Mask one table as its spec asks, and publish it if the gate approves.

    Args:
        spec: the name of a reviewed spec, and how this run tightens it.
        dry_run: judge, but publish and record nothing.
        candidate: seal what passes the gate for `microrelease approve`, and publish nothing yet.
        started_by: your name, if you start this by hand; someone else must review it then.
    """
    end_with_worker()
    outcome = Outcome()
    with closing(outcome):
        try:
            settled = guarded("settle", settle)(spec, due())
            outcome.spec = settled.spec
            outcome.record |= {"started_by": starter(started_by), **settled.record}
            guarded("release", _release)(outcome.spec, dry_run, candidate, outcome)
        except ReleaseError as error:
            outcome.fail(error)
            if outcome.spec is not None and not dry_run and not outcome.recorded:
                _keep_record(outcome.spec, outcome)
    name = "Approved" if dry_run else "Sealed" if outcome.candidate else "Published"
    outcome.show(name)
    for observer in observers:
        observer(outcome)
    return outcome.state(name)


def _release(spec: ReleaseSpec, dry_run: bool, candidate: bool, outcome: Outcome) -> None:
    outcome.record.update(
        release=spec.release.model_dump(mode="json"),
        spec=spec.model_dump(mode="json"),
        flow_run=str(runtime.flow_run.id),
        code=provenance.code(),
        environment=provenance.environment(),
        warnings=list(spec.warnings),
        started=now(),
    )
    for warning in spec.warnings:
        get_run_logger().warning("%s", warning)
    if not dry_run:
        outcome.begin(begin(spec, outcome.record["started_by"]))
    spec.check_repeatable()
    check_places(spec.publication)
    if dry_run:
        _process(spec, dry_run, False, outcome)
        return
    if candidate or spec.gate.review is not None:
        check_starter(outcome.record["started_by"])
    if not candidate:
        check_answerable(spec)
    register = Register(spec.publication.register_folder)
    with progress(spec.release.name):
        with alone(spec.release.name, register.folder):
            file = outcome.record["spec_file"]["name"]
            check_owner(register, spec.release, spec.publication, file)
            _process(spec, dry_run, candidate or spec.gate.review is not None, outcome)
        if not candidate:
            _review(spec, outcome)


def _process(spec: ReleaseSpec, dry_run: bool, hold: bool, outcome: Outcome) -> None:
    """Take the table through all stages; no record of it is left in memory after that."""
    record = outcome.record
    source = ingest(spec)
    record["input"] = {
        "path": str(spec.source.path),
        "sha256": source.sha256,
        "bytes": source.size,
        "rows": len(source.frame),
        "columns": len(source.frame.columns),
    }
    table = validate(source.frame, spec)
    spec = table.spec
    data = standardise(table.frame, spec.columns)
    paths = order(data, spec.microaggregation)
    partitions = microaggregate(data, spec.microaggregation, paths)
    made = [groups.iterations for groups in partitions if groups.iterations is not None]
    if made:
        record["iterations"] = made if spec.microaggregation.each_column else made[0]
    masked = round_integers(table.frame, partitions, spec.columns)
    evaluation = evaluate(table.frame, masked, partitions, spec)
    get_run_logger().info("%s", evaluation)

    outcome.evaluation = evaluation
    verdicts = Verdicts(evaluation, spec.gate, spec.microaggregation.k)
    outcome.verdicts = verdicts.each
    record["evaluation"] = asdict(evaluation)
    record["gate"] = [asdict(verdict) for verdict in outcome.verdicts]
    record["expectations"] = [asdict(finding) for finding in table.findings]
    if not dry_run:
        outcome.profile = profile(table.frame, masked, spec)
    judgement = judge(table.frame, masked, verdicts, spec)
    record["expectations"] += [asdict(finding) for finding in judgement.findings]
    if dry_run:
        outcome.sentence = "approved; a dry run publishes and records nothing"
        return

    told = outcome.timed_record()
    make_public = seal if hold else publish
    result = make_public(masked, judgement.approval, spec, told, outcome.profile)
    if isinstance(result, Candidate):
        outcome.hold(result)
    else:
        outcome.publish(result)


def _review(spec: ReleaseSpec, outcome: Outcome) -> None:
    """Publish or drop what was held, as a reviewer says."""
    held, review = outcome.candidate, spec.gate.review
    if held is None or review is None:
        return
    register = spec.publication.register_folder
    with deciding(register, held.attempt):
        outcome.show("Waits for a reviewer")
        decision = ask(outcome, held, review.hours)
        try:
            outcome.publish(decide(register, held.attempt, decision))
        except RejectedError:
            outcome.candidate = None
            raise
        except ReleaseError:
            # unlike a rejection, this is not in the register yet
            outcome.recorded = False
            raise


def _keep_record(spec: ReleaseSpec, outcome: Outcome) -> None:
    """Enter a blocked or failed attempt into the register, if that can be written."""
    decision = BLOCKED if isinstance(outcome.error, RefusedError) else FAILED
    record = {**outcome.timed_record(), "decision": decision, "reason": outcome.sentence}
    try:
        outcome.manifest = guarded("record", record_attempt)(spec, record, outcome.profile)
    except ReleaseError as error:
        # the first fault is the one to report
        outcome.sentence += f"; the register could not be told so ({error})"
