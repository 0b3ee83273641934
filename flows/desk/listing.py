"""The attempts of all registers: filters, search and pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from urllib.parse import urlencode

from algorithms.errors import ReleaseError
from flows.desk.archive import Archive
from flows.desk.snapshot import KILLED, WAITING, Attempt, Snapshot
from tasks.store.chain import BLOCKED, FAILED, FORGOTTEN, PUBLISHED, REJECTED, SEALED, UNCHANGED
from tasks.store.history import RUNNING, Past

PAGE = 100
"""Attempts on a page."""

OUTCOMES = (
    PUBLISHED, UNCHANGED, WAITING, SEALED, BLOCKED, REJECTED, FAILED, KILLED, RUNNING, FORGOTTEN,
)  # fmt: skip
"""How attempts end, and the states of those that have not ended."""

MOST_READ = 200
"""Manifests that a search reads for the names of reviewers; the thread reads the others."""

LONGEST = 200
"""Characters of a filter that count."""


NAMES = {"since": "from", "until": "to"}
"""Names of fields in addresses, where they differ."""


@dataclass(frozen=True)
class Filter:
    """What a reader asks for; an empty field keeps everything.

    Attributes
    ----------
    q : str
        Words that must all occur in the attempt, dataset, period, starter or reviewer.
    dataset, outcome, register : str
        Name of the dataset, one of `OUTCOMES`, and the short name of the register.
    since, until : str
        First and last day, as in 2026-09-30, in UTC.
    """

    q: str = ""
    dataset: str = ""
    outcome: str = ""
    register: str = ""
    since: str = ""
    until: str = ""

    @property
    def query(self) -> str:
        """The filter as the end of an address; empty if it keeps everything."""
        given = {NAMES.get(each.name, each.name): getattr(self, each.name) for each in fields(self)}
        return urlencode({name: text for name, text in given.items() if text})

    @property
    def faults(self) -> list[str]:
        """What is wrong with the filter, in words."""
        faults = [
            f"{name} must be a day such as 2026-09-30; it is not: correct it, or leave it empty"
            for name, text in (("from", self.since), ("to", self.until))
            if text and not _is_day(text)
        ]
        if self.outcome and self.outcome not in OUTCOMES:
            faults.append("the outcome must be one of those in the list; it is not: choose one")
        return faults


@dataclass(frozen=True)
class Listing:
    """The attempts that a filter keeps.

    Attributes
    ----------
    attempts : list of Attempt
        The newest first.
    unread : int
        Decisions whose reviewer is not known yet, because their manifests are still to be read.
    """

    attempts: list[Attempt]
    unread: int = 0


@dataclass(frozen=True)
class Line:
    """One attempt with its figures, or the fault that keeps them from being read."""

    attempt: Attempt
    past: Past | None
    fault: str = ""
    measures: dict[str, float] = field(default_factory=dict)


def listed(archive: Archive, snapshot: Snapshot, wanted: Filter) -> Listing:
    """Find the attempts that a filter keeps; nothing if it is faulty."""
    if wanted.faults:
        return Listing([])
    kept = [attempt for attempt in snapshot.newest_first if _passes(attempt, wanted)]
    words = wanted.q[:LONGEST].casefold().split()
    if not words:
        return Listing(kept)
    unread, read = 0, 0
    found = []
    for attempt in kept:
        text = _text(attempt)
        if not _has(text, words) and attempt.last.candidate is not None:
            if archive.is_known(attempt) or read < MOST_READ:
                read += not archive.is_known(attempt)
                text += f" {_reviewer(archive, attempt)}"
            else:
                unread += 1
        if _has(text, words):
            found.append(attempt)
    return Listing(found, unread)


def lines(archive: Archive, attempts: Sequence[Attempt]) -> Iterator[Line]:
    """Read the figures of attempts; what cannot be read says so, and hides nothing else."""
    for attempt in attempts:
        try:
            past = archive.past(attempt)
        except ReleaseError as error:
            yield Line(attempt, None, str(error))
        else:
            yield Line(attempt, past, measures=past.measures)


def _passes(attempt: Attempt, wanted: Filter) -> bool:
    day = attempt.time[:10]
    return (
        wanted.dataset in ("", attempt.dataset)
        and wanted.register in ("", attempt.shelf.key)
        and (not wanted.since or day >= wanted.since)
        and (not wanted.until or day <= wanted.until)
        and (not wanted.outcome or attempt.state == wanted.outcome)
    )


def _text(attempt: Attempt) -> str:
    return f"{attempt.name} {attempt.dataset} {attempt.period} {attempt.starter}".casefold()


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def _reviewer(archive: Archive, attempt: Attempt) -> str:
    try:
        return archive.past(attempt).reviewer.casefold()
    except ReleaseError:
        return ""


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
