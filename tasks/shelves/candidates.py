"""Sealed candidates: finished releases that wait, out of the public eye, for a person to decide.

``candidates/<attempt>`` in the register holds the public files as they would appear, for its owner
only. The manifest of the attempt carries their checksums and the line ``sealed`` that of the
manifest, so that what is published later is what was sealed, to the byte.
"""

import shutil
from pathlib import Path

from algorithms.errors import IntegrityError, RefusedError
from expectations.published import checksums, verify
from tasks.shelves.disk import flush, reveal
from tasks.shelves.register import SEALED, Register

OWNER_ONLY = 0o700


def folder_of(register: Register, attempt: str) -> Path:
    """Name the folder of a candidate."""
    return register.folder / "candidates" / attempt


def keep(register: Register, attempt: str, prepared: Path) -> None:
    """Put the prepared public files of an attempt away; the register must be open."""
    sealed = folder_of(register, attempt)
    sealed.parent.mkdir(mode=OWNER_ONLY, exist_ok=True)
    sealed.parent.chmod(OWNER_ONLY)
    # the register may be on another file system than the public folder
    partial = sealed.with_name(f".{attempt}")
    copy(prepared, partial)
    partial.chmod(OWNER_ONLY)
    reveal(partial, sealed)


def copy(folder: Path, target: Path) -> None:
    """Copy a folder of files and see the copies to the disk."""
    shutil.copytree(folder, target)
    for path in target.iterdir():
        flush(path)
    flush(target)


def check_waiting(register: Register, attempt: str) -> None:
    """See that a candidate waits for a decision.

    Raises
    ------
    RefusedError
        If there is no such candidate, or it was decided on before.
    """
    chain = register.chain()
    if attempt not in chain.waiting:
        entries = chain.attempts.get(attempt, [])
        was_sealed = any(entry["event"] == SEALED for entry in entries)
        found = "was decided on before" if was_sealed else "is none"
        waiting = ", ".join(chain.waiting) or "none"
        raise RefusedError(
            f"only a candidate that waits can be decided on; {attempt!r} {found}: waiting are "
            f"{waiting}"
        )


def unsealed(register: Register, attempt: str) -> Path:
    """Give the folder of a candidate, if it is what was sealed.

    Raises
    ------
    IntegrityError
        If it is not.
    """
    fault = problem(register, attempt)
    if fault:
        raise IntegrityError(f"{fault}: reject it, and run the release again")
    return folder_of(register, attempt)


def problem(register: Register, attempt: str) -> str | None:
    """Say what is wrong with a candidate that waits, if anything is."""
    folder = folder_of(register, attempt)
    try:
        verify(folder)
    except IntegrityError as error:
        return f"candidate {attempt} is not what was sealed: {error}"
    promised = register.manifest(attempt)["public"]["checksums"]
    altered = [name for name, sha256 in checksums(folder).items() if promised[name] != sha256]
    if altered:
        return f"candidate {attempt} is not what was sealed: altered {', '.join(altered)}"
    return None


def sweep(register: Register) -> None:
    """Remove what was decided on, or left behind; the register must be open."""
    parent = register.folder / "candidates"
    if parent.is_dir():
        waiting = register.chain().waiting
        for folder in parent.iterdir():
            if folder.name not in waiting:
                shutil.rmtree(folder)
