"""A decision must be made by a named person who did not start the run."""

import unicodedata
from dataclasses import dataclass

from algorithms.errors import RefusedError

SCHEDULE = "the schedule"
"""Stands in for the name of a starter if no person started the run."""


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

    def __post_init__(self) -> None:
        if not _plain(self.reviewer):
            raise RefusedError("a reviewer must give a name; it is empty")
        if self.started_by is None:
            return
        if self.approved and not _plain(self.started_by):
            raise RefusedError(
                "a release must be reviewed by someone other than the person who started it; who "
                "started this one is not known: reject it, and run it again with started_by"
            )
        if _plain(self.reviewer) == _plain(self.started_by):
            raise RefusedError(
                "a release must be reviewed by someone other than the person who started it; "
                f"{self.started_by!r} did both"
            )


def person(name: str) -> str:
    """Strip the name of a person; empty if it is not the name of a person."""
    return "" if _plain(name) == SCHEDULE else name.strip()


def _plain(name: str) -> str:
    """Normalise a name: spaces, capitals and encoding make no difference."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
