"""Asks a person, in the Prefect UI, whether a candidate may be published."""

import math
import time
from typing import Literal

from prefect import get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from prefect.settings import get_current_settings
from prefect.states import Running
from pydantic import Field

from algorithms.errors import RefusedError, SpecError
from expectations.request.spec import ReleaseSpec
from expectations.review import SCHEDULE, Decision, person
from flows.outcome import Attempt
from tasks.publish import Candidate
from tasks.reporting.artefacts import review_text

POLL_SECONDS = 3
NOBODY = "nobody"


class ReviewForm(RunInput):
    """What the reviewer fills in. Whoever submits it as it is rejects."""

    decision: Literal["reject", "approve"] = Field(
        default="reject", description="Whether these files may be published."
    )
    reviewer: str = Field(
        min_length=1, description="Your name. It must not be the one who started the run."
    )
    reason: str = Field(default="", description="Kept in the register.")


def starter(started_by: str) -> str:
    """Name the starter of this run; empty where a person started it and gave no name.

    A parameter cannot claim that a run was scheduled: the server says so.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    return SCHEDULE if run is not None and run.auto_scheduled else person(started_by)


def check_starter(started_by: str) -> None:
    """See, before any work is done, that a reviewer can be told from the one who started the run.

    Raises
    ------
    SpecError
        If nobody knows who started it.
    """
    if not started_by:
        raise SpecError(
            "a release that is reviewed must not be approved by the one who started it; who "
            "started this run is not known: give your name in started_by"
        )


def check_answerable(spec: ReleaseSpec) -> None:
    """See, before any work is done, that someone will be able to answer.

    Raises
    ------
    SpecError
        If the run would wait on a server that ends with it.
    """
    if spec.gate.review is not None and get_current_settings().api.url is None:
        raise SpecError(
            "a spec that asks for review needs a Prefect server on which someone can answer; there "
            "is none: start `microrelease up` and set PREFECT_API_URL as it says, or seal a "
            "candidate with `microrelease run --candidate` and decide later with "
            "`microrelease approve`"
        )


def ask(attempt: Attempt, candidate: Candidate, hours: float) -> Decision:
    """Pause until a reviewer has decided; no answer in time is a rejection."""
    end = time.monotonic() + hours * 3600
    record = attempt.record
    verdicts = attempt.verdicts.each if attempt.verdicts else ()
    fault = ""
    while (left := math.ceil(end - time.monotonic())) > 0:
        text = review_text(record.content, verdicts, attempt.certificate, candidate.manifest, fault)
        try:
            answer = pause_flow_run(
                wait_for_input=ReviewForm.with_initial_data(description=text),
                timeout=left,
                poll_interval=POLL_SECONDS,
            )
            return Decision(
                answer.decision == "approve",
                answer.reviewer,
                answer.reason,
                record.started_by,
            )
        except FlowPauseTimeout:
            # from a pause that ran out, the server lets a run end as plainly failed only
            with get_client(sync_client=True) as client:
                client.set_flow_run_state(runtime.flow_run.id, Running(), force=True)
            break
        except RefusedError as error:
            fault = str(error)
            get_run_logger().warning("%s; the run waits for another reviewer", fault)
    return Decision(False, NOBODY, f"no answer within {hours:g} hours")
