"""Registers at one moment: their attempts, by dataset and period, each with its state."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from algorithms.errors import ReleaseError, SpecError
from expectations.request.periods import in_order
from expectations.request.spec_file import SpecFile
from tasks.store.chain import (
    ABANDONED,
    PUBLISHED,
    PUBLISHING,
    SEALED,
    STARTED,
    UNCHANGED,
    Chain,
    Entry,
)
from tasks.store.desk_pages import key_of
from tasks.store.history import RUNNING, Past
from tasks.store.register import Register

PUBLISHING_SECONDS = 600.0
"""Time after which an attempt that announced its files must have published them."""

WAITING, KILLED = "waiting", "killed"
"""States that no line of a register names: a candidate without a decision, and an attempt whose
process has died."""


def _seconds_since(written: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(written)).total_seconds()


@dataclass(frozen=True, eq=False)
class Attempt:
    """An attempt, as the lines of its register tell of it.

    Attributes
    ----------
    shelf : Shelf
        The register that it is in.
    entries : tuple of Entry
        Its lines; at least one.
    starter : str
        Name of the person who started it, as far as lines say.
    waits : bool
        Whether it is a candidate that waits for a decision.
    """

    shelf: "Shelf"
    entries: tuple[Entry, ...]
    starter: str
    waits: bool

    @property
    def name(self) -> str:
        """Its name in the register."""
        return self.last.attempt

    @property
    def number(self) -> int:
        """Its number in the register."""
        return int(self.name.partition("-")[0])

    @property
    def last(self) -> Entry:
        """Its last line."""
        return self.entries[-1]

    @property
    def time(self) -> str:
        """Time of its last line, in UTC."""
        return self.last.time

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.last.dataset

    @cached_property
    def period(self) -> str:
        """The period, and the revision if there is one."""
        return self.last.release.edition

    @cached_property
    def manifest_sha256(self) -> str | None:
        """Hash of its manifest; None if it has none."""
        return next(
            (entry.manifest_sha256 for entry in reversed(self.entries) if entry.manifest_sha256),
            None,
        )

    @property
    def state(self) -> str:
        """How it ended, or its state now: running, waiting or killed."""
        event = self.last.event
        if event == SEALED:
            return WAITING if self.waits else SEALED
        if event in (STARTED, PUBLISHING):
            return RUNNING if self._lives else KILLED
        return KILLED if event == ABANDONED else event

    @property
    def _lives(self) -> bool:
        """Whether its process is alive; a decision holds no lock, and publishes for minutes."""
        if self.last.event == PUBLISHING and _seconds_since(self.time) < PUBLISHING_SECONDS:
            return True
        return self.shelf.register.is_running(self.name)

    @property
    def is_public(self) -> bool:
        """Whether its files are in the public folder, put there by this attempt or before."""
        return self.last.event in (PUBLISHED, UNCHANGED)

    @property
    def address(self) -> str:
        """Path of its page."""
        return f"/releases/{self.shelf.key}/{self.name}"


@dataclass(frozen=True, eq=False)
class Shelf:
    """One register as it was when it was read, or the fault that keeps it from being read.

    Attributes
    ----------
    register : Register
        The register.
    chain : Chain
        Its lines; empty if it has a fault.
    fault : ReleaseError, optional
        Why it cannot be read.
    """

    register: Register
    chain: Chain
    fault: ReleaseError | None = None

    @cached_property
    def key(self) -> str:
        """Short name in addresses."""
        return key_of(self.register.folder)

    @cached_property
    def attempts(self) -> dict[str, Attempt]:
        """All attempts by name, in order."""
        grouped = self.chain.attempts
        waiting = set(self.chain.waiting)
        return {
            name: Attempt(self, tuple(entries), _starter(entries, grouped), name in waiting)
            for name, entries in grouped.items()
        }


def _starter(entries: Sequence[Entry], grouped: dict[str, list[Entry]]) -> str:
    """Find who started an attempt; a decision belongs to the run that sealed its candidate."""
    own = next((entry.started_by for entry in entries if entry.started_by), None)
    candidate = entries[-1].candidate
    if own is None and candidate is not None:
        sealed = grouped.get(candidate, [])
        own = next((entry.started_by for entry in sealed if entry.started_by), None)
    return own or ""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All registers at one moment.

    Attributes
    ----------
    specs : tuple of SpecFile
        The valid specs.
    spec_faults : tuple of SpecError
        The faults of others; each names its file.
    shelves : tuple of Shelf
        The registers of the specs.
    """

    specs: tuple[SpecFile, ...]
    spec_faults: tuple[SpecError, ...]
    shelves: tuple[Shelf, ...]

    @cached_property
    def faults(self) -> list[ReleaseError]:
        """Everything that cannot be read."""
        return [*self.spec_faults, *(shelf.fault for shelf in self.shelves if shelf.fault)]

    @cached_property
    def newest_first(self) -> list[Attempt]:
        """All attempts, the newest first."""
        everything = [attempt for shelf in self.shelves for attempt in shelf.attempts.values()]
        return sorted(everything, key=lambda attempt: (attempt.time, attempt.number), reverse=True)

    @cached_property
    def by_dataset(self) -> dict[str, dict[str, list[Attempt]]]:
        """The attempts of each dataset and period, the latest period and the oldest attempt first.

        A dataset that has a spec and no attempt is there too.
        """
        names = {file.spec.release.name for file in self.specs}
        grouped: dict[str, dict[str, list[Attempt]]] = {name: {} for name in names}
        for attempt in reversed(self.newest_first):
            periods = grouped.setdefault(attempt.dataset, {})
            periods.setdefault(attempt.period, []).append(attempt)
        return {
            name: dict(sorted(grouped[name].items(), key=_by_period, reverse=True))
            for name in sorted(grouped)
        }

    @cached_property
    def waiting(self) -> list[Attempt]:
        """The candidates that wait for a decision, the oldest first."""
        return [attempt for attempt in reversed(self.newest_first) if attempt.waits]

    def find(self, key: str, name: str) -> Attempt | None:
        """Find an attempt by the short name of its register and its own; None if it is unknown."""
        shelf = next((shelf for shelf in self.shelves if shelf.key == key), None)
        return None if shelf is None else shelf.attempts.get(name)

    def published_before(self, attempt: Attempt) -> Attempt | None:
        """Find the published release of the same dataset in the last period before that."""
        mine = in_order(attempt.period)
        return next(
            (
                other
                for period, attempts in self.by_dataset[attempt.dataset].items()
                if in_order(period) < mine and (other := published(attempts)) is not None
            ),
            None,
        )

    def last_published(self, dataset: str) -> Attempt | None:
        """Find the published release of the latest period of a dataset."""
        periods = self.by_dataset.get(dataset, {}).values()
        return next((found for each in periods if (found := published(each)) is not None), None)


def _by_period(item: tuple[str, list[Attempt]]) -> tuple[tuple[bool, int, str], ...]:
    return in_order(item[0])


def published(attempts: Iterable[Attempt]) -> Attempt | None:
    """Find the first attempt that published its files; None if none did."""
    return next((each for each in attempts if each.last.event == PUBLISHED), None)


class Measured(NamedTuple):
    """An attempt, and its figures."""

    attempt: Attempt
    past: Past
