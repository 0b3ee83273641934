"""Decides on a candidate that was sealed earlier."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from prefect import flow, runtime
from prefect.client.schemas.objects import State
from pydantic import Field

from algorithms.errors import ReleaseError, SpecError
from expectations.request.named import reviewed_specs
from expectations.review import COMMAND_LINE, PREFECT_UI, Decision
from flows.alone import end_with_worker
from flows.notify import tell_of
from flows.outcome import Attempt, Outcome, decided, show, state_of, stopped
from tasks.publish import decide
from tasks.stage import guarded
from tasks.store.candidates import check_waiting, deciding
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
    key: str = "",
    signature: str = "",
) -> State[Any]:
    """Publish exactly the bytes of a sealed candidate, or reject it.

    The name is a claim; the desk checks names.

    Args:
        register_folder: the register that holds the candidate.
        candidate: its name, such as 000003-enterprise-survey-2026-Q3.
        reviewer: your name; you must not be the person who started the run.
        decision: whether these files may be published.
        reason: kept in the register.
        key: your own public key, if you sign the decision.
        signature: made by `microrelease key sign`.
    """
    end_with_worker()
    attempt: Attempt | None = None
    outcome: Outcome
    try:
        answer = Decision(
            decision == "approve",
            reviewer,
            reason,
            channel=COMMAND_LINE if runtime.deployment.id is None else PREFECT_UI,
            key=key,
            signature=signature,
        )
        attempt = guarded("approve", _sealed_attempt)(register_folder.absolute(), candidate)
        outcome = guarded("approve", _decided)(attempt, register_folder.absolute(), answer)
    except ReleaseError as error:
        outcome = stopped(attempt, error)
    show(outcome)
    return state_of(outcome)


def _sealed_attempt(folder: Path, candidate: str) -> Attempt:
    """Read what is known of a candidate that waits, in the format in which it was sealed."""
    if runtime.deployment.id is not None:
        _check_reviewed(folder)
    register = Register(folder)
    check_waiting(register, candidate)
    manifest = register.manifest(candidate)
    return Attempt(manifest.sealed_spec, manifest.record.adding(attempt=candidate))


def _decided(attempt: Attempt, register: Path, decision: Decision) -> Outcome:
    candidate = attempt.record.attempt
    with deciding(register, candidate):
        return decided(attempt, decide(register, candidate, decision))


def _check_reviewed(register: Path) -> None:
    """Check that a run on the server decides on a candidate of a reviewed spec."""
    known = {os.path.realpath(file.spec.publication.register_folder) for file in reviewed_specs()}
    if os.path.realpath(register) not in known:
        raise SpecError(
            "a run on the server must decide on a candidate of a reviewed spec; no reviewed spec "
            f"has the register {str(register)!r}: use `microrelease approve` on the command line"
        )
