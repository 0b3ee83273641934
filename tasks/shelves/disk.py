"""Writing that a crash cannot leave half done, and locks that a crash releases."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from algorithms.errors import StorageError


def write(path: Path, content: bytes) -> None:
    """Write a new file and see it to the disk."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def flush(path: Path) -> None:
    """See a file, or the list of names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reveal(prepared: Path, target: Path) -> None:
    """Give a finished folder its final name, in one step."""
    flush(prepared)
    prepared.rename(target)
    flush(target.parent)


def existing_part(folder: Path, what: str) -> Path:
    """Find the part of a path that exists, and see that the rest could be made in it.

    Raises
    ------
    StorageError
        If it could not; ``what`` names the folder to the user.
    """
    part = folder
    try:
        while not part.exists() and part != part.parent:
            part = part.parent
        # by trying: permissions alone do not tell of read-only or full file systems
        Path(tempfile.mkdtemp(prefix=".microrelease-", dir=part)).rmdir()
    except OSError as error:
        raise _unwritable(folder, what, _why(error)) from None
    return part


def make_folder(folder: Path, what: str) -> None:
    """Make sure that a folder exists; ``what`` names it to the user if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, what, _why(error)) from None


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _unwritable(folder: Path, what: str, why: str) -> StorageError:
    return StorageError(
        f"{what} must be a folder that can be written to; {str(folder)!r} is not ({why}): choose "
        "another, or change its permissions"
    )


@contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a folder against other processes; a process that dies lets go by itself."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def try_lock(path: Path, patience: float) -> Iterator[bool]:
    """Hold a lock file while others wait; tell whether it could be had within so many seconds."""
    end = time.monotonic() + patience
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    yield False
                    return
                time.sleep(0.2)
            else:
                yield True
                return
    finally:
        os.close(handle)
