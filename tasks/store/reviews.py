"""The decisions of reviewers: one line of the register each, until enough have approved."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from algorithms.errors import RefusedError
from expectations.manifest import DecisionFacts, Manifest, ReviewFacts
from expectations.review import DESK, NO_ANSWER, WAKE, Decision, decision_text, plain
from expectations.signatures import DECISION, PublicKey
from tasks.store import candidates
from tasks.store.chain import Chain, Entry
from tasks.store.disk import Folder
from tasks.store.register import Register


@dataclass(frozen=True)
class Ballot:
    """The decisions on a candidate so far.

    Attributes
    ----------
    decisions : tuple of DecisionFacts
        The decisions that count, in order; the last of each reviewer.
    needed : int
        How many reviewers must approve.
    """

    decisions: tuple[DecisionFacts, ...]
    needed: int

    @property
    def rejected(self) -> bool:
        """Whether somebody rejected the candidate, which decides."""
        return any(not each.approved for each in self.decisions)

    @property
    def missing(self) -> int:
        """How many reviewers still must approve; none if it is decided."""
        return 0 if self.rejected else max(self.needed - len(self.decisions), 0)

    def facts(self, candidate: str, started_by: str) -> ReviewFacts:
        """Sum the decisions up for the manifest; it must be decided."""
        counted = [each for each in self.decisions if each.approved != self.rejected]
        names = [each.reviewer for each in counted]
        reasons = [each.reason for each in counted if each.reason]
        return ReviewFacts(
            candidate=candidate,
            approved=not self.rejected,
            reviewer=" and ".join(names),
            reason="; ".join(reasons),
            started_by=started_by,
            decisions=self.decisions,
        )


def ballot(chain: Chain, manifest: Manifest) -> Ballot:
    """Count the decisions on a candidate."""
    last = {plain(entry.reviewer or ""): entry for entry in chain.reviews.get(manifest.attempt, ())}
    decisions = tuple(
        DecisionFacts(
            time=entry.time,
            approved=bool(entry.approved),
            reviewer=entry.reviewer or "",
            reason=entry.reason or "",
            channel=entry.channel or "",
            key=entry.reviewer_key or "",
        )
        for entry in last.values()
    )
    return Ballot(decisions, int(manifest.review_asked.get("reviewers", 1)))


def record_review(register: Register, root: Folder, candidate: str, decision: Decision) -> None:
    """Enter the decision of one reviewer into an open register; the same one again adds nothing.

    Raises
    ------
    RefusedError
        If the candidate does not wait for a decision, the reviewer started the run or has
        approved already, or the spec asks for checked names.
    IntegrityError
        If the candidate differs from what was sealed.
    """
    candidates.check_waiting(register, candidate)
    manifest = register.manifest(candidate)
    decision = replace(decision, started_by=manifest.started_by)
    _check_name(decision, manifest)
    _check_signature(decision, candidate, register)
    chain = register.chain()
    before = ballot(chain, manifest)
    if decision.channel == NO_ANSWER and not before.missing:
        # the last answer came in the last moment
        return
    if _is_entered(before, decision):
        if before.missing:
            raise RefusedError(
                f"each reviewer decides once; {decision.reviewer} has approved {candidate}, which "
                f"waits for {_others(before.missing)}"
            )
        return
    if decision.approved:
        candidates.unsealed(register, root, candidate)
    register.review(
        root,
        candidate,
        reviewer=decision.reviewer,
        approved=decision.approved,
        reason=decision.reason or None,
        channel=decision.channel,
        reviewer_key=decision.key or None,
        reviewer_signature=decision.signature or None,
    )


def _is_entered(before: Ballot, decision: Decision) -> bool:
    """Return whether a person has decided so; whoever has logged in replaces a claimed name."""
    return any(
        plain(each.reviewer) == plain(decision.reviewer)
        and each.approved == decision.approved
        and (each.channel == DESK or decision.channel != DESK)
        for each in before.decisions
    )


def _others(count: int) -> str:
    return "another reviewer" if count == 1 else f"{count} other reviewers"


def _check_name(decision: Decision, manifest: Manifest) -> None:
    if plain(decision.reviewer) == WAKE:
        raise RefusedError(f"a decision must be made by a person; {WAKE!r} is not the name of one")
    if _may_count(decision.channel, manifest):
        return
    raise RefusedError(
        "the spec asks for reviewers whose names are checked (gate.review.claimed_names: false); "
        f"in the {decision.channel} a name is a claim: decide in the desk"
    )


def _may_count(channel: str, manifest: Manifest) -> bool:
    """Return whether a decision made there may count: a name may be a claim, or it was checked."""
    return channel in (DESK, NO_ANSWER) or manifest.review_asked.get("claimed_names", True)


def _check_signature(decision: Decision, candidate: str, register: Register) -> None:
    if not decision.key:
        return
    text = decision_text(candidate, register.manifest_sha256(candidate), decision)
    if not _has_signed(decision.key, text, decision.signature):
        raise RefusedError(
            "a decision must be signed with the reviewer's own key; the signature is of another "
            "decision or another key: sign exactly this one with `microrelease key sign`"
        )


def review_faults(register: Register, chain: Chain, manifest: Manifest) -> list[str]:
    """Find decisions that the lines of the register contradict."""
    return [
        f"the review of attempt {manifest.attempt} is not what the register says: {fault}"
        for fault in _faults(register, chain, manifest)
    ]


def _faults(register: Register, chain: Chain, manifest: Manifest) -> Iterator[str]:
    review = manifest.review
    if review is None or (not review.decisions and review.candidate not in chain.reviews):
        # before 0.3 decisions had no lines of their own
        return
    sealed = register.manifest(review.candidate)
    counted = ballot(chain, sealed)
    if review.approved and (counted.rejected or counted.missing):
        yield (
            f"{counted.needed} reviewers must approve, and {len(counted.decisions)} decided"
            f"{', one of them to reject' if counted.rejected else ''}"
        )
    if counted.decisions != review.decisions:
        yield "it names other decisions"
    starter = plain(sealed.started_by)
    for entry in chain.reviews.get(review.candidate, ()):
        if plain(entry.reviewer or "") == starter:
            yield f"{entry.reviewer!r} started the run"
        if not _may_count(entry.channel or "", sealed):
            yield f"the name of {entry.reviewer!r} was not checked, which the spec asks for"
        yield from _signature_fault(entry)


def _signature_fault(entry: Entry) -> Iterator[str]:
    if entry.reviewer_key is None:
        return
    decision = Decision(bool(entry.approved), entry.reviewer or "", entry.reason or "")
    text = decision_text(entry.attempt, entry.manifest_sha256 or "", decision)
    if not _has_signed(entry.reviewer_key, text, entry.reviewer_signature or ""):
        yield f"{entry.reviewer!r} did not sign it"


def _has_signed(key: str, text: str, signature: str) -> bool:
    """Return whether a decision is signed with a key; never with text that is not a key."""
    try:
        return PublicKey.of_text(key).has_signed(DECISION, text, signature)
    except ValueError:
        return False
