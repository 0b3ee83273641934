"""Notifies people of runs that did not succeed and of candidates that wait, once for each."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import flow, get_run_logger, runtime
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.flows import Flow

from algorithms.errors import RejectedError, ReleaseError, SpecError
from expectations.manifest import Manifest
from flows.mail import configured_mail
from flows.operation.installation import OUTBOX
from flows.outbox import Broken, Channel, Delivery, Message, Outbox
from flows.outcome import Attempt
from flows.states import WAITING, state_name
from tasks.publish import Candidate
from tasks.store.desk_pages import review_page
from tasks.store.register import now

NOTIFICATION_BLOCK = "MICRORELEASE_NOTIFY"
"""Environment variable with a Prefect notification block, such as slack-webhook/releases."""


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
    """Notify people of a run that ended; return whether this call did so.

    Without an outbox nobody is notified: a person who runs a release by hand sees the result. A
    message that could not be sent stays in the outbox under another name.

    Raises
    ------
    StorageError
        If someone could not be reached.
    """
    outbox = _outbox()
    return outbox is not None and outbox.post(
        Message(
            event=str(run.id),
            time=now(),
            run=run.name,
            flow_run_id=str(run.id),
            state=str(state.name),
            message=state.message or "",
        )
    )


def tell_waiting(attempt: Attempt, candidate: Candidate, how: str) -> None:
    """Notify people of a candidate that begins to wait; a failure does not keep it from waiting.

    Parameters
    ----------
    attempt : Attempt
        The attempt that sealed it.
    candidate : Candidate
        The candidate.
    how : str
        How to decide on it without the desk.
    """
    outbox = _outbox()
    if outbox is None:
        return
    release = attempt.spec.release
    register = attempt.spec.publication.register_folder
    message = Message(
        event=_event_of(register, candidate.attempt),
        time=now(),
        run=str(runtime.flow_run.name),
        flow_run_id=str(runtime.flow_run.id),
        state=WAITING,
        message="a release has passed its gate and waits for a reviewer",
        details={
            "dataset": release.name,
            "period": str(release.period),
            "candidate": candidate.attempt,
            "decide": review_page(register, candidate.attempt) or how,
        },
    )
    try:
        outbox.post(message)
    except ReleaseError as error:
        get_run_logger().warning("%s", error)


def tell_rejected(register: Path, candidate: Manifest, sentence: str) -> None:
    """Notify people of a candidate that was rejected in the desk, where no run can tell of it.

    A message that cannot be sent stays in the outbox; the next run sends it.
    """
    outbox = _outbox()
    if outbox is None:
        return
    release = candidate.release
    message = Message(
        event=f"{_event_of(register, candidate.attempt)}-rejected",
        time=now(),
        run=f"{release.name}-{release.edition}",
        flow_run_id=candidate.flow_run,
        state=state_name(RejectedError("")),
        message=sentence,
        details={
            "dataset": release.name,
            "period": str(release.period),
            "candidate": candidate.attempt,
        },
    )
    with suppress(ReleaseError):
        outbox.post(message)


def _event_of(register: Path, candidate: str) -> str:
    """Identify a candidate; registers number theirs apart from each other."""
    return f"{candidate}-{sha256(os.path.realpath(register).encode()).hexdigest()[:12]}"


def send_rest() -> None:
    """Send messages that could not be sent earlier; say so in the log if that fails again."""
    outbox = _outbox()
    if outbox is not None:
        try:
            outbox.post_rest()
        except ReleaseError as error:
            get_run_logger().warning("%s", error)


@dataclass(frozen=True)
class BlockChannel:
    """A notification block of the Prefect server, under its name."""

    name: str

    @property
    def addressees(self) -> tuple[str, ...]:
        """The block; it knows whom it reaches."""
        return (self.name,)

    def send(self, message: Message, addressees: Sequence[str]) -> Delivery:
        """Pass a message to the block."""
        facts = [f"{name}: {value}" for name, value in message.details.items()]
        body = f"{message.state}: {message.message or 'no message'}"
        try:
            block: Any = Block.load(self.name)
            block.notify("\n".join([body, *facts]), subject=message.run)
        except Exception as error:
            fault = f"{self.name!r} must accept notifications; it failed ({type(error).__name__})"
            return Delivery((), f"{fault}: correct the block, or {NOTIFICATION_BLOCK}")
        return Delivery(tuple(addressees))


def _outbox() -> Outbox | None:
    """Open the outbox that the environment names, with the channels that it names."""
    folder = os.environ.get(OUTBOX)
    if not folder:
        return None
    channels: list[Channel] = []
    if os.environ.get(NOTIFICATION_BLOCK):
        channels.append(BlockChannel(os.environ[NOTIFICATION_BLOCK]))
    try:
        letters = configured_mail()
    except SpecError as error:
        channels.append(Broken("e-mail", str(error)))
    else:
        channels += [letters] if letters is not None else []
    return Outbox(Path(folder), channels)
