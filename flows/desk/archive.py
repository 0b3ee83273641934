"""Reads registers quickly and again and again: what has not changed is kept in memory.

The lines of a register are read again only if the file has changed, and a manifest once: it never
changes, and a line names its hash. Lists need no manifest; whatever shows figures reads those of
the attempts that it shows. At the start, and after each change, a thread reads what is new, so that
visitors seldom wait.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from algorithms.errors import IntegrityError, ReleaseError, SpecError, StorageError
from expectations.manifest import Manifest, decode
from expectations.request.named import specs_folder
from expectations.request.spec_file import SpecFile, from_yaml, raw_of
from expectations.request.spec_folder import read_all
from flows.desk.snapshot import Attempt, Measured, Shelf, Snapshot, published
from tasks.store.chain import Chain
from tasks.store.disk import PRIVATE, opened
from tasks.store.history import MOST_PERIODS, Past, past_of
from tasks.store.register import ATTEMPTS, MANIFEST, REPORT, WHAT, Register
from tasks.store.shifts import shifts

MOST_MANIFESTS = 128
"""Whole manifests that are kept in memory; of the others, only their figures."""

MOST_BYTES = 256 * 2**20
"""Size of the largest manifest or report that is read; those that runs write are far smaller."""

SECONDS_BETWEEN_LOOKS = 2.0
"""Time after which the thread looks again whether a register has changed."""

SPECS_SECONDS = 30.0
"""Time after which specs are read again even if no file in their folder has changed: a spec may
name files elsewhere."""


FileState = tuple[int, int, int]


def file_state(path: Path) -> FileState | None:
    """Identify the content of a file by its inode, size and time; None if there is no file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _glimpse(path: Path) -> FileState | None:
    """Identify the content of a file as `file_state` does; None also if it cannot be looked at."""
    with suppress(OSError):
        return file_state(path)
    return None


@dataclass(frozen=True, eq=False)
class _Specs:
    """The specs of a folder, and what the folder looked like when they were read."""

    seen: object
    files: tuple[SpecFile, ...]
    faults: tuple[SpecError, ...]
    registers: Mapping[str, Path]
    """The register of each file, faulty ones included as far as it is known."""
    read: float = field(default_factory=time.monotonic)

    @property
    def age(self) -> float:
        """Seconds since they were read."""
        return time.monotonic() - self.read

    def says_as(self, other: "_Specs") -> bool:
        """Return whether files, faults and registers are those of another reading."""
        return (
            self.files == other.files
            and self.registers == other.registers
            and [*map(str, self.faults)] == [*map(str, other.faults)]
        )


