"""The datasets and their periods, each with its state."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from algorithms.errors import ReleaseError, SpecError
from expectations.request.spec_file import SpecFile
from flows.desk.archive import Archive
from flows.desk.server import Answer
from flows.desk.snapshot import KILLED, WAITING, Attempt, Snapshot, published
from tasks.store.chain import BLOCKED, FAILED, FORGOTTEN, PUBLISHED, REJECTED, SEALED, UNCHANGED
from tasks.store.history import RUNNING, Past

if TYPE_CHECKING:
    from flows.operation.status import Due

DUE, LATE, MISSPECIFIED, NEVER = "due", "late", "misspecified", "never released"
STATES = (
    RUNNING, WAITING, PUBLISHED, BLOCKED, REJECTED, FAILED, DUE, LATE, MISSPECIFIED, NEVER,
)  # fmt: skip
"""States of a dataset or a period, for people and for metrics."""

OF_ATTEMPTS = {UNCHANGED: PUBLISHED, SEALED: REJECTED, KILLED: FAILED, FORGOTTEN: PUBLISHED}
"""State of a period whose last attempt has one of these."""

NO_SPEC = "no spec in the folder of specs releases it any more"
MOST_ATTEMPTS = 5
"""Attempts of a period that are linked; the register lists all of them."""


@dataclass(frozen=True)
class Period:
    """A period of a dataset.

    Attributes
    ----------
    name : str
        The period, and the revision if there is one.
    state : str
        One of `STATES`.
    attempts : tuple of Attempt
        The latest attempts, the newest first.
    count : int
        Number of all attempts.
    published : Attempt, optional
        The one that published it.
    """

    name: str
    state: str
    attempts: tuple[Attempt, ...]
    count: int
    published: Attempt | None

    @property
    def time(self) -> str:
        """Time at which it was published; otherwise that of the last event, in UTC."""
        return (self.published or self.attempts[0]).time


@dataclass(frozen=True)
class Dataset:
    """A dataset, as a list of datasets shows it.

    Attributes
    ----------
    name : str
        Its name.
    title : str
        Its title in the spec; empty if it has no valid spec.
    spec : str
        File name of its spec; empty if it is not known.
    state : str
        One of `STATES`.
    fault : str
        What is wrong with its spec or its figures, in words.
    next : datetime, optional
        Time of its next run, in UTC.
    late : bool
        Whether that run should have started.
    periods : int
        Number of its periods.
    latest : Period, optional
        Its latest period.
    last : Past, optional
        Its last published release.
    """

    name: str
    title: str
    spec: str
    state: str
    fault: str
    next: datetime | None
    late: bool
    periods: int
    latest: Period | None
    last: Past | None


@dataclass(frozen=True)
class Faulty:
    """A file in the folder of specs that is not a valid spec."""

    file: str
    fault: str


def period_of(name: str, attempts: Sequence[Attempt]) -> Period:
    """Describe a period by its attempts, the oldest first; there must be at least one."""
    done = published(attempts)
    newest = tuple(islice(reversed(attempts), MOST_ATTEMPTS))
    return Period(name, _state(attempts, done), newest, len(attempts), done)


def _state(attempts: Sequence[Attempt], done: Attempt | None) -> str:
    states = [attempt.state for attempt in attempts if _may_go_on(attempt)]
    for state in (RUNNING, WAITING):
        if state in states:
            return state
    if done is not None:
        return PUBLISHED
    last = attempts[-1].state
    return OF_ATTEMPTS.get(last, last)


def _may_go_on(attempt: Attempt) -> bool:
    """Return whether lines do not say how an attempt ended."""
    return attempt.waits or attempt.state == RUNNING


def periods_of(
    snapshot: Snapshot, dataset: str, skip: int = 0, most: int | None = None
) -> list[Period]:
    """List periods of a dataset, the latest first."""
    items = list(snapshot.by_dataset[dataset].items())
    return [period_of(*item) for item in items[skip : None if most is None else skip + most]]


def datasets(archive: Archive, snapshot: Snapshot, answer: Answer) -> list[Dataset]:
    """List the datasets of all specs and registers, by name."""
    specs = {file.spec.release.name: file for file in snapshot.specs}
    return [
        dataset_of(archive, snapshot, answer, name, specs.get(name)) for name in snapshot.by_dataset
    ]


def dataset_of(
    archive: Archive, snapshot: Snapshot, answer: Answer, name: str, file: SpecFile | None
) -> Dataset:
    """Describe one dataset; ``file`` is its spec, if it has a valid one."""
    periods = snapshot.by_dataset[name]
    latest = next((period_of(*item) for item in periods.items()), None)
    if file is not None:
        spec, fault = file.name, _faults_by_file(snapshot).get(file.name, "")
    else:
        spec, fault = _spec_of(archive, snapshot, name)
    due = next((due for due in _due(answer) if f"{due.spec}.yaml" == spec), None)
    last, problem = _last(archive, snapshot, name)
    late = due is not None and due.late
    if fault and fault != NO_SPEC:
        state = MISSPECIFIED
    elif latest is not None and latest.state in (RUNNING, WAITING):
        state = latest.state
    elif late:
        state = LATE
    elif latest is not None:
        state = latest.state
    else:
        state = DUE if due is not None and due.next is not None else NEVER
    return Dataset(
        name=name,
        title=file.spec.release.title if file is not None else "",
        spec=spec,
        state=state,
        fault=fault or problem,
        next=due.next if due is not None else None,
        late=late,
        periods=len(periods),
        latest=latest,
        last=last,
    )


def faulty_specs(faults: Sequence[SpecError]) -> list[Faulty]:
    """List the files that are not valid specs."""
    return [Faulty(_file_of(fault), str(fault)) for fault in faults]


def counts(snapshot: Snapshot) -> Mapping[str, Counter[str]]:
    """Count the periods of each dataset by their state."""
    return {
        name: Counter(period_of(*item).state for item in periods.items())
        for name, periods in snapshot.by_dataset.items()
    }


def _due(answer: Answer) -> Sequence["Due"]:
    return () if answer.status is None else answer.status.due


def _last(archive: Archive, snapshot: Snapshot, name: str) -> tuple[Past | None, str]:
    """Read the figures of the last published release, or say why they cannot be read."""
    attempt = snapshot.last_published(name)
    try:
        return (None, "") if attempt is None else (archive.past(attempt), "")
    except ReleaseError as error:
        return None, str(error)


def _spec_of(archive: Archive, snapshot: Snapshot, name: str) -> tuple[str, str]:
    """Find the file that last released a dataset without a valid spec, and its fault."""
    attempts = [each for period in snapshot.by_dataset[name].values() for each in period]
    # an attempt that was killed names no file
    recorded = [attempt for attempt in attempts if attempt.manifest_sha256 is not None]
    newest = max(recorded, key=lambda attempt: attempt.time, default=None)
    try:
        file = "" if newest is None else archive.past(newest).spec_file
    except ReleaseError as error:
        return "", str(error)
    return file, _faults_by_file(snapshot).get(file, NO_SPEC)


def _faults_by_file(snapshot: Snapshot) -> dict[str, str]:
    return {_file_of(fault): str(fault) for fault in snapshot.spec_faults}


def _file_of(fault: SpecError) -> str:
    """Take the name of the file from the fault of a spec."""
    return str(fault).partition(" must be a valid spec")[0]
