"""How an attempt ended."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prefect import states
from prefect.client.schemas.objects import State
from prefect.exceptions import FailedRun

from algorithms.errors import RefusedError, RejectedError, ReleaseError
from algorithms.profile import Profile
from expectations.gate import Verdict, Verdicts
from expectations.manifest import Record, SealedSpec, decode
from expectations.request.spec import ReleaseSpec
from flows.states import APPROVED, EXPLORED, PUBLISHED, SEALED, state_name
from tasks.explore.cell import Cell
from tasks.explore.source import SourceFacts
from tasks.publish import Candidate, PublishedFolder, Undecided
from tasks.reporting.artefacts import (
    harmless,
    show_expectations,
    show_head,
    show_links,
    show_measures,
    show_summary,
    show_timeline,
)
from tasks.store.register import Register, now


@dataclass(frozen=True)
class Attempt:
    """What is known of an attempt, in figures and sentences that may be shown to anyone.

    Attributes
    ----------
    spec : ReleaseSpec or SealedSpec
        What was asked for.
    record : Record
        What the manifest says of the attempt, as far as it has come.
    verdicts : Verdicts, optional
        The measures against their limits.
    profile : Profile, optional
        What may be drawn of originals.
    manifest : Path, optional
        The manifest in the register; None as long as the register does not know how it ended.
    started : float
        When the attempt started, on the monotonic clock.
    """

    spec: ReleaseSpec | SealedSpec
    record: Record
    verdicts: Verdicts | None = None
    profile: Profile | None = None
    manifest: Path | None = None
    started: float = field(default_factory=time.monotonic)

    def adding(self, **parts: Any) -> "Attempt":
        """Add parts to the record."""
        return replace(self, record=self.record.adding(**parts))

    def timed(self) -> Record:
        """Give the record of an attempt that ends now."""
        seconds = round(time.monotonic() - self.started, 3)
        return self.record.adding(ended=now(), seconds=seconds)

    @property
    def certificate(self) -> str:
        """How much better any method could do, in words; empty where nothing was measured."""
        return self.verdicts.evaluation.certificate if self.verdicts else ""


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and why in one sentence.

    There is no attempt where the spec could not be read.
    """

    attempt: Attempt | None
    sentence: str

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The measures against their limits; empty where nothing was measured."""
        verdicts = None if self.attempt is None else self.attempt.verdicts
        return () if verdicts is None else verdicts.each

    @property
    def manifest(self) -> Path | None:
        """The manifest in the register; None if the register has none, as for a dry run."""
        return None if self.attempt is None else self.attempt.manifest


@dataclass(frozen=True)
class Published(Outcome):
    """The release is public."""

    folder: Path


@dataclass(frozen=True)
class Sealed(Outcome):
    """The release waits for a decision."""

    candidate: Candidate


@dataclass(frozen=True)
class Approved(Outcome):
    """A dry run passed the gate."""


@dataclass(frozen=True)
class Explored(Outcome):
    """Choices were measured."""

    cells: tuple[Cell, ...]
    source: SourceFacts


@dataclass(frozen=True)
class Stopped(Outcome):
    """Nothing was published."""

    error: ReleaseError


@dataclass(frozen=True)
class Refused(Stopped):
    """The gate or a reviewer said no."""


@dataclass(frozen=True)
class Failed(Stopped):
    """Something went wrong."""


def published(attempt: Attempt, release: PublishedFolder) -> Published:
    """Say where a release was published."""
    folder = release.folder
    sentence = (
        "already published with the same data and claims; nothing was changed"
        if release.unchanged
        else f"published {folder.parent.name} {folder.name}"
    )
    if release.warning:
        sentence += f"; {release.warning}"
    return Published(replace(attempt, manifest=release.manifest), sentence, folder)


def sealed(attempt: Attempt, candidate: Candidate) -> Sealed:
    """Say under which name a release was sealed."""
    sentence = f"sealed as {candidate.attempt}; it waits for a decision"
    return Sealed(replace(attempt, manifest=candidate.manifest), sentence, candidate)


def decided(attempt: Attempt, result: PublishedFolder | Undecided) -> Published | Sealed:
    """Say where a candidate was published, or for whom it still waits."""
    if isinstance(result, PublishedFolder):
        return published(attempt, result)
    others = "another reviewer" if result.missing == 1 else f"{result.missing} more reviewers"
    sentence = f"the decision is recorded; {result.candidate.attempt} waits for {others}"
    manifest = result.candidate.manifest
    return Sealed(replace(attempt, manifest=manifest), sentence, result.candidate)


def stopped(attempt: Attempt | None, error: ReleaseError) -> Stopped:
    """Say why nothing was published."""
    kind = Refused if isinstance(error, RefusedError | RejectedError) else Failed
    return kind(attempt, str(error), error)


def name_of(outcome: Outcome) -> str:
    """Name an outcome as the Prefect UI does."""
    if isinstance(outcome, Stopped):
        return state_name(outcome.error)
    names = {Published: PUBLISHED, Sealed: SEALED, Approved: APPROVED, Explored: EXPLORED}
    return names[type(outcome)]


class StoppedRun(FailedRun):
    """Carries the outcome of a run that failed: Prefect takes nothing but an exception there."""

    def __init__(self, outcome: Stopped) -> None:
        super().__init__(outcome.sentence)
        self.outcome = outcome


def state_of(outcome: Outcome) -> State[Any]:
    """Give the state in which a run ends; the outcome in it never leaves this process."""
    if isinstance(outcome, Stopped):
        data = StoppedRun(outcome)
        return states.Failed(name=name_of(outcome), message=outcome.sentence, data=data)
    return states.Completed(name=name_of(outcome), message=outcome.sentence, data=outcome)


def outcome_of(state: State[Any]) -> Outcome:
    """Take the outcome from the state in which a run ended in this process.

    Raises
    ------
    ReleaseError
        If Prefect ended the run.
    """
    result = state.result(raise_on_failure=False)
    outcome = result.outcome if isinstance(result, StoppedRun) else result
    if not isinstance(outcome, Outcome):
        raise ReleaseError("Prefect ended the run before its first stage; see its log")
    return outcome


def show(outcome: Outcome, heading: str = "") -> None:
    """Show an outcome in the Prefect UI, under its name or another heading."""
    attempt = outcome.attempt
    if attempt is None:
        return
    spec, manifest = attempt.spec, attempt.manifest
    name = spec.release.name
    record = attempt.record
    if manifest is not None:
        with harmless():
            record = decode(manifest.read_bytes(), manifest.parent.name)
    verdicts = attempt.verdicts.each if attempt.verdicts else ()
    folder = outcome.folder if isinstance(outcome, Published) else None
    with harmless():
        show_measures(spec, outcome.sentence, verdicts)
    with harmless():
        show_expectations(name, record.expectations)
    with harmless():
        show_summary(
            spec,
            heading or name_of(outcome),
            outcome.sentence,
            record,
            verdicts,
            attempt.certificate,
            attempt.profile,
            manifest,
        )
    with harmless():
        show_timeline(spec)
    with harmless():
        show_links(name, folder, manifest)
    if manifest is not None:
        with harmless():
            register = Register(spec.publication.register_folder)
            chain = register.chain()
            show_head(register.folder, len(chain.entries), chain.head)