@dataclass(eq=False)
class _Kept:
    """A register that was read before."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: FileState | None = None
    shelf: Shelf | None = None


class Archive:
    """The registers of all specs.

    Its methods can be called from any thread.

    Parameters
    ----------
    specs : callable, optional
        Gives the folder of specs.
    """

    def __init__(self, specs: Callable[[], Path] = specs_folder) -> None:
        self._specs_folder = specs
        self._lock = threading.Lock()
        self._kept: dict[Path, _Kept] = {}
        self._specs: _Specs | None = None
        self._snapshot: Snapshot | None = None
        self._pasts: dict[tuple[str, str, str], Past] = {}
        self._manifests: OrderedDict[str, Manifest] = OrderedDict()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._prepare: tuple[Callable[[Snapshot], None], ...] = ()

    def snapshot(self) -> Snapshot:
        """Read what has changed, and give all registers as they are now."""
        specs = self._read_specs()
        shelves = tuple(self._shelf(folder) for folder in sorted(set(specs.registers.values())))
        with self._lock:
            known = self._snapshot
            same = (
                known is not None
                and known.specs is specs.files
                and len(known.shelves) == len(shelves)
                and all(a is b for a, b in zip(known.shelves, shelves, strict=True))
            )
            if known is None or not same:
                known = self._snapshot = Snapshot(specs.files, specs.faults, shelves)
            return known

    def _read_specs(self) -> "_Specs":
        folder = self._specs_folder()
        with self._lock:
            seen = folder, tuple((path, _glimpse(path)) for path in sorted(folder.glob("*")))
            known = self._specs
            if known is None or known.seen != seen or known.age > SPECS_SECONDS:
                files, faults = read_all(folder)
                before = known.registers if known is not None else {}
                registers = _registers(folder, files, before)
                specs = _Specs(seen, tuple(files), tuple(faults), registers)
                # the same tuple, so that what was made of it can be used again
                if known is not None and specs.says_as(known):
                    specs = replace(known, seen=seen, read=specs.read)
                self._specs = known = specs
            return known

    def _shelf(self, folder: Path) -> Shelf:
        """Read the lines of a register, unless they are as they were."""
        with self._lock:
            kept = self._kept.setdefault(folder, _Kept())
        with kept.lock:
            # the same object again: it knows the lines that it has read
            register = Register(folder) if kept.shelf is None else kept.shelf.register
            try:
                now = file_state(register.lines)
            except OSError as error:
                return _unreadable(register, error)
            if kept.shelf is None or kept.state != now:
                kept.shelf = _read(register)
                # a register that could not be read is tried again
                kept.state = now if kept.shelf.fault is None else None
                if kept.shelf.fault is None:
                    # the attempts are listed here, once, and not by several visitors at a time
                    _ = kept.shelf.attempts
            return kept.shelf

    def past(self, attempt: Attempt) -> Past:
        """Give the figures of an attempt.

        Raises
        ------
        IntegrityError
            If its manifest is missing, was altered or cannot be read.
        StorageError
            If the register cannot be opened.
        """
        sha256 = attempt.manifest_sha256
        if sha256 is None:
            return past_of(attempt.shelf.register, attempt.entries, None)
        key = sha256, attempt.last.event, attempt.time
        past = self._pasts.get(key)
        if past is None:
            past = _described(attempt, self._read_manifest(attempt, sha256))
            self._pasts[key] = past
        return past

    def is_known(self, attempt: Attempt) -> bool:
        """Return whether the figures of an attempt can be given without reading its manifest."""
        sha256 = attempt.manifest_sha256
        return sha256 is None or (sha256, attempt.last.event, attempt.time) in self._pasts

    def manifest(self, attempt: Attempt) -> Manifest | None:
        """Give the manifest of an attempt; None if it has none.

        Raises
        ------
        IntegrityError
            If it is missing, was altered or cannot be read.
        StorageError
            If the register cannot be opened.
        """
        sha256 = attempt.manifest_sha256
        if sha256 is None:
            return None
        with self._lock:
            kept = self._manifests.get(sha256)
            if kept is not None:
                self._manifests.move_to_end(sha256)
                return kept
        manifest = self._read_manifest(attempt, sha256)
        with self._lock:
            self._manifests[sha256] = manifest
            while len(self._manifests) > MOST_MANIFESTS:
                self._manifests.popitem(last=False)
        return manifest

    def report(self, attempt: Attempt) -> bytes:
        """Read the report of an attempt, and check that it is the one that was written.

        Raises
        ------
        IntegrityError
            If it is missing or was altered.
        StorageError
            If the register cannot be opened.
        """
        manifest = self.manifest(attempt)
        if manifest is None or manifest.report_sha256 is None:
            raise IntegrityError(f"attempt {attempt.name} must have a report; it has none")
        return _checked(attempt, REPORT, manifest.report_sha256)

    def timeline(
        self, snapshot: Snapshot, dataset: str, skip: int = 0, most: int = MOST_PERIODS
    ) -> list[Measured]:
        """Give one measured attempt for each of the last periods of a dataset, by period.

        It is the published one; if there is none, the last one that was measured.

        Parameters
        ----------
        snapshot : Snapshot
            The registers.
        dataset : str
            Its name.
        skip : int
            Number of periods to leave out, the latest ones first.
        most : int
            The most periods.
        """
        measured: list[Measured] = []
        for attempts in list(snapshot.by_dataset[dataset].values())[skip:]:
            if len(measured) == most:
                break
            measured += self._measured(attempts)
        return measured[::-1]

    def _measured(self, attempts: Sequence[Attempt]) -> list[Measured]:
        """Find the attempt that stands for a period; empty if none was measured."""
        first = published(attempts)
        for attempt in ([first] if first else []) + [*reversed(attempts)]:
            # an attempt that cannot be read is told of where it is listed
            with suppress(ReleaseError):
                past = self.past(attempt)
                if past.il is not None:
                    return [Measured(attempt, past)]
        return []

    def unread(self, snapshot: Snapshot) -> int:
        """Count the attempts whose manifests have not been read yet."""
        return sum(not self.is_known(attempt) for attempt in snapshot.newest_first)

    def _read_manifest(self, attempt: Attempt, sha256: str) -> Manifest:
        manifest = decode(_checked(attempt, MANIFEST, sha256), attempt.name)
        own, line = manifest.release, attempt.last
        if (own.name, own.period, own.revision) != (line.dataset, line.period, line.revision):
            raise IntegrityError(
                f"the manifest of attempt {attempt.name} is about another release than its line"
            )
        return manifest

    def keep_warm(self, *prepare: Callable[[Snapshot], None]) -> None:
        """Read everything in a thread, now and whenever a register has changed.

        ``prepare`` are called with each new snapshot.
        """
        self._prepare = prepare
        self._thread = threading.Thread(target=self._watch, name="archive", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _watch(self) -> None:
        known: Snapshot | None = None
        while not self._stopped.is_set():
            # whatever is wrong is shown to whoever asks
            with suppress(ReleaseError, OSError):
                snapshot = self.snapshot()
                if snapshot is not known:
                    known = snapshot
                    self.warm(snapshot)
            self._stopped.wait(SECONDS_BETWEEN_LOOKS)

    def warm(self, snapshot: Snapshot) -> None:
        """Prepare what pages show, and read every manifest that is not known yet."""
        for prepare in self._prepare:
            prepare(snapshot)
        for attempt in snapshot.newest_first:
            if self._stopped.is_set():
                return
            if not self.is_known(attempt):
                with suppress(ReleaseError):
                    self.past(attempt)
                # visitors come first
                time.sleep(0)


def _registers(
    folder: Path, files: Sequence[SpecFile], before: Mapping[str, Path]
) -> dict[str, Path]:
    """Name the register of each spec; a faulty spec must not hide what it has released."""
    registers = {file.name: file.spec.publication.register_folder for file in files}
    for path in folder.glob("*.yaml"):
        if path.name not in registers:
            place = _register_in(path) or before.get(path.name)
            if place is not None:
                registers[path.name] = place
    return registers


def _register_in(path: Path) -> Path | None:
    """Find the register that a faulty spec still names; None if it names none."""
    try:
        # a pipe would keep its reader waiting
        if not path.is_file():
            return None
        content = from_yaml(raw_of(path).decode())
        place: str = content["publication"]["register_folder"]
        return path.absolute().parent / place
    except (ReleaseError, OSError, ValueError, TypeError, LookupError):
        return None


def _read(register: Register) -> Shelf:
    """Read the lines of a register; it does not read those again that it has read before."""
    try:
        return Shelf(register, register.chain())
    except IntegrityError as error:
        return Shelf(register, EMPTY, IntegrityError(f"{register.folder}: {error}"))
    except OSError as error:
        return _unreadable(register, error)


EMPTY = Chain()


def _described(attempt: Attempt, manifest: Manifest) -> Past:
    """Describe an attempt; parts of a manifest that no run has written must not break a page."""
    try:
        past = past_of(attempt.shelf.register, attempt.entries, manifest)
        shifts([past])
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError):
        raise IntegrityError(f"the manifest of attempt {attempt.name} cannot be read") from None
    return past


def _unreadable(register: Register, error: OSError) -> Shelf:
    fault = StorageError(
        f"{register.folder}: the register must be readable; it is not: {error.strerror}"
    )
    return Shelf(register, EMPTY, fault)


def _checked(attempt: Attempt, name: str, sha256: str) -> bytes:
    """Read a file of an attempt, and check that it is the one that was written."""
    what = name.partition(".")[0]
    altered = IntegrityError(f"the {what} of attempt {attempt.name} was altered")
    with opened(attempt.shelf.register.folder, WHAT, PRIVATE, make=False) as root:
        content = None
        if root.holds_folder(ATTEMPTS):
            with root.within(ATTEMPTS) as attempts:
                if attempts.holds_folder(attempt.name):
                    with attempts.within(attempt.name) as folder:
                        if folder.size(name) > MOST_BYTES:
                            raise altered
                        content = folder.read(name)
    if content is None:
        raise IntegrityError(f"the {what} of attempt {attempt.name} is missing")
    if hashlib.sha256(content).hexdigest() != sha256:
        raise altered
    return content
