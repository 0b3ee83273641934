"""Notifies people of runs that did not succeed, once for each run."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import flow
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.flows import Flow

from algorithms.errors import StorageError
from flows.operation.installation import OUTBOX
from tasks.store.disk import make_folder
from tasks.store.register import now

NOTIFICATION_BLOCK = "MICRORELEASE_NOTIFY"
"""Environment variable with a Prefect notification block, such as slack-webhook/releases."""
PAUSES = (0.0, 2.0, 10.0)
"""Seconds before each attempt to send a message on."""


@flow(name="notify", flow_run_name="notify-{flow_run_id}", persist_result=False, log_prints=False)
def notify(flow_run_id: UUID) -> None:
    """Notify people of a run that did not succeed, unless they were notified before.

    Args:
        flow_run_id: the run.
    """
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(flow_run_id)
    if run.state is not None and run.state.is_final() and not run.state.is_completed():
        tell(run, run.state)


def tell_of(flow: Flow[..., Any], flow_run: FlowRun, state: State) -> None:  # noqa: ARG001
    """Notify people of a run; a hook that Prefect calls by these names, also in the worker."""
    if state.is_crashed():
        # a worker knows only the name that the run had before it started
        with suppress(Exception), get_client(sync_client=True) as client:
            flow_run = client.read_flow_run(flow_run.id)
    tell(flow_run, state)


def tell(run: FlowRun, state: State) -> bool:
    """Put a message in the outbox and send it; return whether it is the first for the run.

    Without an outbox nobody is notified: a person who runs a release by hand sees the result. A
    message that could not be sent stays in the outbox under another name.

    Raises
    ------
    StorageError
        If the notification block failed several times.
    """
    if not os.environ.get(OUTBOX):
        return False
    outbox = Path(os.environ[OUTBOX])
    make_folder(outbox, "the outbox")
    content = {
        "time": now(),
        "run": run.name,
        "flow_run_id": str(run.id),
        "state": state.name,
        "message": state.message or "",
    }
    message, unsent = outbox / f"{run.id}.json", outbox / f"{run.id}.unsent"
    try:
        with message.open("x", encoding="utf-8") as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
    except FileExistsError:
        return False
    if os.environ.get(NOTIFICATION_BLOCK):
        try:
            _send(
                os.environ[NOTIFICATION_BLOCK],
                f"{state.name}: {state.message or 'no message'}",
                run.name,
            )
        except StorageError:
            # the next notification of this run tries again
            message.rename(unsent)
            raise
        unsent.unlink(missing_ok=True)
    return True


def _send(name: str, body: str, subject: str) -> None:
    """Pass a message to a notification block; try again if it fails."""
    fault = ""
    for pause in PAUSES:
        time.sleep(pause)
        try:
            block: Any = Block.load(name)
            block.notify(body, subject=subject)
        except Exception as error:
            fault = type(error).__name__
        else:
            return
    raise StorageError(
        f"{name!r} must accept notifications; it failed {len(PAUSES)} times ({fault}): see "
        "docs/operating.md"
    )
