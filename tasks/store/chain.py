"""The lines of a register: what each says, and how each hangs on the one before."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel

from algorithms.errors import IntegrityError
from expectations.manifest import OPEN, ReleaseFacts
from expectations.signatures import KeyLink

NO_LINE = "0" * 64
"""Stands in the first line for the hash of the line before."""

STARTED, PUBLISHING, PUBLISHED, ABANDONED = "started", "publishing", "published", "abandoned"
APPROVED, UNCHANGED, BLOCKED, FAILED = "approved", "unchanged", "blocked", "failed"
SEALED, REJECTED, FORGOTTEN = "sealed", "rejected", "forgotten"
OUTCOMES = (PUBLISHED, UNCHANGED, BLOCKED, FAILED, ABANDONED, SEALED, REJECTED, FORGOTTEN)
REVIEWED, KEY = "reviewed", "key"
"""Lines that are no step of an attempt: one reviewer's decision, and the key that signs from here
on."""


class Entry(BaseModel):
    """One event, as a line of the register has it.

    Version 0.1.0 wrote no line when an attempt started; all other lines have always had the keys
    from ``previous`` to ``revision``, in this order. Lines of before 0.3 are not signed.
    """

    model_config = OPEN

    previous: str
    """Hash of the line before."""
    time: str
    event: str
    attempt: str
    manifest_sha256: str | None = None
    """Hash of the manifest; None as long as there is no manifest."""
    dataset: str
    period: str
    revision: int
    started_by: str | None = None
    """The person who started the attempt; after that, the manifest has the name."""
    candidate: str | None = None
    """The candidate that was decided on, if there was one."""
    forgets: str | None = None
    """The attempt whose vault file was removed, if this line is about that."""
    reviewer: str | None = None
    approved: bool | None = None
    reason: str | None = None
    channel: str | None = None
    """Where a reviewer decided, which tells whether the name was checked."""
    reviewer_key: str | None = None
    """The reviewer's own public key, if the decision is signed with one."""
    reviewer_signature: str | None = None
    key: str | None = None
    """The public key that signs this line and those after it, if this line is about that."""
    key_signature: str | None = None
    """The signature of that key by the key before it."""
    signature: str | None = None
    """The installation's signature of this line's hash, which is not part of that hash."""

    @property
    def release(self) -> ReleaseFacts:
        """The release that the attempt is about."""
        return ReleaseFacts(name=self.dataset, period=self.period, revision=self.revision)

    @property
    def is_step(self) -> bool:
        """Whether the line is a step of an attempt on its way to an outcome."""
        return self.event not in (REVIEWED, KEY)

    @property
    def own_hash(self) -> str:
        """The hash that the line carries of itself, and that is signed."""
        return sha256(json.dumps(self._content, ensure_ascii=False).encode())

    @property
    def line(self) -> bytes:
        """The line, without its end."""
        content = {**self._content, "hash": self.own_hash}
        if self.signature is not None:
            content["signature"] = self.signature
        return json.dumps(content, ensure_ascii=False).encode()

    @property
    def _content(self) -> dict[str, object]:
        return self.model_dump(exclude_none=True, exclude={"signature"})


@dataclass(frozen=True)
class Chain:
    """The complete lines of a register, and the torn line after them."""

    entries: tuple[Entry, ...] = ()
    head: str = NO_LINE
    torn: bytes = b""
    content: bytes = field(default=b"", repr=False)
    """The bytes of the complete lines."""

    @cached_property
    def attempts(self) -> dict[str, list[Entry]]:
        """The steps of each attempt, in order."""
        grouped: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.is_step:
                grouped.setdefault(entry.attempt, []).append(entry)
        return grouped

    @cached_property
    def recorded(self) -> set[str]:
        """The attempts whose manifest is named by a line."""
        return {entry.attempt for entry in self.entries if entry.manifest_sha256 is not None}

    @property
    def unfinished(self) -> list[Entry]:
        """The last entry of each attempt that did not reach an outcome."""
        return [
            entries[-1] for entries in self.attempts.values() if entries[-1].event not in OUTCOMES
        ]

    @cached_property
    def waiting(self) -> list[str]:
        """The sealed candidates that await a decision."""
        # a crash while publishing decides nothing
        decided = {
            entries[-1].candidate
            for entries in self.attempts.values()
            if entries[-1].event in OUTCOMES and entries[-1].event != ABANDONED
        }
        return [
            attempt
            for attempt, entries in self.attempts.items()
            if entries[-1].event == SEALED and attempt not in decided
        ]

    @cached_property
    def reviews(self) -> dict[str, list[Entry]]:
        """The decisions of reviewers on each candidate, in order."""
        grouped: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.event == REVIEWED:
                grouped.setdefault(entry.attempt, []).append(entry)
        return grouped

    @property
    def published(self) -> list[Entry]:
        """The entries that say that a release is public, in order."""
        return [entry for entry in self.entries if entry.event == PUBLISHED]

    @property
    def forgotten(self) -> set[str]:
        """The attempts whose vault files were removed on purpose."""
        return {entry.forgets for entry in self.entries if entry.forgets is not None}

    @property
    def in_vault(self) -> set[str]:
        """The attempts whose vault files are kept: those of published releases and candidates."""
        published = {entry.candidate or entry.attempt for entry in self.published}
        return (published | set(self.waiting)) - self.forgotten

    @cached_property
    def keys(self) -> list[KeyLink]:
        """The keys that signed lines, in order; the first of a register has no signature."""
        return [
            KeyLink(key=entry.key, signature=entry.key_signature or "")
            for entry in self.entries
            if entry.key is not None
        ]


def read_chain(content: bytes, known: Chain | None = None) -> Chain:
    """Read lines and check the chain of hashes.

    Parameters
    ----------
    content : bytes
        The file.
    known : Chain, optional
        What the file held before; lines that are still there are not read again.

    Raises
    ------
    IntegrityError
        If a line was altered, removed or inserted; the message says which.
    """
    before = known if known is not None and content.startswith(known.content) else Chain()
    *whole, torn = content[len(before.content) :].split(b"\n")
    end = len(content) - len(torn)
    if not whole:
        return Chain(before.entries, before.head, torn, before.content)
    entries = [*before.entries]
    head = before.head
    for entry, line in _entries(whole, len(entries) + 1):
        if entry.previous != head:
            raise IntegrityError(
                f"line {len(entries) + 1} of register.jsonl must carry the hash of the line "
                "before; it carries another: lines were removed, inserted or exchanged there"
            )
        entries.append(entry)
        head = sha256(line)
    return Chain(tuple(entries), head, torn, content[:end])


def _entries(lines: list[bytes], first: int) -> Iterator[tuple[Entry, bytes]]:
    """Read lines, and check that writing them again gives the same bytes."""
    for number, line in enumerate(lines, start=first):
        altered = IntegrityError(f"line {number} of register.jsonl was altered")
        try:
            content = json.loads(line)
            del content["hash"]
            entry = Entry.model_validate(content)
        except (ValueError, TypeError, KeyError):
            raise altered from None
        if entry.line != line:
            raise altered
        yield entry, line


def sha256(content: bytes) -> str:
    """Hash a line, a manifest or a report."""
    return hashlib.sha256(content).hexdigest()
