"""Verifies published releases again, from their files alone."""

import json
from pathlib import Path

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.objects import State
from prefect.client.schemas.sorting import ArtifactSort
from prefect.states import Completed, Failed

from algorithms.errors import IntegrityError, ReleaseError, SpecError
from expectations.request.named import specs_folder
from expectations.request.spec_folder import read_all
from flows.notify import send_rest, tell_of
from flows.states import VERIFIED, state_name
from tasks.reporting.artefacts import harmless, show_audit, show_head, witness_key
from tasks.stage import guarded, stage
from tasks.store.audit import Audit
from tasks.store.audit_log import keep, own_audit


@flow(
    name="audit",
    persist_result=False,
    log_prints=False,
    on_failure=[tell_of],
    on_crashed=[tell_of],
)
def audit(registers: list[Path] | None = None) -> State[None]:
    """Verify every release and every line of the registers again; fail if one was altered.

    A register that cannot be read, or a spec that is faulty, fails the audit once the others are
    verified.

    Args:
        registers: by default those of all specs in the folder of specs.
    """
    send_rest()
    errors: list[ReleaseError] = []
    if not registers:
        try:
            registers, faulty = guarded("audit", known_registers)()
        except ReleaseError as error:
            return Failed(name=state_name(error), message=str(error))
        errors += faulty
    audits: dict[Path, Audit] = {}
    for register in registers:
        try:
            audits[register] = verify_register(register)
        except ReleaseError as error:
            audits[register] = Audit(faults=[str(error)])
            errors.append(type(error)(f"{register}: {error}"))
        else:
            errors += [IntegrityError(f"{register}: {fault}") for fault in audits[register].faults]
        with harmless():
            keep(register, audits[register], "the audit flow")
    with harmless():
        show_audit(audits)
    if errors:
        worst = next((error for error in errors if isinstance(error, IntegrityError)), errors[0])
        return Failed(name=state_name(worst), message="; ".join(map(str, errors)))
    for register, result in audits.items():
        with harmless():
            show_head(register, result.lines, result.head)
    verified = sum(len(result.verified) for result in audits.values())
    return Completed(
        name=VERIFIED, message=f"{verified} releases in {len(audits)} registers are as published"
    )


@stage(name="verify")
def verify_register(register: Path) -> Audit:
    """Audit one register against the key of this installation and the server's last line."""
    return own_audit(register, _witness(register))


def known_registers() -> tuple[list[Path], list[SpecError]]:
    """List the registers of all specs that can be run by name and have ever been run.

    The server remembers registers that were removed since. The errors of faulty specs come second.
    """
    files, faults = read_all(specs_folder())
    if not files and not faults:
        raise SpecError(f"{str(specs_folder())!r} must hold a spec; it holds no spec")
    folders = {file.spec.publication.register_folder for file in files}
    return sorted(folder for folder in folders if folder.is_dir() or _witness(folder)), faults


def _witness(register: Path) -> str | None:
    """Ask the server for the hash of the last line as of the last run."""
    with get_client(sync_client=True) as client:
        artefacts = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[witness_key(register)])),
            sort=ArtifactSort.UPDATED_DESC,
            limit=1,
        )
    if not artefacts:
        return None
    data = artefacts[0].data
    head: str = (json.loads(data) if isinstance(data, str) else data)[0]["head"]  # type: ignore[index]
    return head
