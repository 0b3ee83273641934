"""Atomic writing, folders that nobody can swap, and locks."""

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from algorithms.errors import StorageError
from expectations.published.files import Files, open_files, read_file


class Modes(NamedTuple):
    """Permissions of what is written, whatever the umask of the process."""

    folder: int
    file: int


PRIVATE = Modes(0o700, 0o600)
PUBLIC = Modes(0o755, 0o644)
IN_PREPARATION = Modes(PRIVATE.folder, PUBLIC.file)
"""Public files in a folder that nobody else may enter yet."""

READ_FOLDER = os.O_RDONLY | os.O_DIRECTORY


class Sink:
    """A file that is written, with the methods that Arrow calls.

    Attributes
    ----------
    size : int
        Number of bytes that were written.
    """

    closed = False

    def __init__(self, handle: int, folder: "Folder") -> None:
        self._handle, self._folder = handle, folder
        self._sha256, self.size = hashlib.sha256(), 0

    def write(self, content: Any) -> int:
        """Write all bytes, and hash them."""
        left = memoryview(content)
        count = left.nbytes
        self._sha256.update(left)
        with self._folder.in_words():
            while left:
                left = left[os.write(self._handle, left) :]
        self.size += count
        return count

    def flush(self) -> None:
        """Do nothing: all bytes are written already."""

    def close(self) -> None:
        """Do nothing: the folder closes the file."""

    @property
    def sha256(self) -> str:
        """The SHA-256 of all bytes that were written."""
        return self._sha256.hexdigest()


