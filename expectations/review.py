"""A decision must be made by named persons who did not start the run."""

import unicodedata
from dataclasses import dataclass

from algorithms.errors import RefusedError
from expectations.signatures import canonical

SCHEDULE = "the schedule"
"""Stands in for the name of a starter if no person started the run."""


DESK, PREFECT_UI, COMMAND_LINE, NO_ANSWER = "desk", "Prefect UI", "command line", "no answer"
"""Where a decision was made. Only the desk knows who decides; elsewhere a name is a claim."""

WAKE = "decided in the desk"
"""Stands in for a name when the desk has a paused run look at the register; it decides nothing."""


@dataclass(frozen=True)
class Decision:
    """The decision of a reviewer on a candidate.

    Attributes
    ----------
    approved : bool
        Whether the candidate may be published.
    reviewer : str
        Name of the reviewer.
    reason : str
        Kept in the register.
    started_by : str, optional
        Name of the person who started the run, empty if it is not known; None until the candidate
        has been read.
    channel : str
        Where the decision was made.
    login : str
        The name with which the reviewer logged in to the desk, if that is another.
    key, signature : str
        The reviewer's own public key and signature of the decision, or empty.

    Raises
    ------
    RefusedError
        If the reviewer has no name or started the run, or approves a run without knowing who
        started it.
    """

    approved: bool
    reviewer: str
    reason: str = ""
    started_by: str | None = None
    channel: str = COMMAND_LINE
    login: str = ""
    key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if not plain(self.reviewer):
            raise RefusedError("a reviewer must give a name; it is empty")
        if self.started_by is None:
            return
        if self.approved and not plain(self.started_by):
            raise RefusedError(
                "a release must be reviewed by someone other than the person who started it; who "
                "started this one is not known: reject it, and run it again with started_by"
            )
        if plain(self.started_by) in (plain(self.reviewer), plain(self.login) or None):
            raise RefusedError(
                "a release must be reviewed by someone other than the person who started it; "
                f"{self.started_by!r} did both"
            )


def decision_text(candidate: str, manifest_sha256: str, decision: Decision) -> str:
    """Give the text that a reviewer signs with a key of their own."""
    return canonical(
        {
            "candidate": candidate,
            "manifest_sha256": manifest_sha256,
            "approved": decision.approved,
            "reviewer": decision.reviewer,
            "reason": decision.reason,
        }
    )


def person(name: str) -> str:
    """Strip the name of a person; empty if it is not the name of a person."""
    return "" if plain(name) == SCHEDULE else name.strip()


def plain(name: str) -> str:
    """Normalise a name: spaces, capitals and encoding make no difference."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
