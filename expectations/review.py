"""Of the reviewer: someone with a name, who is not the one that started the run."""

from dataclasses import dataclass

from algorithms.errors import RefusedError


@dataclass(frozen=True)
class Decision:
    """What a reviewer said of a candidate.

    Raises
    ------
    RefusedError
        If the reviewer has no name, or is the one who started the run.
    """

    approved: bool
    reviewer: str
    reason: str = ""
    started_by: str = ""

    def __post_init__(self) -> None:
        if not _plain(self.reviewer):
            raise RefusedError("a reviewer must give a name; it is empty")
        if _plain(self.reviewer) == _plain(self.started_by):
            raise RefusedError(
                f"a release must be reviewed by someone else than the one who started it; "
                f"{self.started_by!r} did both"
            )


def _plain(name: str) -> str:
    """Write a name so that spaces and capitals make no difference."""
    return " ".join(name.split()).casefold()
