"""The internal register: a manifest per attempt, and one chained line per event.

``register.jsonl`` only ever grows, and each of its lines carries the hash of the line before and of
itself.
``attempts/<number>-<dataset>-<period>/manifest.json`` is written once and never changed; the lines
carry its hash, and it carries that of ``report.html`` beside it. Because of the order of writing,
every crash can be recognised and repaired:

    line "started"  ->  vault file  ->  manifest  ->  line "publishing"  ->  public folder renamed
    into place  ->  line "published"

Each line is signed with the key of the installation. ``register.head`` carries the number of lines
and the hash of the last one, signed too and replaced with each line: who removes lines at the end
would need an earlier one.

No release appears before its line "publishing", and no line says "published" before the release has
appeared. A process holds a lock for as long as its attempt runs, which distinguishes attempts that
are running from attempts that died.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from algorithms.errors import IntegrityError, RefusedError, StorageError
from expectations.manifest import Manifest, ReleaseFacts, decode, encode
from expectations.published.files import Files
from expectations.published.verifier import verify_content
from expectations.request.sections.release import ReleaseSection, folder_name
from expectations.signatures import LINE, KeyLink
from tasks.store import signed_head, vault
from tasks.store.chain import (
    ABANDONED,
    APPROVED,
    FORGOTTEN,
    KEY,
    PUBLISHED,
    PUBLISHING,
    REVIEWED,
    STARTED,
    Chain,
    Entry,
    read_chain,
    sha256,
)
from tasks.store.disk import PRIVATE, PUBLIC, Folder, opened
from tasks.store.signing import Signer, installation_key

LINES, ATTEMPTS, LOCKS = "register.jsonl", "attempts", "locks"
MANIFEST, REPORT = "manifest.json", "report.html"

ATTEMPT = re.compile(r"([0-9]{6,})-.")
"""How the name of an attempt begins; files with other names are not ours."""

WHAT = "register_folder"


@dataclass
class Running:
    """A running attempt; it ends when this is closed, or with its process."""

    attempt: str
    lock: Path
    handle: int | None

    def close(self) -> None:
        """Release the lock; by then the register must show how the attempt ended."""
        if self.handle is not None:
            self.lock.unlink(missing_ok=True)
            os.close(self.handle)
            self.handle = None


class Register:
    """One register folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = folder / LINES
        self.attempts = folder / ATTEMPTS
        self.locks = folder / LOCKS
        self._known: Chain | None = None

    @property
    def begun(self) -> bool:
        """Whether a run has used it, even one that has not written its first line yet."""
        return self.lines.is_file() or self.attempts.is_dir() or self.locks.is_dir()

    @contextmanager
    def opened(self) -> Iterator[Folder]:
        """Lock the register, and repair what a crash left behind.

        Raises
        ------
        IntegrityError
            If the chain is broken: nothing may be added to a register that was tampered with.
        """
        with self._open() as root, root.locked():
            root.open_to(PRIVATE)
            for name in (ATTEMPTS, LOCKS):
                root.make(name)
            self._recover(root)
            yield root

    @contextmanager
    def read_only(self) -> Iterator[Folder]:
        """Lock the register against writers."""
        with self._open(make=False) as root, root.locked(shared=True):
            yield root

    @contextmanager
    def _open(self, *, make: bool = True) -> Iterator[Folder]:
        with opened(self.folder, WHAT, PRIVATE, make=make) as root:
            yield root

    def begin(self, release: ReleaseSection, started_by: str) -> Running:
        """Enter an attempt when it starts, so that one that is killed leaves a line."""
        with self.opened() as root:
            attempt = self.new_attempt(release.folder)
            lock = self._lock_of(attempt)
            with root.within(LOCKS) as locks:
                running = Running(attempt, lock, locks.hold(lock.name))
            try:
                self._append(root, attempt, STARTED, release, started_by=started_by)
            except StorageError:
                running.close()
                raise
            return running

    def is_running(self, attempt: str) -> bool:
        """Return whether the process of an attempt is alive."""
        try:
            handle = os.open(self._lock_of(attempt), os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def _lock_of(self, attempt: str) -> Path:
        # the lock of a dataset has no dot in its name
        return self.locks / f"{attempt}.running"

    def new_attempt(self, release: Path) -> str:
        """Name the next attempt; the register must be open."""
        names = [*self.chain().attempts, *(path.name for path in self.attempts.iterdir())]
        numbers = [int(match[1]) for name in names if (match := ATTEMPT.match(name))]
        return f"{max(numbers, default=0) + 1:06d}-{'-'.join(release.parts)}"

    def open_attempt(self, attempt: str, release: Path) -> str:
        """Take an attempt that has started and has no outcome yet; otherwise name a new one."""
        entries = self.chain().attempts.get(attempt, [])
        if entries and entries[-1].event == STARTED:
            return attempt
        return self.new_attempt(release)

    def write_manifest(self, root: Folder, manifest: Manifest, report: str) -> None:
        """Write the manifest and the report of an attempt, both whole or not at all."""
        attempt, page = manifest.attempt, report.encode()
        partial = f".{attempt}"
        with root.within(ATTEMPTS) as attempts:
            with attempts.within(partial, make=True) as folder:
                folder.write(REPORT, page)
                folder.write(MANIFEST, encode(manifest.adding(report_sha256=sha256(page))))
                folder.flush()
            attempts.move(partial, attempts, attempt)
            attempts.flush()

    def append(self, root: Folder, attempt: str, event: str) -> None:
        """Add a line about an attempt whose manifest was written."""
        content = self._manifest_bytes(attempt)
        manifest = decode(content, attempt)
        self._append(
            root,
            attempt,
            event,
            manifest.release,
            manifest_sha256=sha256(content),
            candidate=None if manifest.review is None else manifest.review.candidate,
        )

    def review(self, root: Folder, candidate: str, **decision: Any) -> None:
        """Add a line with the decision of one reviewer on a candidate."""
        content = self._manifest_bytes(candidate)
        release = decode(content, candidate).release
        self._append(
            root, candidate, REVIEWED, release, manifest_sha256=sha256(content), **decision
        )

    def _append(
        self,
        root: Folder,
        attempt: str,
        event: str,
        release: ReleaseSection | ReleaseFacts,
        **parts: Any,
    ) -> None:
        signer = installation_key()
        self._introduce(root, signer)
        self._write_line(
            root,
            signer,
            attempt=attempt,
            event=event,
            dataset=release.name,
            period=release.period,
            revision=release.revision,
            **parts,
        )

    def _introduce(self, root: Folder, signer: Signer) -> None:
        """Add lines about keys, if the register does not know the key of today yet."""
        known = self.chain().keys
        if not known:
            # before the first signed line: a crash must not leave signed lines without a head
            signed_head.write(root, self.chain(), signer)
        for link in self._new_keys(signer):
            self._write_key(root, signer, link.key, link.signature if known else None)

    def _new_keys(self, signer: Signer) -> tuple[KeyLink, ...]:
        """List the keys that the register does not know yet; the key before must have signed them.

        Raises
        ------
        RefusedError
            If the register is signed with a key of another installation.
        """
        known = self.chain().keys
        links = signer.since(known[-1].key) if known else signer.history[-1:]
        if links is None:
            raise RefusedError(
                "a register must be continued with the key that signed it, or one that it handed "
                f"over to; {str(self.folder)!r} is signed with another key than that of this "
                "installation: set MICRORELEASE_HOME to the installation that signed it, or enter "
                "the change with `microrelease key adopt`"
            )
        return links

    def adopt(self, reason: str, started_by: str) -> None:
        """Add a line that says that another key signs from here on, without the one before.

        Raises
        ------
        IntegrityError
            If lines were removed or altered: another key must not cover that up.
        """
        signer = installation_key()
        with self._open(make=False) as root, root.locked():
            chain = self.chain()
            self._check_end(root, chain)
            self._drop_torn(root, chain)
            self._write_key(
                root, signer, signer.public.text, None, reason=reason, started_by=started_by
            )

    def _write_key(
        self, root: Folder, signer: Signer, key: str, signature: str | None, **parts: Any
    ) -> None:
        self._write_line(
            root,
            signer,
            attempt="",
            event=KEY,
            dataset="",
            period="",
            revision=0,
            key=key,
            key_signature=signature,
            **parts,
        )

    def _write_line(self, root: Folder, signer: Signer, **parts: Any) -> None:
        chain = self.chain()
        entry = Entry(previous=chain.head, time=now(), **parts)
        entry = entry.model_copy(update={"signature": signer.sign(LINE, entry.own_hash)})
        root.append(LINES, entry.line + b"\n")
        signed_head.write(root, self.chain(), signer)
        root.flush()

    def forget(self, root: Folder, release: ReleaseFacts, file_of: str, started_by: str) -> None:
        """Add a line that says that the vault file of an attempt is removed on purpose."""
        attempt = self.new_attempt(
            Path(release.name, folder_name(release.period, release.revision))
        )
        self._append(root, attempt, FORGOTTEN, release, started_by=started_by, forgets=file_of)

    def manifest(self, attempt: str) -> Manifest:
        """Read the manifest of an attempt.

        Raises
        ------
        IntegrityError
            If it cannot be read.
        """
        return decode(self._manifest_bytes(attempt), attempt)

    def manifest_sha256(self, attempt: str) -> str:
        """Hash the manifest of an attempt."""
        return sha256(self._manifest_bytes(attempt))

    def _manifest_bytes(self, attempt: str) -> bytes:
        content = self._read(attempt, MANIFEST)
        if content is None:
            raise IntegrityError(f"the manifest of attempt {attempt} is missing")
        return content

    def _read(self, attempt: str, name: str) -> bytes | None:
        """Read a file of an attempt; None if it is missing."""
        with self._open(make=False) as root:
            if not root.holds_folder(ATTEMPTS):
                return None
            with root.within(ATTEMPTS) as attempts:
                if not attempts.holds_folder(attempt):
                    return None
                with attempts.within(attempt) as folder:
                    return folder.read(name)

    def chain(self) -> Chain:
        """Read the lines and check the chain of hashes; lines read before are not read again.

        Raises
        ------
        IntegrityError
            If a line was altered, removed or inserted; the message says which.
        """
        content = self.lines.read_bytes() if self.lines.exists() else b""
        self._known = read_chain(content, self._known)
        return self._known

    def problems_with_manifests(self, chain: Chain) -> list[str]:
        """List manifests that are missing, or differ from those that the lines name."""
        problems = []
        for attempt, entries in chain.attempts.items():
            named = {entry.manifest_sha256 for entry in entries} - {None}
            if not named:
                continue
            content = self._read(attempt, MANIFEST)
            if content is None:
                problems.append(f"the manifest of attempt {attempt} is missing")
            elif named != {sha256(content)}:
                problems.append(f"the manifest of attempt {attempt} was altered")
        return problems

    def problems_with_reports(self, chain: Chain) -> list[str]:
        """List reports that are missing, or differ from those that the manifests name."""
        problems = []
        for attempt in sorted(chain.recorded):
            named = self.manifest(attempt).report_sha256
            report = self._read(attempt, REPORT)
            if named and report is None:
                problems.append(f"the report of attempt {attempt} is missing")
            elif named and report is not None and sha256(report) != named:
                problems.append(f"the report of attempt {attempt} was altered")
        return problems

    def unrecorded(self, chain: Chain) -> list[str]:
        """List attempts whose manifest is named by no line."""
        ours, _ = self._listed()
        return sorted(set(ours) - chain.recorded)

    def strangers(self) -> list[str]:
        """List what is in the folder of attempts and is not an attempt."""
        return self._listed()[1]

    def _listed(self) -> tuple[list[str], list[str]]:
        """List attempts, and names that are not ours."""
        if not self.attempts.is_dir():
            return [], []
        names = sorted(path.name for path in self.attempts.iterdir())
        with opened(self.attempts, WHAT, PRIVATE, make=False) as folder:
            ours = [name for name in names if ATTEMPT.match(name) and folder.holds_folder(name)]
        partial = [name for name in names if ATTEMPT.match(name.removeprefix("."))]
        return ours, sorted(set(names) - set(ours) - set(partial))

    def _recover(self, root: Folder) -> None:
        with root.within(ATTEMPTS) as attempts:
            for name in attempts.names():
                if name.startswith(".") and ATTEMPT.match(name[1:]):
                    attempts.remove(name)
        chain = self.chain()
        self._check_end(root, chain)
        self._new_keys(installation_key())
        self._drop_torn(root, chain)
        problems = self.problems_with_manifests(chain)
        if problems:
            raise IntegrityError("; ".join(problems) + ": run `microrelease audit`")
        for attempt in self.unrecorded(chain):
            manifest = self.manifest(attempt)
            approved = manifest.decision == APPROVED
            if approved and has_appeared(manifest):
                raise IntegrityError(line_removed(attempt))
            self.append(root, attempt, ABANDONED if approved else manifest.decision)
        for entry in self.chain().unfinished:
            self._end(root, entry)
        self.sweep_vault(root)

    def _check_end(self, root: Folder, chain: Chain) -> None:
        """Check that the lines are those that the head was signed for."""
        if fault := signed_head.problem(root, chain):
            raise IntegrityError(f"{fault}: run `microrelease audit`")

    def _drop_torn(self, root: Folder, chain: Chain) -> None:
        """Remove the part of a line that a crash left."""
        if chain.torn:
            root.truncate(LINES, self.lines.stat().st_size - len(chain.torn))

    def sweep_vault(self, root: Folder) -> None:
        """Remove vault files of attempts that are neither published nor wait for a decision."""
        for population, name in self.leftovers(root):
            vault.remove(root, population, name)

    def leftovers(self, root: Folder) -> list[tuple[str, str]]:
        """List the vault files that count for nothing, by population and name."""
        kept = {f"{attempt}{vault.ENDING}" for attempt in self.chain().in_vault}
        return [
            (population, name)
            for population, name in vault.files(root)
            if ATTEMPT.match(name.removeprefix(".")) and name not in kept
        ]

    def _end(self, root: Folder, entry: Entry) -> None:
        """Record the outcome of an attempt that a crash interrupted; a running attempt goes on."""
        attempt = entry.attempt
        if entry.event == PUBLISHING:
            appeared = has_appeared(self.manifest(attempt))
            self.append(root, attempt, PUBLISHED if appeared else ABANDONED)
        elif not self.is_running(attempt):
            self._lock_of(attempt).unlink(missing_ok=True)
            self._append(root, attempt, ABANDONED, entry.release, started_by=entry.started_by)

    def manifest_path(self, attempt: str) -> Path:
        """Name the file that holds the manifest of an attempt."""
        return self.attempts / attempt / MANIFEST


def has_appeared(manifest: Manifest, public: Path | None = None) -> bool:
    """Return whether the public folder of an attempt holds exactly the bytes it announced.

    ``public`` is where the public folder is now, if it was moved.
    """
    if manifest.public is None:
        return False
    folder = public_place(manifest, public)
    try:
        verified = verify_content(open_published(folder), str(folder))
    except (IntegrityError, StorageError):
        return False
    return verified.checksums == manifest.public.checksums


def public_place(manifest: Manifest, public: Path | None = None) -> Path:
    """Name the public folder of an attempt, where it is now."""
    assert manifest.public is not None
    folder = manifest.public.folder
    return folder if public is None else public.joinpath(*folder.parts[-2:])


def open_published(folder: Path) -> Files:
    """Open a published folder; neither it, nor that of its dataset, nor a file may be a link.

    Raises
    ------
    IntegrityError
        If there is no such folder.
    """
    root = folder.parents[1]
    try:
        with (
            opened(root, "public_folder", PUBLIC, make=False) as public,
            public.within(folder.parent.name) as dataset,
            dataset.within(folder.name) as release,
        ):
            return release.open_all()
    except StorageError:
        raise IntegrityError(
            f"{str(folder)!r} is not a whole release: there is no such folder"
        ) from None


def line_removed(attempt: str) -> str:
    """Say that a release appeared without the line that comes before it."""
    return (
        f"attempt {attempt} was published, but no line of register.jsonl says so: its lines were "
        "removed"
    )


def now() -> str:
    """Give the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
