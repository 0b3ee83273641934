"""Opens the file of a source."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from algorithms.errors import DataError
from expectations.published.files import OpenFile

FAULTS_OF_THE_PATH = {
    errno.ENOENT,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EACCES,
    errno.EPERM,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}
"""Errors of the path; all other errors may be temporary and are retried."""


def content_of(path: Path) -> bytes:
    """Read the bytes of a file.

    Raises
    ------
    DataError
        If its path is wrong, or it is empty.
    """
    with _path_in_words(path):
        content = path.read_bytes()
    if not content.strip():
        raise _empty(path)
    return content


def opened_source(path: Path) -> OpenFile:
    """Open a file, and hash it in a stream.

    Raises
    ------
    DataError
        If its path is wrong, or it is empty.
    """
    with _path_in_words(path):
        file = _opened(path)
    if not any(block.strip() for block in file.blocks()):
        raise _empty(path)
    return file


def _opened(path: Path) -> OpenFile:
    # a pipe must not make a run wait, and cannot be read again
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _unreadable(path, "Is a directory" if stat.S_ISDIR(mode) else "Not a regular file")
    changed = DataError(
        f"the source must not change while it is read; {str(path)!r} did: run again when the file "
        "is complete"
    )
    return OpenFile(handle, path.name, changed)


@contextmanager
def _path_in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FAULTS_OF_THE_PATH:
            raise
        raise _unreadable(path, error.strerror) from None


def _unreadable(path: Path, why: str | None) -> DataError:
    return DataError(f"source.path must be a readable file; {str(path)!r} is not ({why})")


def _empty(path: Path) -> DataError:
    return DataError(
        f"the source must have a header and rows; {str(path)!r} is empty: check source.path"
    )
