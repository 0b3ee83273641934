"""Files that are read in parts, and that nobody can change meanwhile.

Each file is opened once and hashed once, as a whole and block by block. Whatever is read later is
compared with the hash of its block first, so that every reader sees exactly the bytes behind the
checksum, however often it reads them and however large they are.
"""

import hashlib
import os
import stat
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from algorithms.errors import IntegrityError, ReleaseError

CSV, PARQUET, PACKAGE, README = "data.csv", "data.parquet", "datapackage.json", "README.md"
METHODOLOGY, STATEMENT = "methodology.html", "statement.json"
FILES = (CSV, PARQUET, PACKAGE, README, METHODOLOGY)
"""The files of a release whose records are in one file of each kind."""

PARTS = "data"
"""The folder of the data files of a release with more records than one file holds."""

BLOCK = 2**20
"""Number of bytes that are read and hashed at a time; files that are not longer stay in memory."""


class OpenFile:
    """A regular file that was opened and hashed.

    Parameters
    ----------
    handle : int
        The open file; it is closed with this object.
    name : str
        Its name in its folder.
    changed : ReleaseError
        The error that is raised if the file changes after it was hashed.

    Attributes
    ----------
    size : int
        Number of bytes.
    sha256 : str
        SHA-256 of all bytes.
    """

    def __init__(self, handle: int, name: str, changed: ReleaseError) -> None:
        weakref.finalize(self, os.close, handle).atexit = False
        self.name, self.size = name, 0
        self._handle, self._changed = handle, changed
        self._hashes: list[bytes] = []
        self._last = (-1, b"")
        whole = hashlib.sha256()
        while block := _read_block(handle, len(self._hashes)):
            whole.update(block)
            self._last = len(self._hashes), block
            self._hashes.append(hashlib.sha256(block).digest())
            self.size += len(block)
        self.sha256 = whole.hexdigest()

    def read(self) -> bytes:
        """Read the whole file."""
        return b"".join(self.blocks())

    def blocks(self) -> Iterator[bytes]:
        """Read the file block by block."""
        for number in range(len(self._hashes)):
            yield self._block(number)

    def reader(self) -> pa.NativeFile:
        """Give a reader of the file, with a place of its own."""
        return pa.PythonFile(_Reader(self), mode="r")

    def read_at(self, start: int, count: int) -> bytes:
        """Read some bytes; fewer at the end of the file."""
        end = min(start + count, self.size)
        parts = []
        while start < end:
            number, skipped = divmod(start, BLOCK)
            part = self._block(number)[skipped : skipped + end - start]
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        """Read a block, and check that it is the one that was hashed."""
        last, block = self._last
        if last != number:
            block = _read_block(self._handle, number)
            if hashlib.sha256(block).digest() != self._hashes[number]:
                raise self._changed
            self._last = number, block
        return block


class _Reader:
    """A place in an open file, with the methods that Arrow calls."""

    closed = False

    def __init__(self, file: OpenFile) -> None:
        self._file, self._place = file, 0

    def read(self, count: int = -1) -> bytes:
        content = self._file.read_at(self._place, self._file.size if count < 0 else count)
        self._place += len(content)
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._file.size}
        self._place = starts[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def close(self) -> None:
        self.closed = True


Files = Mapping[str, OpenFile]
"""The files of a folder by name, each opened and hashed once."""


def open_folder(folder: Path) -> Files:
    """Open every file of a folder; neither the folder nor its files may be links.

    Raises
    ------
    IntegrityError
        If the folder does not exist, or contains anything but regular files.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        raise broken(str(folder), ["there is no such folder"]) from None
    try:
        return open_files(handle, str(folder))
    finally:
        os.close(handle)


def open_files(handle: int, name: str) -> Files:
    """Open every file of an open folder, and those in its folder of parts."""
    files: dict[str, OpenFile] = {}
    for file in sorted(os.listdir(handle)):
        try:
            if file == PARTS and _is_folder(handle, file):
                files.update(_open_parts(handle, name))
            else:
                files[file] = _open_file(handle, file, file, name)
        except OSError:
            raise broken(name, [f"{file!r} is not a regular file that can be read"]) from None
    return MappingProxyType(files)


def _open_parts(handle: int, name: str) -> Files:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    parts = os.open(PARTS, flags, dir_fd=handle)
    try:
        return {
            f"{PARTS}/{file}": _open_file(parts, file, f"{PARTS}/{file}", name)
            for file in sorted(os.listdir(parts))  # noqa: PTH208 - a handle has no path
        }
    finally:
        os.close(parts)


def _open_file(handle: int, file: str, shown: str, folder: str) -> OpenFile:
    fault = f"{shown} was changed while it was read: find out who can write there"
    return OpenFile(_open_regular(handle, file), shown, broken(folder, [fault]))


def read_file(folder: int, name: str) -> bytes:
    """Read a regular file of an open folder; never follow a link, never block."""
    with os.fdopen(_open_regular(folder, name), "rb") as file:
        return file.read()


def checksums_of(files: Files) -> dict[str, str]:
    """Give the SHA-256 of each file, the public files in their usual order."""
    names = [name for name in FILES if name in files] + sorted(set(files) - set(FILES))
    return {name: files[name].sha256 for name in names}


def checksums(folder: Path) -> dict[str, str]:
    """Compute the SHA-256 of each file of a folder."""
    return checksums_of(open_folder(folder))


def sha256_of_data(checksums: Mapping[str, str]) -> str | None:
    """Give the SHA-256 of the CSV file; of a release in parts, that of the checksums of all.

    None if there is no CSV file among the files whose checksums are given by name.
    """
    parts = [checksums[name] for name in sorted(checksums) if name.endswith(".csv")]
    if len(parts) > 1:
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    return parts[0] if parts else None


def broken(name: str, faults: list[str]) -> IntegrityError:
    """Make the error of a folder that is not a whole release."""
    return IntegrityError(f"{name!r} is not a whole release: {'; '.join(faults)}")


def _open_regular(folder: int, name: str) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(name, flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError
    return handle


def _is_folder(handle: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)


def _read_block(handle: int, number: int) -> bytes:
    """Read a block of an open file; only the last one may be shorter than the others."""
    start, parts, missing = number * BLOCK, [], BLOCK
    while missing and (part := os.pread(handle, missing, start)):
        parts.append(part)
        start += len(part)
        missing -= len(part)
    return b"".join(parts)
