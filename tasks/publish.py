"""Makes an approved table public, and keeps the record of every attempt."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from algorithms.errors import ContractError
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
    masked: pd.DataFrame, approval: Approval, spec: ReleaseSpec, record: dict[str, Any]
) -> Publication:
    """Write, verify and reveal the public folder of an approved table.

    ``record`` is what the manifest says of the attempt; the files are added to it here.
    """
    if digest_of(masked) != approval.digest:
        raise ContractError("only the table that was approved may be published; got another")
    places = spec.publication
    register = Register(places.register_folder)
    make_folder(places.public_folder, "public_folder")
    with register.opened(), locked(places.public_folder):
        public_folder.sweep(places)
        try:
            return _publish(masked, approval, spec, record, register)
        finally:
            public_folder.sweep(places)


def _publish(
    masked: pd.DataFrame,
    approval: Approval,
    spec: ReleaseSpec,
    record: dict[str, Any],
    register: Register,
) -> Publication:
    release, public = spec.release, spec.publication.public_folder
    attempt, target = register.new_attempt(release.folder), public / release.folder
    prepared = public_folder.prepare(masked, approval, spec, attempt)
    unchanged = public_folder.is_there(release, public, prepared)
    register.write_manifest(
        attempt,
        {
            **record,
            "decision": UNCHANGED if unchanged else APPROVED,
            "public": {"folder": str(target), "checksums": checksums(prepared)},
        },
    )
    if unchanged:
        register.append(attempt, UNCHANGED)
    else:
        register.append(attempt, PUBLISHING)
        target.parent.mkdir(exist_ok=True)
        reveal(prepared, target)
        register.append(attempt, PUBLISHED)
    return Publication(target, register.manifest_path(attempt), unchanged)


def record_attempt(spec: ReleaseSpec, record: dict[str, Any]) -> Path:
    """Enter an attempt that published nothing into the register."""
    register = Register(spec.publication.register_folder)
    with register.opened():
        attempt = register.new_attempt(spec.release.folder)
        register.write_manifest(attempt, record)
        register.append(attempt, record["decision"])
    return register.manifest_path(attempt)
