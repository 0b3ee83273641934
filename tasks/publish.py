"""Makes an approved table public, and keeps the record of every attempt."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from algorithms.errors import ContractError
from algorithms.profile import Profile
from expectations.digest import digest_of
from expectations.gate import Approval
from expectations.published import checksums
from expectations.spec import ReleaseSpec
from tasks.shelves import public_folder
from tasks.shelves.disk import locked, make_folder, reveal
from tasks.shelves.register import APPROVED, PUBLISHED, PUBLISHING, UNCHANGED, Register
from tasks.stage import stage


@dataclass(frozen=True)
class Publication:
    """Where a release is, and whether it was there before."""

    folder: Path
    manifest: Path
    unchanged: bool


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
    if digest_of(masked) != approval.digest:
        raise ContractError("only the table that was approved may be published; got another")
    places = spec.publication
    register = Register(places.register_folder)
    make_folder(places.public_folder, "public_folder")
    with register.opened(), locked(places.public_folder):
        public_folder.sweep(places)
        try:
            return _publish(masked, approval, spec, record, profile, register)
        finally:
            public_folder.sweep(places)


def _publish(
    masked: pd.DataFrame,
    approval: Approval,
    spec: ReleaseSpec,
    record: dict[str, Any],
    profile: Profile | None,
    register: Register,
) -> Publication:
    release, public = spec.release, spec.publication.public_folder
    attempt, target = register.new_attempt(release.folder), public / release.folder
    prepared = public_folder.prepare(masked, approval, spec, attempt)
    unchanged = public_folder.is_there(release, public, prepared)
    told = {
        **record,
        "decision": UNCHANGED if unchanged else APPROVED,
        "public": {"folder": str(target), "checksums": checksums(prepared)},
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


def record_attempt(
    spec: ReleaseSpec, record: dict[str, Any], profile: Profile | None = None
) -> Path:
    """Enter an attempt that published nothing into the register."""
    register = Register(spec.publication.register_folder)
    with register.opened():
        attempt = register.new_attempt(spec.release.folder)
        _keep(register, attempt, record, profile)
        register.append(attempt, record["decision"])
    return register.manifest_path(attempt)


def _keep(
    register: Register, attempt: str, record: dict[str, Any], profile: Profile | None
) -> None:
    """Keep what is told of an attempt, as a manifest and as a report of the same figures."""
    from tasks.shelves.report.release_report import release_report

    manifest = {"attempt": attempt, **record}
    register.write_manifest(manifest, release_report(manifest, profile))
