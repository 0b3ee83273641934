"""Reads registers quickly and again and again: what has not changed is kept in memory.

The lines of a register are read again only if the file has changed, and a manifest once: it never
changes, and a line names its hash. Lists need no manifest; whatever shows figures reads those of
the attempts that it shows. At the start, and after each change, a thread reads what is new, so that
visitors seldom wait.
"""

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from algorithms.errors import IntegrityError, ReleaseError, SpecError, StorageError
from expectations.manifest import Manifest, decode
from expectations.request.named import specs_folder
from expectations.request.periods import in_order
from expectations.request.spec_file import SpecFile, from_yaml
from expectations.request.spec_folder import read_all
from tasks.store.chain import (
    ABANDONED,
    PUBLISHED,
    PUBLISHING,
    SEALED,
    STARTED,
    UNCHANGED,
    Chain,
    Entry,
)
from tasks.store.disk import PRIVATE, opened
from tasks.store.history import MOST_PERIODS, RUNNING, Past, past_of
from tasks.store.register import ATTEMPTS, MANIFEST, REPORT, WHAT, Register
from tasks.store.shifts import shifts

KEY_DIGITS = 12
MOST_MANIFESTS = 128
"""Whole manifests that are kept in memory; of the others, only their figures."""

MOST_BYTES = 256 * 2**20
"""Size of the largest manifest or report that is read; those that runs write are far smaller."""

SECONDS_BETWEEN_LOOKS = 2.0
"""Time after which the thread looks again whether a register has changed."""

SPECS_SECONDS = 30.0
"""Time after which specs are read again even if no file in their folder has changed: a spec may
name files elsewhere."""

PUBLISHING_SECONDS = 600.0
"""Time after which an attempt that announced its files must have published them."""

WAITING, KILLED = "waiting", "killed"
"""States that no line of a register names: a candidate without a decision, and an attempt whose
process has died."""

Signature = tuple[int, int, int]


