"""Of the reviewer: someone with a name, who is not the one that started the run."""

import unicodedata
from dataclasses import dataclass

from algorithms.errors import RefusedError

SCHEDULE = "the schedule"
"""Stands for the starter of a run that nobody started by hand."""


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
        Name of the one who started the run, empty where that is not known; None as long as the
        candidate has not been read.

    Raises
    ------
    RefusedError
        If the reviewer has no name or started the run, or if a run is approved of which nobody
        knows who started it.
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
                "a release must be reviewed by someone else than the one who started it; who "
                "started this one is not known: reject it, and run it again with started_by"
            )
        if _plain(self.reviewer) == _plain(self.started_by):
            raise RefusedError(
                f"a release must be reviewed by someone else than the one who started it; "
                f"{self.started_by!r} did both"
            )


def person(name: str) -> str:
    """Give the name of a person without spaces around it; empty if it is not one."""
    return "" if _plain(name) == SCHEDULE else name.strip()


def _plain(name: str) -> str:
    """Write a name so that spaces, capitals and the way it is encoded make no difference."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
