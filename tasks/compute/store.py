"""Where the arrays of blocks are between two steps: in memory, or encrypted in a scratch folder."""

import errno
import json
import os
import re
import secrets
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from algorithms.blocks.running import Arrays
from algorithms.errors import ContractError, IntegrityError, StorageError
from tasks.compute.arrays import Bytes, packed, unpacked
from tasks.store.disk import PRIVATE, Folder, opened

WHAT = "compute.scratch_folder"
PREFIX = "microrelease-"
LOCK = "lock"
"""File in the folder of a run; the run holds a lock on it as long as it lives."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
SLASH = "="
"""Stands for a slash in the name of a file: all files of a run are in one folder."""
NONCE, TAG, END = 12, 16, 8
"""Bytes before and after each encrypted segment, and at the end of a file."""
INDEX = ""
"""Stands for the name of a part in the segment that lists the parts."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
DAY = 86_400.0


class Store(ABC):
    """Keeps files; each is written once as a whole, and has parts that are read one by one.

    Arrays that were read cannot be written to. An array keeps its order of elements, by rows or by
    columns.
    """

    @abstractmethod
    def write(self, file: str, parts: Mapping[str, Arrays]) -> None:
        """Write a file with all its parts, or replace it; it appears whole or not at all."""

    @abstractmethod
    def read(self, file: str, part: str) -> dict[str, NDArray[Any]]:
        """Read a part of a file; a part that the file does not have holds no arrays.

        Raises
        ------
        IntegrityError
            If there is no such file, or it was altered.
        """

    @abstractmethod
    def remove(self, prefix: str) -> None:
        """Remove all files whose names start like this."""

    @abstractmethod
    def names(self) -> list[str]:
        """List the names of all files, sorted."""