def signature(path: Path) -> Signature | None:
    """Identify the content of a file by its inode, size and time; None if there is no file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _glimpse(path: Path) -> Signature | None:
    """Identify the content of a file that may not be there for us; whoever reads it says why."""
    with suppress(OSError):
        return signature(path)
    return None


def _seconds_since(written: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(written)).total_seconds()


def key_of(folder: Path) -> str:
    """Give the short name of a register in addresses."""
    return hashlib.sha256(os.fsencode(folder)).hexdigest()[:KEY_DIGITS]


@dataclass(frozen=True, eq=False)
class Attempt:
    """An attempt, as the lines of its register tell of it.

    Attributes
    ----------
    shelf : Shelf
        The register that it is in.
    entries : tuple of Entry
        Its lines; at least one.
    starter : str
        Name of the person who started it, as far as lines say.
    waits : bool
        Whether it is a candidate that waits for a decision.
    """

    shelf: "Shelf"
    entries: tuple[Entry, ...]
    starter: str
    waits: bool

    @property
    def name(self) -> str:
        """Its name in the register."""
        return self.last.attempt

    @property
    def number(self) -> int:
        """Its number in the register."""
        return int(self.name.partition("-")[0])

    @property
    def last(self) -> Entry:
        """Its last line."""
        return self.entries[-1]

    @property
    def time(self) -> str:
        """Time of its last line, in UTC."""
        return self.last.time

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.last.dataset

    @cached_property
    def period(self) -> str:
        """The period, and the revision if there is one."""
        return self.last.release.edition

    @cached_property
    def manifest_sha256(self) -> str | None:
        """Hash of its manifest; None if it has none."""
        return next(
            (entry.manifest_sha256 for entry in reversed(self.entries) if entry.manifest_sha256),
            None,
        )

    @property
    def state(self) -> str:
        """How it ended, or its state now: running, waiting or killed."""
        event = self.last.event
        if event == SEALED:
            return WAITING if self.waits else SEALED
        if event in (STARTED, PUBLISHING):
            return RUNNING if self._lives else KILLED
        return KILLED if event == ABANDONED else event

    @property
    def _lives(self) -> bool:
        """Whether its process is alive; a decision holds no lock, and publishes for minutes."""
        if self.last.event == PUBLISHING and _seconds_since(self.time) < PUBLISHING_SECONDS:
            return True
        return self.shelf.register.is_running(self.name)

    @property
    def is_public(self) -> bool:
        """Whether its files are in the public folder, put there by this attempt or before."""
        return self.last.event in (PUBLISHED, UNCHANGED)

    @property
    def address(self) -> str:
        """Path of its page."""
        return f"/releases/{self.shelf.key}/{self.name}"


@dataclass(frozen=True, eq=False)
class Shelf:
    """One register as it was when it was read, or the fault that keeps it from being read.

    Attributes
    ----------
    register : Register
        The register.
    chain : Chain
        Its lines; empty if it has a fault.
    fault : ReleaseError, optional
        Why it cannot be read.
    """

    register: Register
    chain: Chain
    fault: ReleaseError | None = None

    @cached_property
    def key(self) -> str:
        """Short name in addresses."""
        return key_of(self.register.folder)

    @cached_property
    def attempts(self) -> dict[str, Attempt]:
        """All attempts by name, in order."""
        grouped = self.chain.attempts
        waiting = set(self.chain.waiting)
        return {
            name: Attempt(self, tuple(entries), _starter(entries, grouped), name in waiting)
            for name, entries in grouped.items()
        }


def _starter(entries: Sequence[Entry], grouped: dict[str, list[Entry]]) -> str:
    """Find who started an attempt; a decision belongs to the run that sealed its candidate."""
    own = next((entry.started_by for entry in entries if entry.started_by), None)
    candidate = entries[-1].candidate
    if own is None and candidate is not None:
        sealed = grouped.get(candidate, [])
        own = next((entry.started_by for entry in sealed if entry.started_by), None)
    return own or ""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All registers at one moment.

    Attributes
    ----------
    specs : tuple of SpecFile
        The valid specs.
    spec_faults : tuple of SpecError
        The faults of others; each names its file.
    shelves : tuple of Shelf
        The registers of the specs.
    """

    specs: tuple[SpecFile, ...]
    spec_faults: tuple[SpecError, ...]
    shelves: tuple[Shelf, ...]

    @cached_property
    def faults(self) -> list[ReleaseError]:
        """Everything that cannot be read."""
        return [*self.spec_faults, *(shelf.fault for shelf in self.shelves if shelf.fault)]

    @cached_property
    def newest_first(self) -> list[Attempt]:
        """All attempts, the newest first."""
        everything = [attempt for shelf in self.shelves for attempt in shelf.attempts.values()]
        return sorted(everything, key=lambda attempt: (attempt.time, attempt.number), reverse=True)

    @cached_property
    def by_dataset(self) -> dict[str, dict[str, list[Attempt]]]:
        """The attempts of each dataset and period, the latest period and the oldest attempt first.

        A dataset that has a spec and no attempt is there too.
        """
        names = {file.spec.release.name for file in self.specs}
        grouped: dict[str, dict[str, list[Attempt]]] = {name: {} for name in names}
        for attempt in reversed(self.newest_first):
            periods = grouped.setdefault(attempt.dataset, {})
            periods.setdefault(attempt.period, []).append(attempt)
        return {
            name: dict(sorted(grouped[name].items(), key=_by_period, reverse=True))
            for name in sorted(grouped)
        }

    @cached_property
    def waiting(self) -> list[Attempt]:
        """The candidates that wait for a decision, the oldest first."""
        return [attempt for attempt in reversed(self.newest_first) if attempt.waits]

    def find(self, key: str, name: str) -> Attempt | None:
        """Find an attempt by the short name of its register and its own; None if it is unknown."""
        shelf = next((shelf for shelf in self.shelves if shelf.key == key), None)
        return None if shelf is None else shelf.attempts.get(name)

    def published_before(self, attempt: Attempt) -> Attempt | None:
        """Find the published release of the same dataset in the last period before that."""
        mine = in_order(attempt.period)
        return next(
            (
                other
                for period, attempts in self.by_dataset[attempt.dataset].items()
                if in_order(period) < mine and (other := published(attempts)) is not None
            ),
            None,
        )

    def last_published(self, dataset: str) -> Attempt | None:
        """Find the published release of the latest period of a dataset."""
        periods = self.by_dataset.get(dataset, {}).values()
        return next((found for each in periods if (found := published(each)) is not None), None)


def _by_period(item: tuple[str, list[Attempt]]) -> tuple[tuple[bool, int, str], ...]:
    return in_order(item[0])


def published(attempts: Iterable[Attempt]) -> Attempt | None:
    """Find the first attempt that published its files; None if none did."""
    return next((each for each in attempts if each.last.event == PUBLISHED), None)


class Measured(NamedTuple):
    """An attempt, and its figures."""

    attempt: Attempt
    past: Past


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
    signature: Signature | None = None
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
                now = signature(register.lines)
            except OSError as error:
                return _unreadable(register, error)
            if kept.shelf is None or kept.signature != now:
                kept.shelf = _read(register)
                # a register that could not be read is tried again
                kept.signature = now if kept.shelf.fault is None else None
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
        content = from_yaml(path.read_text(encoding="utf-8"))
        named: str = content["publication"]["register_folder"]
        return path.absolute().parent / named
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