class Folder:
    """A folder that was opened once.

    Everything in it is reached through the open handle: renaming the folder, or replacing it by a
    link, has no effect. Links in it are not followed. An error of the system becomes a sentence
    that names the folder.
    """

    def __init__(self, handle: int, path: Path, what: str, modes: Modes) -> None:
        self.handle, self.path, self.what, self.modes = handle, path, what, modes

    @contextmanager
    def within(self, name: str, *, make: bool = False) -> Iterator["Folder"]:
        """Open a folder in this one; create it if asked to."""
        if make:
            self.make(name)
        with self.in_words():
            handle = os.open(name, READ_FOLDER | os.O_NOFOLLOW, dir_fd=self.handle)
        try:
            yield Folder(handle, self.path / name, self.what, self.modes)
        finally:
            os.close(handle)

    def make(self, name: str) -> bool:
        """Create a folder in this one; return whether it is new."""
        with self.in_words():
            try:
                os.mkdir(name, self.modes.folder, dir_fd=self.handle)
            except FileExistsError:
                return False
        with self.within(name) as folder:
            folder.open_to(self.modes)
        return True

    def open_to(self, modes: Modes) -> None:
        """Set the permissions of the folder."""
        with self.in_words():
            os.fchmod(self.handle, modes.folder)

    def write(self, name: str, content: bytes) -> None:
        """Write a new file and flush it to disk."""
        self._write(name, content, os.O_EXCL)

    def append(self, name: str, content: bytes) -> None:
        """Append to a file and flush it to disk."""
        self._write(name, content, os.O_APPEND)

    def replace(self, name: str, content: bytes) -> None:
        """Write a file whole in place of the one that has its name, and flush it to disk."""
        partial = f".{name}.partial"
        if self.has(partial):
            self.remove(partial)
        self.write(partial, content)
        with self.in_words():
            os.replace(partial, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def _write(self, name: str, content: bytes, how: int) -> None:
        with self._writing(name, how) as sink:
            sink.write(content)

    def writing(self, name: str) -> AbstractContextManager["Sink"]:
        """Write a new file in pieces; it is flushed to disk at the end."""
        return self._writing(name, os.O_EXCL)

    @contextmanager
    def _writing(self, name: str, how: int) -> Iterator["Sink"]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how
        with self.in_words():
            handle = os.open(name, flags, self.modes.file, dir_fd=self.handle)
        try:
            with self.in_words():
                os.fchmod(handle, self.modes.file)
            yield Sink(handle, self)
            with self.in_words():
                os.fsync(handle)
        finally:
            os.close(handle)

    def copy(self, files: Files) -> None:
        """Copy open files into the folder, block by block, and flush them to disk."""
        for parent in {file.rpartition("/")[0] for file in files} - {""}:
            with self.within(parent, make=True) as inner:
                inner.copy(
                    {
                        name.removeprefix(f"{parent}/"): file
                        for name, file in files.items()
                        if name.startswith(f"{parent}/")
                    }
                )
        for name, file in files.items():
            if "/" not in name:
                with self.writing(name) as sink:
                    for block in file.blocks():
                        sink.write(block)
        self.flush()

    def read(self, name: str) -> bytes | None:
        """Read a regular file; None if there is no such file."""
        with self.in_words():
            try:
                return read_file(self.handle, name)
            except OSError as error:
                # none, a link, or something else than a file
                if error.errno in (errno.ENOENT, errno.ELOOP, None):
                    return None
                raise

    def open_all(self) -> Files:
        """Open and hash every file; anything but a regular file raises an IntegrityError."""
        return open_files(self.handle, str(self.path))

    def names(self) -> list[str]:
        """List what is in the folder."""
        with self.in_words():
            return sorted(os.listdir(self.handle))  # noqa: PTH208 - a handle has no path

    def holds_folder(self, name: str) -> bool:
        """Return whether there is a folder of that name, and not a link to one."""
        try:
            mode = os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_mode
        except OSError:
            return False
        return stat.S_ISDIR(mode)

    def has(self, name: str) -> bool:
        """Return whether anything has that name, even a link that leads nowhere."""
        try:
            os.stat(name, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        """Give the number of bytes of a file; 0 if there is none."""
        with self.in_words():
            try:
                return os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_size
            except FileNotFoundError:
                return 0

    def flush(self) -> None:
        """Flush the list of names to disk."""
        with self.in_words():
            os.fsync(self.handle)

    def truncate(self, name: str, size: int) -> None:
        """Truncate a file."""
        with self.in_words():
            handle = os.open(name, os.O_WRONLY | os.O_NOFOLLOW, dir_fd=self.handle)
            try:
                os.ftruncate(handle, size)
                os.fsync(handle)
            finally:
                os.close(handle)

    def move(self, name: str, target: "Folder", new_name: str) -> None:
        """Give a finished folder its final name, in one step; that name must be free."""
        with target.in_words():
            # a rename silently replaces an empty folder
            if target.has(new_name):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            os.rename(name, new_name, src_dir_fd=self.handle, dst_dir_fd=target.handle)

    def remove(self, name: str) -> None:
        """Remove a folder with its content, a file, or a link."""
        with self.in_words():
            if self.holds_folder(name):
                shutil.rmtree(name, dir_fd=self.handle)
            else:
                os.unlink(name, dir_fd=self.handle)

    def hold(self, name: str) -> int:
        """Lock a file, created if need be; closing the handle or ending the process unlocks it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        with self.in_words():
            handle = os.open(name, flags, self.modes.file, dir_fd=self.handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(handle)
                raise
            return handle

    def is_same_as(self, other: "Folder") -> bool:
        """Return whether two names lead to one folder."""
        return os.path.samestat(os.fstat(self.handle), os.fstat(other.handle))

    @contextmanager
    def locked(self, *, shared: bool = False) -> Iterator[None]:
        """Lock the folder against other processes; the lock ends with its process."""
        # a handle of its own: closing it ends the lock
        handle = os.open(".", READ_FOLDER, dir_fd=self.handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Turn errors of the system into a sentence that names the folder."""
        try:
            yield
        except OSError as error:
            raise _unwritable(self.path, self.what, error) from None


@contextmanager
def opened(path: Path, what: str, modes: Modes, *, make: bool = True) -> Iterator[Folder]:
    """Open a folder, created if need be; ``what`` names it to the user.

    Raises
    ------
    StorageError
        If it cannot be opened or created.
    """
    if make:
        make_folder(path, what, modes.folder)
    try:
        handle = os.open(path, READ_FOLDER)
    except OSError as error:
        raise _unwritable(path, what, error) from None
    try:
        yield Folder(handle, path, what, modes)
    finally:
        os.close(handle)


def make_folder(folder: Path, what: str, mode: int | None = None) -> None:
    """Create a folder unless it exists; ``what`` names it to the user if that fails.

    With a mode, a new folder gets it whatever the umask, and everyone may pass through new folders
    above it, so that a public folder below a folder that was created for a register can be read.
    """
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    try:
        for part in reversed(missing):
            part.mkdir(exist_ok=True)
            if mode is not None:
                part.chmod(mode if part == folder else PUBLIC.folder)
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, what, error) from None


def replace_file(path: Path, content: bytes) -> None:
    """Write or replace a file in one step."""
    draft = path.with_name(f".{path.name}.part")
    draft.write_bytes(content)
    draft.replace(path)


def existing_part(folder: Path, what: str) -> Path:
    """Find the part of a path that exists, and check that the rest could be created in it.

    Raises
    ------
    StorageError
        If it could not; ``what`` names the folder to the user.
    """
    part = folder
    try:
        while not _is_there(part) and part != part.parent:
            part = part.parent
        # by trying: permissions alone do not reveal read-only or full file systems
        Path(tempfile.mkdtemp(prefix=".microrelease-", dir=part)).rmdir()
    except OSError as error:
        raise _unwritable(folder, what, error) from None
    return part


def _is_there(path: Path) -> bool:
    """Return whether anything has that name; a name that no file can have is an error."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _unwritable(folder: Path, what: str, error: OSError) -> StorageError:
    why = error.strerror or type(error).__name__
    advice = (
        "free space there, and run again"
        if error.errno in (errno.ENOSPC, errno.EDQUOT)
        else "choose another, or change its permissions"
    )
    return StorageError(
        f"{what} must be a folder that can be written to; {str(folder)!r} is not ({why}): {advice}"
    )


@contextmanager
def try_lock(path: Path, patience: float) -> Iterator[bool]:
    """Lock a file; yield whether it could be locked within ``patience`` seconds."""
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
