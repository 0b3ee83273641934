"""Makes an approved table public, at once or after a review, and keeps the record of attempts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from algorithms.errors import ContractError, RejectedError
from algorithms.profile import Profile
from expectations.digest import digest_of
from expectations.gate import Approval
from expectations.published import checksums
from expectations.review import Decision
from expectations.spec import Publication as Places
from expectations.spec import ReleaseSpec
from tasks.shelves import candidates, public_folder
from tasks.shelves.disk import locked, make_folder, reveal
from tasks.shelves.ownership import check_owner
from tasks.shelves.register import (
    APPROVED,
    PUBLISHED,
    PUBLISHING,
    REJECTED,
    SEALED,
    UNCHANGED,
    Register,
    now,
)
from tasks.stage import stage


@dataclass(frozen=True)
class Publication:
    """Where a release is, and whether it was there before."""

    folder: Path
    manifest: Path
    unchanged: bool


@dataclass(frozen=True)
class Candidate:
    """A finished release that waits for a decision."""

    attempt: str
    manifest: Path


@stage(name="publish", retries=2)
def publish(
    masked: pd.DataFrame,
    approval: Approval,
    spec: ReleaseSpec,
    record: dict[str, Any],
    profile: Profile | None = None,
) -> Publication:
    """Write, verify and reveal the public folder of an approved table.

    ``record`` is what the manifest says of the attempt, to which the files are added here;
    ``profile`` is what its report may draw of originals.
    """
    _check_approved(masked, approval)
    register = Register(spec.publication.register_folder)
    with register.opened(), _public(spec.publication):
        attempt = register.new_attempt(spec.release.folder)
        prepared = public_folder.prepare(masked, approval, spec, attempt)
        return _appear(prepared, spec, attempt, record, profile, register)


@stage(name="seal", retries=2)
def seal(
    masked: pd.DataFrame,
    approval: Approval,
    spec: ReleaseSpec,
    record: dict[str, Any],
    profile: Profile | None = None,
) -> Candidate | Publication:
    """Write and verify the public files of an approved table, and put them away for a reviewer.

    What is published already with the same bytes needs no review.
    """
    _check_approved(masked, approval)
    register = Register(spec.publication.register_folder)
    with register.opened(), _public(spec.publication):
        candidates.sweep(register)
        attempt = register.new_attempt(spec.release.folder)
        prepared = public_folder.prepare(masked, approval, spec, attempt)
        if public_folder.is_there(spec.release, spec.publication.public_folder, prepared):
            return _appear(prepared, spec, attempt, record, profile, register)
        candidates.keep(register, attempt, prepared)
        told = {**record, "decision": SEALED, "public": _announced(prepared, spec)}
        _keep(register, attempt, told, profile)
        register.append(attempt, SEALED)
        return Candidate(attempt, register.manifest_path(attempt))


@stage(name="decide", retries=2)
def decide(register_folder: Path, candidate: str, decision: Decision) -> Publication:
    """Publish the very bytes of a sealed candidate, or drop it.

    Raises
    ------
    RejectedError
        If that was the decision; it is in the register then.
    RefusedError
        If the candidate does not wait, its starter would be its reviewer, or its period was
        published meanwhile.
    IntegrityError
        If the candidate is not what was sealed.
    """
    register = Register(register_folder)
    with register.opened():
        candidates.check_waiting(register, candidate)
        sealed = register.manifest(candidate)
        decision = replace(decision, started_by=sealed.get("started_by", ""))
        spec = ReleaseSpec.model_validate(sealed["spec"])
        record = {
            key: value
            for key, value in sealed.items()
            if key not in ("attempt", "decision", "public", "report_sha256")
        }
        record |= {"review": {"candidate": candidate, **asdict(decision)}, "decided": now()}
        if not decision.approved:
            reason = rejection(decision)
            _record(register, spec, {**record, "decision": REJECTED, "reason": reason}, None)
            candidates.sweep(register)
            raise RejectedError(reason)
        with _public(spec.publication):
            attempt = register.new_attempt(spec.release.folder)
            prepared = public_folder.staging_for(spec.publication, attempt)
            candidates.copy(candidates.unsealed(register, candidate), prepared)
            publication = _appear(prepared, spec, attempt, record, None, register)
        candidates.sweep(register)
        return publication


def rejection(decision: Decision) -> str:
    """Say in a sentence that a candidate was rejected."""
    reason = f": {decision.reason}" if decision.reason else " without a reason"
    return f"rejected by {decision.reviewer}{reason}"


def record_attempt(
    spec: ReleaseSpec, record: dict[str, Any], profile: Profile | None = None
) -> Path:
    """Enter an attempt that published nothing into the register."""
    register = Register(spec.publication.register_folder)
    with register.opened():
        return _record(register, spec, record, profile)


def _record(
    register: Register, spec: ReleaseSpec, record: dict[str, Any], profile: Profile | None
) -> Path:
    attempt = register.new_attempt(spec.release.folder)
    _keep(register, attempt, record, profile)
    register.append(attempt, record["decision"])
    return register.manifest_path(attempt)


def _check_approved(masked: pd.DataFrame, approval: Approval) -> None:
    if digest_of(masked) != approval.digest:
        raise ContractError("only the table that was approved may be published; got another")


@contextmanager
def _public(places: Places) -> Iterator[None]:
    """Hold the public folder alone, and leave nothing in the staging folder."""
    make_folder(places.public_folder, "public_folder")
    with locked(places.public_folder):
        public_folder.sweep(places)
        try:
            yield
        finally:
            public_folder.sweep(places)


def _appear(
    prepared: Path,
    spec: ReleaseSpec,
    attempt: str,
    record: dict[str, Any],
    profile: Profile | None,
    register: Register,
) -> Publication:
    """Let prepared files appear in public, unless they are there."""
    public = spec.publication.public_folder
    target = public / spec.release.folder
    check_owner(register, spec, record.get("spec_file", {}).get("name"))
    unchanged = public_folder.is_there(spec.release, public, prepared)
    told = {
        **record,
        "decision": UNCHANGED if unchanged else APPROVED,
        "public": _announced(prepared, spec),
    }
    _keep(register, attempt, told, profile)
    if unchanged:
        register.append(attempt, UNCHANGED)
    else:
        register.append(attempt, PUBLISHING)
        target.parent.mkdir(exist_ok=True)
        reveal(prepared, target)
        register.append(attempt, PUBLISHED)
    return Publication(target, register.manifest_path(attempt), unchanged)


def _announced(prepared: Path, spec: ReleaseSpec) -> dict[str, Any]:
    """Say where prepared files will appear, and with which bytes."""
    target = spec.publication.public_folder / spec.release.folder
    return {"folder": str(target), "checksums": checksums(prepared)}


def _keep(
    register: Register, attempt: str, record: dict[str, Any], profile: Profile | None
) -> None:
    """Keep what is told of an attempt, as a manifest and as a report of the same figures."""
    from tasks.shelves.report.release_report import release_report

    manifest = {"attempt": attempt, **record}
    register.write_manifest(manifest, release_report(manifest, profile))
