"""Enters the decision of a reviewer who has logged in, and has it carried out."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from algorithms.errors import RefusedError, RejectedError, ReleaseError
from expectations.manifest import Manifest
from expectations.review import DESK, WAKE, Decision
from flows.desk.keys import own_key
from flows.desk.user import User
from tasks.store import candidates
from tasks.store.register import Register
from tasks.store.reviews import ballot

PAUSES = (0.0, 1.0, 2.0, 4.0)
"""Seconds before each attempt to resume a run, which may not have paused yet."""


@dataclass(frozen=True)
class Carried:
    """What became of a decision.

    Attributes
    ----------
    heading, words : str
        For the reviewer.
    is_public : bool
        Whether the release is public now.
    """

    heading: str
    words: str
    is_public: bool = False


def decision_of(user: User, *, approved: bool, reason: str, signature: str) -> Decision:
    """Make the decision of a user."""
    key = own_key(user)
    return Decision(
        approved,
        user.name,
        reason,
        channel=DESK,
        login=user.login,
        key="" if key is None else key.text,
        signature=signature,
    )


def carry_out(
    folder: Path, candidate: str, manifest_sha256: str, flow_run: str, decision: Decision | None
) -> Carried:
    """Enter a decision and publish or drop the candidate, or have the run that waits do so.

    Parameters
    ----------
    folder : Path
        The register.
    candidate : str
        Name of the candidate.
    manifest_sha256 : str
        Hash of the manifest that the reviewer saw.
    flow_run : str
        The run that sealed the candidate.
    decision : Decision, optional
        None if all decisions are entered, and only have to be carried out.

    Raises
    ------
    ReleaseError
        If the decision is refused, or cannot be carried out.
    """
    # they import pandas and the statistics
    from tasks.publish import Undecided, decide, enter_review, settle
    from tasks.stage import guarded

    register = Register(folder)
    if register.manifest_sha256(candidate) != manifest_sha256:
        raise RefusedError(
            "a decision must be about the candidate that was shown; this one has changed since: "
            "open its page again"
        )
    if decision is None:
        _check_decided(register, candidate)
    if candidates.is_held(folder, candidate):
        if decision is not None:
            entered = guarded("review", enter_review)(folder, candidate, decision)
            if entered.missing:
                return _recorded(entered.missing)
        return _resumed(register, candidate, flow_run)
    try:
        with candidates.deciding(folder, candidate):
            if decision is None:
                result = guarded("decide", settle.fn)(folder, candidate)
            else:
                result = guarded("decide", decide.fn)(folder, candidate, decision)
    except RejectedError as error:
        _tell(folder, register.manifest(candidate), str(error))
        return Carried("Rejected", "The candidate is dropped, and nothing is published.")
    if isinstance(result, Undecided):
        return _recorded(result.missing)
    return Carried("Published", f"The release is public in {result.folder}.", is_public=True)


def _tell(folder: Path, rejected: Manifest, sentence: str) -> None:
    """Notify people of a rejection, in a thread: a mail server may be slow."""
    from flows.notify import tell_rejected

    threading.Thread(target=tell_rejected, args=(folder, rejected, sentence)).start()


def _check_decided(register: Register, candidate: str) -> None:
    """Check that all decisions on a candidate are entered."""
    missing = ballot(register.chain(), register.manifest(candidate)).missing
    if missing:
        raise RefusedError(
            "decisions can be carried out when all of them are entered; this candidate waits for "
            f"{_others(missing)}"
        )


def _recorded(missing: int) -> Carried:
    return Carried(
        "Your approval is recorded",
        f"Nothing is published before {_others(missing)} approved it too.",
    )


def _others(missing: int) -> str:
    return "another reviewer" if missing == 1 else f"{missing} more reviewers"


def _resumed(register: Register, candidate: str, flow_run: str) -> Carried:
    """Have the run that waits go on; it finds the decisions in the register."""
    from prefect.client.orchestration import get_client

    goes_on = Carried(
        "Decided", "The run that waited goes on, and publishes or drops the candidate."
    )
    fault = ""
    for pause in PAUSES:
        time.sleep(pause)
        try:
            with get_client(sync_client=True) as client:
                # the form asks for a decision, which the run does not read under this name
                answer = client.resume_flow_run(
                    UUID(flow_run), run_input={"decision": "reject", "reviewer": WAKE}
                )
            fault = answer.status.value
        except Exception as error:
            fault = type(error).__name__
        # a run that had not paused yet saw the decisions, and carried them out
        if fault == "ACCEPT" or candidate not in register.chain().waiting:
            return goes_on
    raise ReleaseError(
        "the decision is recorded, but the run that waits for it could not be resumed "
        f"({fault}): check that the Prefect server runs, and press Carry out"
    )