class MemoryStore(Store):
    """Keeps files in the memory of this process."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, dict[str, NDArray[Any]]]] = {}

    def write(self, file: str, parts: Mapping[str, Arrays]) -> None:
        """Keep the arrays themselves, without a copy; whoever wrote them must not change them."""
        _check_name(file)
        self._files[file] = {
            part: {name: read_only(array) for name, array in arrays.items()}
            for part, arrays in parts.items()
        }

    def read(self, file: str, part: str) -> dict[str, NDArray[Any]]:
        """Give the arrays of a part."""
        if file not in self._files:
            raise _missing(file)
        return dict(self._files[file].get(part, {}))

    def remove(self, prefix: str) -> None:
        """Forget files."""
        for name in [name for name in self._files if name.startswith(prefix)]:
            del self._files[name]

    def names(self) -> list[str]:
        """List the names of all files, sorted."""
        return sorted(self._files)


@dataclass(frozen=True)
class ScratchStore(Store):
    """Keeps files in a folder, encrypted with a key that exists in memory only.

    It can be sent to another process or host, which then reads and writes the same files: send it
    only where everything else on the way is encrypted too.

    Attributes
    ----------
    folder : Path
        Folder of this run, which nobody else may enter.
    key : bytes
        Key of AES-256-GCM, different for each run.

    Notes
    -----
    A file is a sequence of segments, one for each part, then a segment that lists them, then the
    length of that. A segment is a random nonce, and the encrypted arrays with their tag. The names
    of run, file and part are authenticated with it, so that no segment can be put in the place of
    another.
    """

    folder: Path
    key: bytes = field(repr=False)

    @classmethod
    def new(cls, folder: Path) -> "ScratchStore":
        """Draw a key for a folder."""
        return cls(folder, AESGCM.generate_key(256))

    def write(self, file: str, parts: Mapping[str, Arrays]) -> None:
        """Encrypt the parts into a file that appears when it is whole."""
        _check_name(file)
        # a step that was started again on another host may write the same file at the same time
        draft = self.folder / f".{secrets.token_hex(8)}"
        try:
            with _words(self.folder):
                handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE.file)
                with os.fdopen(handle, "wb") as out:
                    self._write(out, file, parts)
                draft.replace(self._path(file))
        except BaseException:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise

    def _write(self, out: BinaryIO, file: str, parts: Mapping[str, Arrays]) -> None:
        index, start = {}, 0
        for part, arrays in parts.items():
            segment = self._encrypted(packed(arrays), file, part)
            out.write(segment.data)
            index[part] = [start, segment.size]
            start += segment.size
        listed = np.frombuffer(json.dumps(index).encode(), dtype=np.uint8)
        segment = self._encrypted(listed, file, INDEX)
        out.write(segment.data)
        out.write(segment.size.to_bytes(END, "little"))

    def read(self, file: str, part: str) -> dict[str, NDArray[Any]]:
        """Decrypt a part of a file."""
        with _words(self.folder):
            try:
                source = self._path(file).open("rb")
            except FileNotFoundError:
                raise _missing(file) from None
            with source:
                try:
                    index = json.loads(self._index(source, file).tobytes())
                    if part not in index:
                        return {}
                    start, size = index[part]
                    source.seek(start)
                    return unpacked(self._decrypted(source.read(size), file, part))
                except (InvalidTag, ValueError):
                    raise IntegrityError(
                        "a file in compute.scratch_folder must be as this run wrote it; "
                        f"{file!r} is not: find out who alters files there, and run again"
                    ) from None

    def _index(self, source: BinaryIO, file: str) -> Bytes:
        end = source.seek(0, os.SEEK_END)
        source.seek(max(end - END, 0))
        size = int.from_bytes(source.read(END), "little")
        if size > end - END:
            raise InvalidTag
        source.seek(end - END - size)
        return self._decrypted(source.read(size), file, INDEX)

    def remove(self, prefix: str) -> None:
        """Remove files."""
        with _words(self.folder):
            for name in self.names():
                if name.startswith(prefix):
                    self._path(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """List the names of all files, sorted."""
        with _words(self.folder):
            found = (path.name for path in self.folder.iterdir())
            return sorted(
                name.replace(SLASH, "/") for name in found if name != LOCK and name[0] != "."
            )

    def _path(self, file: str) -> Path:
        return self.folder / file.replace("/", SLASH)

    def _encrypted(self, content: Bytes, file: str, part: str) -> Bytes:
        segment = np.empty(NONCE + content.size + TAG, dtype=np.uint8)
        nonce = secrets.token_bytes(NONCE)
        segment[:NONCE] = np.frombuffer(nonce, dtype=np.uint8)
        names = self._names(file, part)
        AESGCM(self.key).encrypt_into(nonce, content.data, names, segment[NONCE:].data)
        return segment

    def _decrypted(self, segment: bytes, file: str, part: str) -> Bytes:
        if len(segment) < NONCE + TAG:
            raise InvalidTag
        content = np.empty(len(segment) - NONCE - TAG, dtype=np.uint8)
        view = memoryview(segment)
        names = self._names(file, part)
        AESGCM(self.key).decrypt_into(view[:NONCE], view[NONCE:], names, content.data)
        return content

    def _names(self, file: str, part: str) -> bytes:
        return json.dumps([self.folder.name, file, part]).encode()


@contextmanager
def scratch(folder: Path) -> Iterator[ScratchStore]:
    """Open a store in a scratch folder, and remove its files at the end.

    What runs that were killed have left there is removed first: nobody has the key any more.

    Raises
    ------
    StorageError
        If the folder cannot be written to.
    """
    with opened(folder.absolute(), WHAT, PRIVATE) as outer:
        # no other run may find the new folder before its lock is held
        with outer.locked():
            _sweep(outer)
            name = PREFIX + secrets.token_hex(8)
            outer.make(name)
            with outer.within(name) as own:
                handle = own.hold(LOCK)
                os.write(handle, socket.gethostname().encode())
        try:
            yield ScratchStore.new(outer.path / name)
        finally:
            try:
                # workers may still write there for a moment
                with suppress(StorageError):
                    outer.remove(name)
            finally:
                os.close(handle)


def _sweep(outer: Folder) -> None:
    """Remove the folders of runs that no longer live."""
    for name in outer.names():
        if name.startswith(PREFIX) and outer.holds_folder(name) and _is_dead(outer, name):
            outer.remove(name)


def _is_dead(outer: Folder, name: str) -> bool:
    with outer.within(name) as folder:
        host = folder.read(LOCK)
        changed = os.fstat(folder.handle).st_mtime
        try:
            handle = folder.hold(LOCK)
        except StorageError:
            return False
        os.close(handle)
    # not every network file system shows the locks of other hosts
    return host in (socket.gethostname().encode(), b"", None) or time.time() - changed > DAY


def _check_name(file: str) -> None:
    if not NAME.fullmatch(file):
        raise ContractError(f"a file of a store must have a plain name; {file!r} is not plain")


def _missing(file: str) -> IntegrityError:
    return IntegrityError(
        f"a file that a step wrote must be there in the next; {file!r} is not: see that nothing "
        "removes files from compute.scratch_folder during a run, and run again"
    )


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Give a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


@contextmanager
def _words(folder: Path) -> Iterator[None]:
    """Turn an error of the file system into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StorageError(
                "compute.scratch_folder must have room for the intermediate results, about 400 "
                "bytes for each record of ten columns; it is full: free space there, or choose "
                "another"
            ) from None
        why = error.strerror or type(error).__name__
        raise StorageError(
            f"compute.scratch_folder must be a folder that can be read and written; "
            f"{str(folder.parent)!r} is not ({why}): choose another, or change its permissions"
        ) from None
