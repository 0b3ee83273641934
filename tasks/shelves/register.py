"""The internal register: a manifest per attempt, and one chained line per event.

``register.jsonl`` only ever grows, and each of its lines carries the hash of the line before and of
itself.
``attempts/<number>-<dataset>-<period>/manifest.json`` is written once and never changed; the lines
carry its hash, and it carries that of ``report.html`` beside it. The order of writing makes every
crash tell-tale and mendable:

    manifest  ->  line "publishing"  ->  public folder renamed into place  ->  line "published"

Nothing public appears before its line, and no line claims a publication before it is there.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from algorithms.errors import IntegrityError
from expectations.published import checksums, verify
from tasks.shelves.disk import flush, locked, make_folder, reveal, write

REPORT = "report.html"
NO_LINE = "0" * 64
"""What the first line carries for the hash of the line before."""

PUBLISHING, PUBLISHED, ABANDONED = "publishing", "published", "abandoned"
APPROVED, UNCHANGED, BLOCKED, FAILED = "approved", "unchanged", "blocked", "failed"
SEALED, REJECTED = "sealed", "rejected"
OUTCOMES = (PUBLISHED, UNCHANGED, BLOCKED, FAILED, ABANDONED, SEALED, REJECTED)


@dataclass(frozen=True)
class Chain:
    """The lines of a register that are whole, and what was torn off after them."""

    entries: list[dict[str, Any]]
    head: str
    torn: bytes

    @property
    def attempts(self) -> dict[str, list[dict[str, Any]]]:
        """The entries of each attempt, in their order."""
        grouped: dict[str, list[dict[str, Any]]] = {}
        for entry in self.entries:
            grouped.setdefault(entry["attempt"], []).append(entry)
        return grouped

    @property
    def unfinished(self) -> list[dict[str, Any]]:
        """The last entry of each attempt that did not reach an outcome."""
        return [
            entries[-1]
            for entries in self.attempts.values()
            if entries[-1]["event"] not in OUTCOMES
        ]

    @property
    def waiting(self) -> list[str]:
        """The sealed candidates on which nobody has decided yet."""
        # a crash while publishing decides nothing
        decided = {
            entries[-1].get("candidate")
            for entries in self.attempts.values()
            if entries[-1]["event"] != ABANDONED
        }
        return [
            attempt
            for attempt, entries in self.attempts.items()
            if entries[-1]["event"] == SEALED and attempt not in decided
        ]


class Register:
    """One register folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = folder / "register.jsonl"
        self.attempts = folder / "attempts"
        self.locks = folder / "locks"

    @property
    def begun(self) -> bool:
        """Whether a run has been here, be it one that has not written its first line yet."""
        return self.lines.is_file() or self.attempts.is_dir() or self.locks.is_dir()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the register alone, and put right what a crash left behind.

        Raises
        ------
        IntegrityError
            If the chain is broken: nothing may be added to a register that was tampered with.
        """
        make_folder(self.folder, "register_folder")
        make_folder(self.attempts, "register_folder")
        with locked(self.folder):
            self._recover()
            yield

    def new_attempt(self, release: Path) -> str:
        """Name the next attempt; the register must be open."""
        number = 1 + len(list(self.attempts.iterdir()))
        return f"{number:06d}-{'-'.join(release.parts)}"

    def write_manifest(self, manifest: dict[str, Any], report: str) -> None:
        """Keep the manifest and the report of an attempt, both whole or not at all."""
        attempt, page = manifest["attempt"], report.encode()
        partial = self.attempts / f".{attempt}"
        partial.mkdir()
        sealed = {**manifest, "report_sha256": _sha256(page)}
        write(partial / REPORT, page)
        write(
            partial / "manifest.json",
            json.dumps(sealed, indent=2, ensure_ascii=False).encode() + b"\n",
        )
        reveal(partial, self.attempts / attempt)

    def append(self, attempt: str, event: str) -> None:
        """Add a line about an attempt whose manifest is kept."""
        manifest = self.manifest(attempt)
        entry = {
            "previous": self.chain().head,
            "time": now(),
            "event": event,
            "attempt": attempt,
            "manifest_sha256": _sha256(self.manifest_path(attempt).read_bytes()),
            "dataset": manifest["release"]["name"],
            "period": manifest["release"]["period"],
            "revision": manifest["release"]["revision"],
        }
        if "review" in manifest:
            entry["candidate"] = manifest["review"]["candidate"]
        with self.lines.open("ab") as file:
            file.write(_line(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        flush(self.folder)

    def manifest(self, attempt: str) -> dict[str, Any]:
        """Read the manifest of an attempt."""
        content: dict[str, Any] = json.loads(self.manifest_path(attempt).read_bytes())
        return content

    def chain(self) -> Chain:
        """Read the lines and follow the hashes.

        Raises
        ------
        IntegrityError
            If a line was altered, removed or put in; the message says which.
        """
        content = self.lines.read_bytes() if self.lines.exists() else b""
        *whole, torn = content.split(b"\n")
        entries: list[dict[str, Any]] = []
        head = NO_LINE
        for number, line in enumerate(whole, start=1):
            entry = _entry(line, number)
            if entry["previous"] != head:
                raise IntegrityError(
                    f"line {number} of register.jsonl must carry the hash of the line before; it "
                    "carries another: lines were removed, put in or exchanged there"
                )
            entries.append(entry)
            head = _sha256(line)
        return Chain(entries, head, torn)

    def problems_with_manifests(self, chain: Chain) -> list[str]:
        """Name manifests that are missing or not the ones the lines speak of."""
        problems = []
        for attempt, entries in chain.attempts.items():
            path = self.manifest_path(attempt)
            if not path.is_file():
                problems.append(f"the manifest of attempt {attempt} is missing")
                continue
            digest = _sha256(path.read_bytes())
            if any(entry["manifest_sha256"] != digest for entry in entries):
                problems.append(f"the manifest of attempt {attempt} was altered")
        return problems

    def problems_with_reports(self, chain: Chain) -> list[str]:
        """Name reports that are missing or not the ones that the manifests speak of."""
        problems = []
        for attempt in chain.attempts:
            told = self.manifest(attempt).get("report_sha256")
            path = self.attempts / attempt / REPORT
            if told and not path.is_file():
                problems.append(f"the report of attempt {attempt} is missing")
            elif told and _sha256(path.read_bytes()) != told:
                problems.append(f"the report of attempt {attempt} was altered")
        return problems

    def unrecorded(self, chain: Chain) -> list[str]:
        """Name attempts with a manifest of which no line speaks."""
        if not self.attempts.is_dir():
            return []
        kept = {path.name for path in self.attempts.iterdir() if not path.name.startswith(".")}
        return sorted(kept - set(chain.attempts))

    def _recover(self) -> None:
        for partial in self.attempts.glob(".*"):
            shutil.rmtree(partial)
        chain = self.chain()
        if chain.torn:
            os.truncate(self.lines, self.lines.stat().st_size - len(chain.torn))
        problems = self.problems_with_manifests(chain)
        if problems:
            raise IntegrityError("; ".join(problems) + ": run `microrelease audit`")
        for attempt in self.unrecorded(chain):
            manifest = self.manifest(attempt)
            approved = manifest["decision"] == APPROVED
            if approved and has_appeared(manifest):
                raise IntegrityError(line_removed(attempt))
            self.append(attempt, ABANDONED if approved else manifest["decision"])
        for entry in chain.unfinished:
            appeared = has_appeared(self.manifest(entry["attempt"]))
            self.append(entry["attempt"], PUBLISHED if appeared else ABANDONED)

    def manifest_path(self, attempt: str) -> Path:
        """Name the file that holds the manifest of an attempt."""
        return self.attempts / attempt / "manifest.json"


def has_appeared(manifest: dict[str, Any]) -> bool:
    """Tell whether the public folder of an attempt is there with exactly the bytes it announced."""
    folder = Path(manifest["public"]["folder"])
    try:
        verify(folder)
    except IntegrityError:
        return False
    return bool(checksums(folder) == manifest["public"]["checksums"])


def line_removed(attempt: str) -> str:
    """Say of an attempt that it appeared without the line that comes before."""
    return (
        f"attempt {attempt} was published, and no line of register.jsonl says so: its lines were "
        "removed"
    )


def now() -> str:
    """Tell the time, to the second and with its zone."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _line(entry: dict[str, Any]) -> bytes:
    """Write an entry as a line that also carries the hash of itself."""
    own = _sha256(json.dumps(entry, ensure_ascii=False).encode())
    return json.dumps({**entry, "hash": own}, ensure_ascii=False).encode()


def _entry(line: bytes, number: int) -> dict[str, Any]:
    """Read a line, and see that writing it again gives the same bytes."""
    try:
        entry: dict[str, Any] = json.loads(line)
        del entry["hash"]
        intact = _line(entry) == line and {"previous", "event", "attempt"} <= set(entry)
    except (ValueError, TypeError, KeyError):
        intact = False
    if not intact:
        raise IntegrityError(f"line {number} of register.jsonl was altered")
    return entry


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
