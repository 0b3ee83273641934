"""The review: the queue of candidates, and the page on which a reviewer decides."""

import shlex
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from algorithms.errors import ReleaseError
from expectations.manifest import Manifest
from expectations.review import DESK, plain
from flows.desk.access import AUDITOR, REVIEWER, User, allow
from flows.desk.archive import Archive
from flows.desk.deciding import Carried, carry_out, decision_of
from flows.desk.forms import form
from flows.desk.keys import own_key
from flows.desk.library import library_of
from flows.desk.measures import judgements
from flows.desk.releases import Asked
from flows.desk.rendering import page
from flows.desk.snapshot import Attempt
from tasks.store import candidates
from tasks.store.reviews import Ballot, ballot

APPROVE, REJECT, CARRY_OUT = "approve", "reject", "carry out"
MOST_REASON = 2000
"""Most characters of a reason."""

router = APIRouter()
Reader = Annotated[User, Depends(allow(REVIEWER, AUDITOR))]
Reviewer = Annotated[User, Depends(allow(REVIEWER))]
Fields = Annotated[dict[str, str], Depends(form)]


class Waiting:
    """A candidate that waits, and the decisions on it so far."""

    def __init__(self, archive: Archive, attempt: Attempt) -> None:
        self.attempt = attempt
        self.manifest: Manifest | None = None
        self.ballot: Ballot | None = None
        self.fault = ""
        try:
            self.manifest = archive.manifest(attempt)
        except ReleaseError as error:
            self.fault = str(error)
        if self.manifest is not None:
            self.ballot = ballot(attempt.shelf.chain, self.manifest)

    @property
    def is_held(self) -> bool:
        """Whether a run waits for the decision."""
        return candidates.is_held(self.attempt.shelf.register.folder, self.attempt.name)

    @property
    def is_decided(self) -> bool:
        """Whether all decisions are entered, and only have to be carried out."""
        return self.ballot is not None and self.ballot.missing == 0

    def has_approved(self, user: User) -> bool:
        """Return whether a user has approved the candidate at the desk."""
        decisions = self.ballot.decisions if self.ballot is not None else ()
        return any(
            each.approved and each.channel == DESK and plain(each.reviewer) == plain(user.name)
            for each in decisions
        )

    def reason_against(self, user: User) -> str:
        """Say why a user may not approve; empty if the user may."""
        if self.manifest is None or self.ballot is None:
            return "the candidate cannot be read"
        if plain(self.manifest.started_by) in (plain(user.name), plain(user.login)):
            return "you started this run, and another person must decide"
        if self.has_approved(user):
            return "you have approved it, and another person must approve it too"
        return ""


@router.get("/review")
def queue(request: Request, user: Reader) -> Response:
    """List the candidates that wait for a decision."""
    archive = library_of(request).archive
    waiting = [Waiting(archive, attempt) for attempt in archive.snapshot().waiting]
    return page(
        request,
        "review_queue.html",
        waiting=waiting,
        against={each.attempt.address: each.reason_against(user) for each in waiting},
    )


@router.get("/review/{key}/{name}")
def candidate(request: Request, user: Reader, asked: Asked) -> Response:
    """Show a candidate, and the form to decide on it."""
    if not asked.attempt.waits:
        return RedirectResponse(_outcome(asked.attempt).address, status_code=303)
    return _shown(request, user, Waiting(asked.library.archive, asked.attempt))


@router.post("/review/{key}/{name}")
def decide(request: Request, user: Reviewer, asked: Asked, fields: Fields) -> Response:
    """Enter a decision, or have those carried out that are entered."""
    choice, reason = fields.get("decision", ""), fields.get("reason", "").strip()
    if choice not in (APPROVE, REJECT, CARRY_OUT):
        raise HTTPException(400)
    waiting = Waiting(asked.library.archive, asked.attempt)
    if not asked.attempt.waits or waiting.manifest is None:
        words = "this candidate does not wait for a decision any more"
        return _shown(request, user, waiting, fault=words, status=409)
    if len(reason) > MOST_REASON:
        words = f"a reason must have at most {MOST_REASON} characters; this one has {len(reason)}"
        return _shown(request, user, waiting, fault=words, status=400)
    if choice == REJECT and not reason:
        words = "a rejection needs a reason, which the release engineer will read"
        return _shown(request, user, waiting, fault=words, status=400)
    try:
        decision = None
        if choice != CARRY_OUT:
            decision = decision_of(
                user,
                approved=choice == APPROVE,
                reason=reason,
                signature=fields.get("signature", "").strip(),
            )
        carried = carry_out(
            asked.attempt.shelf.register.folder,
            asked.attempt.name,
            fields.get("manifest", ""),
            waiting.manifest.flow_run,
            decision,
        )
    except ReleaseError as error:
        return _shown(request, user, waiting, fault=str(error), status=409, reason=reason)
    return _shown(request, user, waiting, carried=carried)


def _shown(
    request: Request,
    user: User,
    waiting: Waiting,
    *,
    fault: str = "",
    carried: Carried | None = None,
    status: int = 200,
    reason: str = "",
) -> Response:
    attempt = waiting.attempt
    # as it is now: a decision may have been entered meanwhile
    current = library_of(request).archive.snapshot().find(attempt.shelf.key, attempt.name)
    waiting = Waiting(library_of(request).archive, current or attempt)
    manifest = waiting.manifest
    key = own_key(user)
    return page(
        request,
        "review.html",
        status=status,
        waiting=waiting,
        attempt=waiting.attempt,
        outcome=_outcome(waiting.attempt),
        manifest=manifest,
        judged=judgements(manifest.gate) if manifest is not None else [],
        fault=fault,
        carried=carried,
        against=waiting.reason_against(user) if waiting.attempt.waits else "it is decided",
        may_decide=user.may(REVIEWER),
        may_only_reject=waiting.has_approved(user),
        key=key.fingerprint if key is not None else "",
        reason=reason,
        command=_command(waiting, user),
        most_reason=MOST_REASON,
    )


def _outcome(candidate: Attempt) -> Attempt:
    """Find the attempt that a decision made of a candidate; without one, it is the candidate."""
    attempts = reversed(candidate.shelf.attempts.values())
    return next((each for each in attempts if each.last.candidate == candidate.name), candidate)


def _command(waiting: Waiting, user: User) -> str:
    """Write the command with which a reviewer signs an approval with a key of their own."""
    parts = {
        "--register": str(waiting.attempt.shelf.register.folder),
        "--with": "KEY_FILE",
        "--reviewer": user.name,
        "--reason": "REASON",
    }
    options = " ".join(f"{name} {shlex.quote(value)}" for name, value in parts.items())
    return f"microrelease key sign {waiting.attempt.name} {options}"
