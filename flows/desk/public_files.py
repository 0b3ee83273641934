"""The files of a release: of the public folder, or of a candidate that waits."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from algorithms.errors import IntegrityError, StorageError
from expectations.manifest import Manifest
from expectations.published.files import OpenFile
from flows.desk.snapshot import Attempt
from tasks.store.candidates import CANDIDATES
from tasks.store.disk import PRIVATE, PUBLIC, Folder, opened
from tasks.store.register import WHAT, public_place

FILE_NAME = re.compile(r"(?:data/)?[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of public files; those of a release in parts are in a folder."""


@dataclass(frozen=True)
class Listed:
    """A file that the manifest names.

    Attributes
    ----------
    name : str
        Its name.
    sha256 : str
        The checksum in the manifest.
    size : int, optional
        Number of bytes; None if the file is not there.
    """

    name: str
    sha256: str
    size: int | None


@dataclass(frozen=True, eq=False)
class Copy:
    """An open file whose bytes are those that the manifest names."""

    file: OpenFile
    download_name: str


def copies(attempt: Attempt, manifest: Manifest) -> list[Listed]:
    """List the files of a release, and how large those are that are there."""
    checksums = {} if manifest.public is None else manifest.public.checksums
    try:
        with _folder(attempt, manifest) as folder:
            return [Listed(name, sha256, _size(folder, name)) for name, sha256 in checksums.items()]
    except StorageError:
        return [Listed(name, sha256, None) for name, sha256 in checksums.items()]


def open_copy(attempt: Attempt, manifest: Manifest, name: str) -> Copy:
    """Open a file of a release, and check that it is the one that was written.

    Raises
    ------
    IntegrityError
        If it is not.
    """
    assert manifest.public is not None
    expected = manifest.public.checksums.get(name)
    changed = IntegrityError(f"{name} was changed while it was read")
    try:
        with _folder(attempt, manifest) as folder, _within(folder, name) as (inner, last):
            file = OpenFile(_open_regular(inner, last), name, changed)
    except (OSError, StorageError):
        raise IntegrityError(f"{name} is missing, or cannot be read") from None
    if file.sha256 != expected:
        raise IntegrityError(f"{name} was altered: its checksum differs")
    release = manifest.release
    edition = f"{release.period}-r{release.revision}" if release.revision else release.period
    download_name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{release.name}-{edition}-{last}")
    return Copy(file, download_name)


@contextmanager
def _folder(attempt: Attempt, manifest: Manifest) -> Iterator[Folder]:
    """Open the folder of the files; no part of it may be a link."""
    if attempt.is_public:
        place = public_place(manifest)
        if len(place.parents) < 2 or "\0" in str(place):
            raise StorageError("the manifest names a folder that no release has")
        root, parts, what, modes = place.parents[1], place.parts[-2:], "public_folder", PUBLIC
    else:
        root, parts = attempt.shelf.register.folder, (CANDIDATES, attempt.name)
        what, modes = WHAT, PRIVATE
    with (
        opened(root, what, modes, make=False) as top,
        top.within(parts[0]) as middle,
        middle.within(parts[1]) as folder,
    ):
        yield folder


@contextmanager
def _within(folder: Folder, name: str) -> Iterator[tuple[Folder, str]]:
    """Open the folder that a file is in."""
    if not FILE_NAME.fullmatch(name):
        raise IntegrityError("the manifest names a file that no release has")
    parent, _, last = name.rpartition("/")
    if not parent:
        yield folder, last
        return
    with folder.within(parent) as inner:
        yield inner, last


def _open_regular(folder: Folder, name: str) -> int:
    """Open a regular file; never follow a link, never block."""
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder.handle)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError
    return handle


def _size(folder: Folder, name: str) -> int | None:
    try:
        with _within(folder, name) as (inner, last):
            status = os.stat(last, dir_fd=inner.handle, follow_symlinks=False)
    except (OSError, StorageError, IntegrityError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
