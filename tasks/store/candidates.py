"""Sealed candidates: finished releases, not public yet, that wait for a person to decide.

``candidates/<attempt>`` in the register holds the public files as they would appear, readable by
its owner only. The manifest of the attempt carries their checksums, and the line ``sealed`` that of
the manifest, so that exactly the bytes that were sealed are published later. Its vault file waits
in the vault.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from algorithms.errors import IntegrityError, RefusedError, StorageError
from expectations.manifest import VaultFacts
from expectations.published.files import Files, checksums_of
from expectations.published.verifier import verify_content
from tasks.store import vault
from tasks.store.chain import SEALED
from tasks.store.disk import Folder, make_folder, try_lock
from tasks.store.register import ATTEMPT, Register

CANDIDATES = "candidates"
BRIEF = 1.0
"""Seconds to wait for a lock; `is_held` takes it for a moment."""


def keep(root: Folder, attempt: str, files: Files) -> None:
    """Keep the public files of an attempt in an open register."""
    partial = f".{attempt}"
    with root.within(CANDIDATES, make=True) as candidates:
        with candidates.within(partial, make=True) as folder:
            folder.copy(files)
        candidates.move(partial, candidates, attempt)
        candidates.flush()


def check_waiting(register: Register, attempt: str) -> None:
    """Check that a candidate waits for a decision.

    Raises
    ------
    RefusedError
        If there is no such candidate, or it has been decided on.
    """
    chain = register.chain()
    if attempt not in chain.waiting:
        entries = chain.attempts.get(attempt, [])
        was_sealed = any(entry.event == SEALED for entry in entries)
        status = "has been decided on" if was_sealed else "is not a candidate"
        waiting = ", ".join(chain.waiting) or "none"
        raise RefusedError(
            f"only a candidate that waits can be decided on; {attempt!r} {status}; candidates "
            f"that wait: {waiting}"
        )


@contextmanager
def deciding(folder: Path, candidate: str) -> Iterator[None]:
    """Lock a sealed candidate so that nobody else can decide on it.

    Other candidates, even of the same dataset, can be decided on in the meantime: the lock of the
    register allows one publication at a time, and each publication checks again what is public.

    Raises
    ------
    RefusedError
        If another process holds the lock, such as a run that waits for its reviewer.
    """
    locks = Register(folder).locks
    make_folder(locks, "register_folder")
    with try_lock(locks / candidate, BRIEF) as free:
        if not free:
            raise RefusedError(
                f"a candidate must be decided on in one place; the run that sealed {candidate} "
                "waits for its reviewer: decide in the desk, resume that run in the Prefect UI, or "
                "cancel it first"
            )
        yield


def is_held(folder: Path, candidate: str) -> bool:
    """Return whether a run waits for the reviewers of a candidate, or publishes it."""
    lock = Register(folder).locks / candidate
    if not lock.exists():
        return False
    with try_lock(lock, 0.0) as free:
        return not free


def unsealed(register: Register, root: Folder, attempt: str) -> Files:
    """Open the files of a candidate, and return them if they are those that were sealed.

    Raises
    ------
    IntegrityError
        If they are not.
    """
    manifest = register.manifest(attempt)
    sealed = manifest.public
    try:
        with root.within(CANDIDATES) as candidates, candidates.within(attempt) as folder:
            files = folder.open_all()
        verify_content(files, f"candidate {attempt}")
    except StorageError:
        raise _not_sealed(attempt, f"{str(folder_of(register, attempt))!r} is gone") from None
    except IntegrityError as error:
        raise _not_sealed(attempt, str(error)) from None
    promised = {} if sealed is None else sealed.checksums
    altered = [file for file, sha256 in checksums_of(files).items() if promised.get(file) != sha256]
    if altered:
        raise _not_sealed(attempt, f"altered {', '.join(altered)}")
    if manifest.vault is not None:
        _check_vault_file(root, attempt, manifest.vault)
    return files


def _check_vault_file(root: Folder, attempt: str, facts: VaultFacts) -> None:
    content = vault.read(root, facts.file)
    if content is None:
        raise _not_sealed(attempt, f"{facts.file} is gone")
    if vault.sha256(content) != facts.sha256:
        raise _not_sealed(attempt, f"altered {facts.file}")


def problem(register: Register, root: Folder, attempt: str) -> str | None:
    """Describe the fault of a candidate that waits; None if it has no fault."""
    try:
        unsealed(register, root, attempt)
    except IntegrityError as error:
        return str(error)
    return None


def folder_of(register: Register, attempt: str) -> Path:
    """Name the folder of a candidate."""
    return register.folder / CANDIDATES / attempt


def sweep(register: Register, root: Folder) -> None:
    """Remove candidates that were decided on, or abandoned, from an open register."""
    if not root.holds_folder(CANDIDATES):
        return
    waiting = register.chain().waiting
    with root.within(CANDIDATES) as candidates:
        for name in candidates.names():
            # other files in the folder are not ours
            if ATTEMPT.match(name.removeprefix(".")) and name not in waiting:
                candidates.remove(name)


def _not_sealed(attempt: str, why: str) -> IntegrityError:
    return IntegrityError(
        f"candidate {attempt} differs from what was sealed: {why}: reject it, and run the release "
        "again"
    )
