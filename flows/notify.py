"""Tells people of runs that did not end well, once for each."""

import json
import os
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
from tasks.shelves.disk import make_folder
from tasks.shelves.register import now

BLOCK = "MICRORELEASE_NOTIFY"
"""Environment variable with a Prefect notification block, such as slack-webhook/releases."""


@flow(name="notify", flow_run_name="notify-{flow_run_id}", persist_result=False, log_prints=False)
def notify(flow_run_id: UUID) -> None:
    """Tell of a run that ended badly, unless that was done before.

    Args:
        flow_run_id: the run.
    """
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(flow_run_id)
    if run.state is not None:
        tell(run, run.state)


def tell_of(flow: Flow[..., Any], flow_run: FlowRun, state: State) -> None:  # noqa: ARG001
    """Tell of a run from within its own process; a hook of flows, called by these names."""
    tell(flow_run, state)


def tell(run: FlowRun, state: State) -> bool:
    """Put a message in the outbox and send it on; tell whether this was the first for the run.

    Without an outbox there is nobody to tell: who runs a release by hand sees how it ends.
    """
    if not os.environ.get(OUTBOX):
        return False
    outbox = Path(os.environ[OUTBOX])
    make_folder(outbox, "the outbox")
    told = {
        "time": now(),
        "run": run.name,
        "flow_run_id": str(run.id),
        "state": state.name,
        "message": state.message or "",
    }
    message = outbox / f"{run.id}.json"
    try:
        with message.open("x", encoding="utf-8") as file:
            json.dump(told, file, indent=2, ensure_ascii=False)
    except FileExistsError:
        return False
    if os.environ.get(BLOCK):
        try:
            block: Any = Block.load(os.environ[BLOCK])
            block.notify(f"{state.name}: {state.message or 'no message'}", subject=run.name)
        except Exception as error:
            # the next to tell of this run tries again
            message.unlink()
            raise StorageError(
                f"{os.environ[BLOCK]!r} must take notifications; it failed "
                f"({type(error).__name__}): see docs/operating.md"
            ) from None
    return True
