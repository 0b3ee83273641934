"""Asks a person, in the Prefect UI, whether a candidate may be published."""

import math
import time
from pathlib import Path
from typing import Literal

from prefect import get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from prefect.states import Running
from pydantic import Field

from algorithms.errors import RefusedError, SpecError
from expectations.request.spec import ReleaseSpec
from expectations.review import NO_ANSWER, PREFECT_UI, SCHEDULE, WAKE, Decision, person, plain
from flows.operation.temporary import has_lasting_server
from flows.outcome import Attempt
from tasks.publish import Candidate, enter_review
from tasks.reporting.artefacts import review_text
from tasks.store.register import Register
from tasks.store.reviews import ballot

POLL_SECONDS = 3
NO_REVIEWER = "nobody"


class ReviewForm(RunInput):
    """The form that a reviewer fills in; submitting it unchanged rejects the candidate.

    The name is a claim, and the register says so; the desk checks names.
    """

    decision: Literal["reject", "approve"] = Field(
        default="reject", description="Whether these files may be published."
    )
    reviewer: str = Field(
        min_length=1, description="Your name. You must not be the person who started the run."
    )
    reason: str = Field(default="", description="Kept in the register.")


def starter(started_by: str) -> str:
    """Name the person who started this run; empty if a person started it and gave no name.

    A parameter cannot claim that a run was scheduled; only the server knows that.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    return SCHEDULE if run is not None and run.auto_scheduled else person(started_by)


def check_starter(started_by: str) -> None:
    """Check, before any work is done, that it is known who started the run.

    Raises
    ------
    SpecError
        If it is not known.
    """
    if not started_by:
        raise SpecError(
            "a reviewed release must not be approved by the person who started it; it is not known "
            "who started this run: give your name in started_by"
        )


def check_answerable(spec: ReleaseSpec) -> None:
    """Check, before any work is done, that someone will be able to answer.

    Raises
    ------
    SpecError
        If the run would wait on a server that ends with it.
    """
    if spec.gate.review is not None and not has_lasting_server():
        raise SpecError(
            "a spec that asks for review needs a Prefect server on which someone can answer; no "
            "server is configured: start `microrelease up` and set PREFECT_API_URL as it says, or "
            "seal a candidate with `microrelease run --candidate` and decide later with "
            "`microrelease approve`"
        )


def ask(attempt: Attempt, candidate: Candidate, hours: float) -> None:
    """Pause until the reviewers have decided; no answer in time is a rejection.

    A decision in the desk stands in the register when it resumes the run. An answer in the Prefect
    UI is entered here, under a name that nobody has checked.
    """
    end = time.monotonic() + hours * 3600
    register = attempt.spec.publication.register_folder
    note = ""
    while (left := math.ceil(end - time.monotonic())) > 0 and _missing(register, candidate):
        answer = _answer(attempt, candidate, note, left)
        if not _missing(register, candidate):
            return
        if answer is None:
            break
        if plain(answer.reviewer) == WAKE:
            continue
        try:
            decision = Decision(
                answer.decision == "approve",
                answer.reviewer,
                answer.reason,
                attempt.record.started_by,
                channel=PREFECT_UI,
            )
            missing = enter_review(register, candidate.attempt, decision).missing
        except RefusedError as error:
            note = f"{error}. Another reviewer must decide"
            get_run_logger().warning("%s; the run waits for another reviewer", error)
            continue
        if not missing:
            return
        note = f"{answer.reviewer} has approved. The release needs {missing} more"
    if not _missing(register, candidate):
        return
    decision = Decision(False, NO_REVIEWER, f"no answer within {hours:g} hours", channel=NO_ANSWER)
    enter_review(register, candidate.attempt, decision)


def _missing(register: Path, candidate: Candidate) -> int:
    """Count the reviewers who still must decide."""
    opened = Register(register)
    return ballot(opened.chain(), opened.manifest(candidate.attempt)).missing


def _answer(attempt: Attempt, candidate: Candidate, note: str, seconds: int) -> ReviewForm | None:
    """Pause until the run is resumed; None if that does not happen in time."""
    verdicts = attempt.verdicts.each if attempt.verdicts else ()
    text = review_text(
        attempt.spec, attempt.record, verdicts, attempt.certificate, candidate.manifest, note
    )
    try:
        return pause_flow_run(
            wait_for_input=ReviewForm.with_initial_data(description=text),
            timeout=seconds,
            poll_interval=POLL_SECONDS,
        )
    except FlowPauseTimeout:
        # after a pause has timed out, the server allows no state but a plain failure
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(runtime.flow_run.id, Running(), force=True)
        return None
