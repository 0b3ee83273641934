"""Decides on a candidate that was sealed earlier."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from prefect import flow, runtime
from prefect.client.schemas.objects import State
from pydantic import Field, ValidationError

from algorithms.errors import ReleaseError, SpecError
from expectations.request.named import reviewed_specs
from expectations.request.spec import ReleaseSpec
from expectations.review import Decision
from flows.alone import deciding, end_with_worker
from flows.notify import tell_of
from flows.outcome import Outcome, observers
from tasks.publish import decide
from tasks.stage import guarded
from tasks.store.candidates import check_waiting
from tasks.store.register import Register


@flow(
    name="approve",
    flow_run_name="approve-{candidate}",
    persist_result=False,
    log_prints=False,
    on_failure=[tell_of],
    on_crashed=[tell_of],
)
def approve(
    register_folder: Path,
    candidate: str,
    reviewer: Annotated[str, Field(min_length=1)],
    decision: Literal["approve", "reject"] = "approve",
    reason: str = "",
) -> State[None]:
    """Publish the very bytes of a sealed candidate, or reject it.

    Args:
        register_folder: the register that holds the candidate.
        candidate: its name, such as 000003-enterprise-survey-2026-Q3.
        reviewer: your name; it must not be the one who started the run.
        decision: whether these files may be published.
        reason: kept in the register.
    """
    end_with_worker()
    outcome = Outcome()
    try:
        guarded("approve", _approve)(
            register_folder, candidate, Decision(decision == "approve", reviewer, reason), outcome
        )
    except ReleaseError as error:
        outcome.fail(error)
    outcome.show("Published")
    for observer in observers:
        observer(outcome)
    return outcome.state("Published")


def _approve(folder: Path, candidate: str, decision: Decision, outcome: Outcome) -> None:
    if runtime.deployment.id is not None:
        _check_reviewed(folder)
    register = Register(folder.absolute())
    check_waiting(register, candidate)
    # a spec that this version would refuse was judged by the version that sealed it
    with suppress(ValidationError):
        outcome.spec = ReleaseSpec.model_validate(register.manifest(candidate).spec)
    with deciding(register.folder, candidate):
        outcome.publish(decide(register.folder, candidate, decision))


def _check_reviewed(register: Path) -> None:
    """See that a run on the server publishes what a reviewed spec made, and nothing else."""
    known = {os.path.realpath(file.spec.publication.register_folder) for file in reviewed_specs()}
    if os.path.realpath(register) not in known:
        raise SpecError(
            "a run on the server must decide on a candidate of a reviewed spec; "
            f"{str(register)!r} is the register of none: use `microrelease approve` on the command "
            "line"
        )
