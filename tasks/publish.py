"""Publishes an approved table, at once or after a review, and records every attempt."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from algorithms.errors import ContractError, IntegrityError, RejectedError, StorageError
from algorithms.masked import Masked
from algorithms.profile import Profile
from expectations.gate import Approval
from expectations.manifest import PublicFacts, Record, ReviewFacts, SealedSpec
from expectations.published.verifier import Verification
from expectations.request.sections.release import ReleaseSection
from expectations.request.spec import ReleaseSpec
from expectations.review import Decision
from tasks import public_files
from tasks.publishable import MaskedRows, Publishable
from tasks.recall import Persons, Recalled
from tasks.remember import persons_of, remember
from tasks.stage import stage
from tasks.store import candidates, public_folder
from tasks.store.chain import (
    ABANDONED,
    APPROVED,
    PUBLISHED,
    PUBLISHING,
    REJECTED,
    SEALED,
    UNCHANGED,
)
from tasks.store.disk import Folder
from tasks.store.editions import check_last, facts_of_lost
from tasks.store.ownership import check_owner
from tasks.store.public_folder import Places, Prepared, opened_places
from tasks.store.register import Register, Running, now
from tasks.store.reviews import Ballot, ballot, record_review


@dataclass(frozen=True)
class PublishedFolder:
    """The folder of a published release, and whether it was published before.

    ``warning`` names a step that failed after the folder had appeared; otherwise it is empty.
    """

    folder: Path
    manifest: Path
    unchanged: bool
    warning: str = ""


@dataclass(frozen=True)
class Candidate:
    """A finished release that waits for a decision."""

    attempt: str
    manifest: Path


@dataclass(frozen=True)
class _Recording:
    """An open register, and the name of an attempt in it."""

    register: Register
    root: Folder
    attempt: str

    def keep(self, record: Record, decision: str, profile: Profile | None, **parts: Any) -> None:
        """Keep a manifest of the attempt, and a report of the same figures."""
        from tasks.reporting.release_report import release_report

        manifest = record.ending(self.attempt, decision, **parts)
        self.register.write_manifest(self.root, manifest, release_report(manifest, profile))

    def remember(
        self,
        record: Record,
        masked: Masked | None,
        spec: ReleaseSpec,
        persons: Persons | None,
        prepared: Prepared,
    ) -> Record:
        """Write the vault file of the attempt, if it has one, and add it to the record."""
        if persons is None:
            return record
        if masked is None:
            raise ContractError("a release of a series must be in memory; this one is not")
        facts = remember(masked, spec, persons, prepared, self.register, self.root, self.attempt)
        return record.adding(vault=facts)

    def append(self, event: str) -> None:
        """Add a line about the attempt."""
        self.register.append(self.root, self.attempt, event)

    @property
    def manifest(self) -> Path:
        """Where the manifest is."""
        return self.register.manifest_path(self.attempt)


def begin(spec: ReleaseSpec, started_by: str) -> Running:
    """Enter an attempt in the register when it starts; it must be closed when it has ended."""
    return Register(spec.publication.register_folder).begin(spec.release, started_by)


@stage(name="publish", retries=2)
def publish(
    rows: Masked | Publishable,
    approval: Approval,
    spec: ReleaseSpec,
    record: Record,
    profile: Profile | None = None,
    recalled: Recalled | None = None,
) -> PublishedFolder:
    """Write, verify and reveal the public folder of an approved table.

    ``rows`` are a masked table, or rows that are not in memory: a `Publishable`.

    The files are added to ``record``, which becomes the manifest; ``profile`` holds what the report
    may draw of originals; ``recalled`` says what the release adds to the vault.
    """
    publishable = MaskedRows(rows, spec.columns) if isinstance(rows, Masked) else rows
    _check_approved(publishable, approval, spec)
    persons = persons_of(spec, recalled)
    register = Register(spec.publication.register_folder)
    with register.opened() as root, opened_places(spec.publication) as places:
        recording = _recording(register, root, record, spec.release)
        prepared = public_files.prepare(publishable, approval, spec, recording.attempt, places)
        _check_owner(spec, recording, record)
        published = public_folder.same_release(spec.release, prepared, places)
        if published is not None:
            return _unchanged(published, spec, recording, record, profile)
        record = recording.remember(record, publishable.masked, spec, persons, prepared)
        return _appear(prepared, spec, recording, record, profile, places)


@stage(name="seal", retries=2)
def seal(
    rows: Masked | Publishable,
    approval: Approval,
    spec: ReleaseSpec,
    record: Record,
    profile: Profile | None = None,
    recalled: Recalled | None = None,
) -> Candidate | PublishedFolder:
    """Write and verify the public files of an approved table, and seal them for a reviewer.

    A release that is published already needs no review.
    """
    publishable = MaskedRows(rows, spec.columns) if isinstance(rows, Masked) else rows
    _check_approved(publishable, approval, spec)
    persons = persons_of(spec, recalled)
    register = Register(spec.publication.register_folder)
    with register.opened() as root, opened_places(spec.publication) as places:
        candidates.sweep(register, root)
        recording = _recording(register, root, record, spec.release)
        prepared = public_files.prepare(
            publishable, approval, spec, recording.attempt, places, signed=False
        )
        published = public_folder.same_release(spec.release, prepared, places)
        if published is not None:
            _check_owner(spec, recording, record)
            return _unchanged(published, spec, recording, record, profile)
        record = recording.remember(record, publishable.masked, spec, persons, prepared)
        candidates.keep(root, recording.attempt, prepared.files)
        recording.keep(record, SEALED, profile, public=_located(prepared.verified, spec))
        recording.append(SEALED)
        return Candidate(recording.attempt, recording.manifest)


@dataclass(frozen=True)
class Undecided:
    """A candidate that waits for more reviewers."""

    candidate: Candidate
    missing: int


@stage(name="decide", retries=2)
def decide(
    register_folder: Path, candidate: str, decision: Decision
) -> PublishedFolder | Undecided:
    """Enter the decision of a reviewer; if it was the last one needed, publish or drop.

    Raises
    ------
    RejectedError
        If that was the decision, which the register then shows.
    RefusedError
        If the candidate does not wait for a decision, the reviewer started the run, or the period
        has been published in the meantime.
    IntegrityError
        If the candidate differs from what was sealed.
    """
    register = Register(register_folder)
    with register.opened() as root:
        record_review(register, root, candidate, decision)
        return _settle(register, root, candidate)


def enter_review(register_folder: Path, candidate: str, decision: Decision) -> Ballot:
    """Enter the decision of a reviewer, and leave the rest to the run that waits for it."""
    register = Register(register_folder)
    with register.opened() as root:
        record_review(register, root, candidate, decision)
        return ballot(register.chain(), register.manifest(candidate))


@stage(name="decide", retries=2)
def settle(register_folder: Path, candidate: str) -> PublishedFolder | Undecided:
    """Publish or drop a candidate on which its reviewers have decided; raises like `decide`.

    If that was done elsewhere in the meantime, the outcome is the same.
    """
    register = Register(register_folder)
    with register.opened() as root:
        settled = _settled(register, candidate)
        if settled is not None:
            return settled
        candidates.check_waiting(register, candidate)
        return _settle(register, root, candidate)


def _settled(register: Register, candidate: str) -> PublishedFolder | None:
    """Find the release that a candidate has become; None if it was not carried out."""
    for entries in register.chain().attempts.values():
        last = entries[-1]
        if last.candidate != candidate or last.event not in (PUBLISHED, REJECTED):
            continue
        manifest = register.manifest(last.attempt)
        if last.event == REJECTED and manifest.review is not None:
            raise RejectedError(rejection(manifest.review))
        if manifest.public is not None:
            path = register.manifest_path(last.attempt)
            return PublishedFolder(Path(manifest.public.folder), path, unchanged=False)
    return None


def _settle(register: Register, root: Folder, candidate: str) -> PublishedFolder | Undecided:
    """Publish exactly the bytes of a sealed candidate, or drop it, as soon as that is decided."""
    sealed = register.manifest(candidate)
    counted = ballot(register.chain(), sealed)
    if counted.missing:
        return Undecided(Candidate(candidate, register.manifest_path(candidate)), counted.missing)
    spec = sealed.sealed_spec
    review = counted.facts(candidate, sealed.started_by)
    record = sealed.record.adding(review=review, decided=now())
    recording = _recording(register, root, record, spec.release)
    if not review.approved:
        reason = rejection(review)
        recording.keep(record, REJECTED, None, reason=reason)
        recording.append(REJECTED)
        candidates.sweep(register, root)
        register.sweep_vault(root)
        raise RejectedError(reason)
    with opened_places(spec.publication) as places:
        files = candidates.unsealed(register, root, candidate)
        prepared = public_folder.stage_files(
            files, recording.attempt, places, len(counted.decisions)
        )
        _check_owner(spec, recording, record)
        published = public_folder.same_release(spec.release, prepared, places)
        if published is not None:
            folder = _unchanged(published, spec, recording, record, None)
        else:
            record = _carried(register, spec, record, prepared)
            folder = _appear(prepared, spec, recording, record, None, places)
    candidates.sweep(register, root)
    register.sweep_vault(root)
    return folder


def _carried(register: Register, spec: SealedSpec, record: Record, prepared: Prepared) -> Record:
    """Check that the vault file of a candidate can count, if it has one."""
    facts = record.vault
    if facts is None:
        return record
    lost = facts_of_lost(register, spec.release, prepared.verified.claims.data_sha256)
    if lost is not None:
        return record.adding(vault=lost)
    check_last(register, facts.population, facts.previous)
    return record


def rejection(review: ReviewFacts) -> str:
    """Describe the rejection of a candidate in a sentence."""
    reason = f": {review.reason}" if review.reason else " without a reason"
    return f"rejected by {review.reviewer}{reason}"


def record_attempt(
    spec: ReleaseSpec | SealedSpec,
    record: Record,
    decision: str,
    reason: str = "",
    profile: Profile | None = None,
) -> Path:
    """Enter the end of an attempt that published nothing into the register."""
    register = Register(spec.publication.register_folder)
    with register.opened() as root:
        recording = _recording(register, root, record, spec.release)
        recording.keep(record, decision, profile, reason=reason)
        recording.append(decision)
        return recording.manifest


def _recording(
    register: Register, root: Folder, record: Record, release: ReleaseSection
) -> _Recording:
    attempt = register.open_attempt(record.attempt, release.folder)
    return _Recording(register, root, attempt)


def _check_approved(rows: Publishable, approval: Approval, spec: ReleaseSpec) -> None:
    if rows.digest != approval.digest:
        raise ContractError("only the table that was approved may be published; got another")
    judged = approval.verdicts
    if (judged.gate, judged.k, judged.columns, judged.series) != (
        spec.gate,
        spec.microaggregation.k,
        spec.columns,
        spec.series,
    ):
        raise ContractError(
            "an approval must be for the gate, the k, the columns and the series of the spec; got "
            "another"
        )


def _check_owner(spec: ReleaseSpec | SealedSpec, recording: _Recording, record: Record) -> None:
    file = record.spec_file.name if record.spec_file else None
    check_owner(recording.register, spec.release, spec.publication, file)


def _unchanged(
    published: Verification,
    spec: ReleaseSpec | SealedSpec,
    recording: _Recording,
    record: Record,
    profile: Profile | None,
) -> PublishedFolder:
    """Record that the same release is published already, with its own vault file."""
    recording.keep(record, UNCHANGED, profile, public=_located(published, spec), vault=None)
    recording.append(UNCHANGED)
    target = spec.publication.public_folder / spec.release.folder
    return PublishedFolder(target, recording.manifest, unchanged=True)


def _appear(
    prepared: Prepared,
    spec: ReleaseSpec | SealedSpec,
    recording: _Recording,
    record: Record,
    profile: Profile | None,
    places: Places,
) -> PublishedFolder:
    """Publish prepared files."""
    target = spec.publication.public_folder / spec.release.folder
    recording.keep(record, APPROVED, profile, public=_located(prepared.verified, spec))
    recording.append(PUBLISHING)
    try:
        public_folder.reveal(prepared, spec.release, places)
    except IntegrityError:
        recording.append(ABANDONED)
        raise
    warning = ""
    try:
        public_folder.flush(spec.release, places)
        recording.append(PUBLISHED)
    except StorageError as error:
        # the release is public, so this is no failure; the next run adds the line
        warning = f"this could not be recorded in the register ({error}); the next run repairs this"
    return PublishedFolder(target, recording.manifest, unchanged=False, warning=warning)


def _located(verified: Verification, spec: ReleaseSpec | SealedSpec) -> PublicFacts:
    """Name the public folder and the checksums of its files."""
    target = spec.publication.public_folder / spec.release.folder
    return PublicFacts(folder=target, checksums=verified.checksums)
