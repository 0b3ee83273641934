"""How an attempt ended."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from algorithms.errors import ReleaseError
from algorithms.evaluation import Evaluation
from algorithms.profile import Profile
from expectations.gate import Verdict
from expectations.request.spec import ReleaseSpec
from flows.states import state_name
from tasks.publish import Candidate, Publication
from tasks.reporting.artefacts import (
    harmless,
    show_expectations,
    show_head,
    show_links,
    show_measures,
    show_summary,
)
from tasks.store.register import Register, Running, now


@dataclass
class Outcome:
    """How an attempt ended, in figures and sentences that may be shown to anyone."""

    spec: ReleaseSpec | None = None
    sentence: str = ""
    error: ReleaseError | None = None
    evaluation: Evaluation | None = None
    verdicts: tuple[Verdict, ...] = ()
    folder: Path | None = None
    manifest: Path | None = None
    candidate: Candidate | None = None
    """What waits for a decision."""
    recorded: bool = False
    """Whether the register tells of this attempt already."""
    record: dict[str, Any] = field(default_factory=dict)
    profile: Profile | None = None
    started: float = field(default_factory=time.monotonic)
    running: Running | None = None
    """The attempt, from its line in the register until its outcome is there, too."""

    def begin(self, running: Running) -> None:
        """Take over an attempt that was entered in the register."""
        self.running, self.record["attempt"] = running, running.attempt

    def close(self) -> None:
        """Let go of the attempt."""
        if self.running is not None:
            self.running.close()

    def timed_record(self) -> dict[str, Any]:
        """Say what the manifest says of the attempt, up to now."""
        seconds = round(time.monotonic() - self.started, 3)
        return {**self.record, "ended": now(), "seconds": seconds}

    def publish(self, publication: Publication) -> None:
        """Take over where a release was published."""
        self.folder, self.manifest = publication.folder, publication.manifest
        self.candidate, self.recorded = None, True
        self.sentence = (
            "already published with the same data and claims; nothing was changed"
            if publication.unchanged
            else f"published {publication.folder.parent.name} {publication.folder.name}"
        )
        if publication.warning:
            self.sentence += f"; {publication.warning}"

    def fail(self, error: ReleaseError) -> None:
        """Take over what went wrong."""
        self.error, self.sentence = error, str(error)

    def hold(self, candidate: Candidate) -> None:
        """Take over what was sealed."""
        self.candidate, self.manifest, self.recorded = candidate, candidate.manifest, True
        self.sentence = f"sealed as {candidate.attempt}; it waits for a decision"

    def show(self, name: str) -> None:
        """Show in the Prefect UI how the attempt ended."""
        if self.spec is None:
            return
        release = self.spec.release
        told = self.record
        if self.manifest is not None:
            with harmless():
                told = json.loads(self.manifest.read_bytes())
        if self.evaluation is not None:
            told = {**told, "certificate": self.evaluation.certificate}
        heading = state_name(self.error) if self.error else name
        with harmless():
            show_measures(self.spec, self.sentence, self.verdicts)
        with harmless():
            show_expectations(release.name, told.get("expectations", ()))
        with harmless():
            show_summary(
                self.spec, heading, self.sentence, told, self.verdicts, self.profile, self.manifest
            )
        with harmless():
            show_links(release.name, self.folder, self.manifest)
        if self.manifest is not None:
            with harmless():
                register = Register(self.spec.publication.register_folder)
                chain = register.chain()
                show_head(register.folder, len(chain.entries), chain.head)

    def state(self, name: str) -> State[None]:
        """Give the state in which the run ends: as ``name`` says if nothing went wrong."""
        if self.error is not None:
            return Failed(name=state_name(self.error), message=self.sentence)
        return Completed(name=name, message=self.sentence)


observers: list[Callable[[Outcome], None]] = []
"""Told every outcome in this process."""
