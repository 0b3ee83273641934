"""The manifest of an attempt, in every format that was ever written.

Format 1 is that of version 0.1.0, which wrote no number. Format 2 added the number, the spec file
and the changes of a run. Format 3 added databases as sources. Format 4 added the vault.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from algorithms.errors import IntegrityError
from expectations.gate import Verdict
from expectations.request.named import Change, ResolvedSpec
from expectations.request.sections.publication import PublicationSection
from expectations.request.sections.release import ReleaseSection
from expectations.request.spec import ReleaseSpec
from expectations.review import DESK, NO_ANSWER

FORMAT = 4
"""The format that is written."""

TYPED = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
OPEN = TYPED | ConfigDict(extra="allow")
"""For parts that other versions may add to, or take from."""


class ReleaseFacts(BaseModel):
    """The release that an attempt is about."""

    model_config = OPEN

    name: str
    period: str
    revision: int = 0

    @property
    def edition(self) -> str:
        """The period, and the revision if there is one, for people."""
        return self.period + (f", revision {self.revision}" if self.revision else "")


class SpecFileFacts(BaseModel):
    """The reviewed file that a spec was read from."""

    model_config = TYPED

    name: str
    sha256: str


class DatabaseFacts(BaseModel):
    """The database that a query was read from."""

    model_config = OPEN

    connection: str
    """Name of the connection, as in the spec."""
    engine: str
    version: str
    snapshot: str
    """Time of the snapshot, by the clock of the database."""
    query_sha256: str


class InputFacts(BaseModel):
    """The source that was read."""

    model_config = TYPED

    path: str = ""
    """The file; empty for a database."""
    sha256: str
    """SHA-256 of the bytes that were read; for a database, the fingerprint of the table."""
    bytes: int | None = None
    """Size of the file."""
    rows: int
    columns: int
    content: str = ""
    """Fingerprint of the table, which is the same for every source with the same content."""
    database: DatabaseFacts | None = None
    declared_missing: dict[str, int] = Field(default_factory=dict)
    """Cells that the file itself declares to be missing by a code, by column."""
    missing_codes: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Cells with each code that the spec declares to mean missing, by column."""

    @property
    def missing_by_code(self) -> dict[str, int]:
        """Cells that are missing because of a code, by column."""
        counts = Counter(self.declared_missing)
        for column, codes in self.missing_codes.items():
            counts[column] += sum(codes.values())
        return {column: count for column, count in counts.items() if count}


class BoundFacts(BaseModel):
    """The least possible IL for each k."""

    model_config = OPEN

    least: dict[int, float] = Field(default_factory=dict)
    """In per cent, by k."""
    note: str = ""
    """Why there is none, or how it was computed if that is not as usual."""


class EvaluationFacts(BaseModel):
    """The measures of a masked table."""

    model_config = OPEN

    measures: dict[str, float]
    records: int
    groups: int
    sizes: dict[int, int]
    notes: dict[str, str] = Field(default_factory=dict)
    columns: tuple[dict[str, float], ...] = ()
    compared: tuple[str, ...] | None = None
    """The earlier releases with which the table was compared."""
    bounds: BoundFacts | None = None
    """The least possible IL for each k; versions before 0.4 recorded none."""


class FindingFacts(BaseModel):
    """The result of one rule on a table."""

    model_config = OPEN

    suite: str
    rule: str
    met: bool
    rows: int | None = None


class PublicFacts(BaseModel):
    """The public folder, and the checksums of its files."""

    model_config = TYPED

    folder: Path
    checksums: dict[str, str]


class DecisionFacts(BaseModel):
    """The decision of one reviewer."""

    model_config = OPEN

    time: str
    approved: bool
    reviewer: str
    reason: str = ""
    channel: str
    """Where it was made."""
    key: str = ""
    """The reviewer's own public key, if the decision is signed with one."""

    @property
    def name_in_words(self) -> str:
        """The name, and whether anyone checked it."""
        checked = self.channel in (DESK, NO_ANSWER)
        return self.reviewer if checked else f"{self.reviewer} (a claimed name, {self.channel})"


class ReviewFacts(BaseModel):
    """The decision of the reviewers on a candidate."""

    model_config = OPEN

    candidate: str
    approved: bool
    reviewer: str
    """All names."""
    reason: str = ""
    started_by: str = ""
    decisions: tuple[DecisionFacts, ...] = ()
    """Each decision; versions before 0.3 did not keep them apart."""


class VaultFacts(BaseModel):
    """The vault file of a release, and those of the releases that it was compared with."""

    model_config = OPEN

    population: str
    """Name of the persons; datasets about the same persons share it."""
    file: str
    """Path in the register."""
    sha256: str
    persons: int
    muted: int
    """Persons whose confidential and other columns are empty."""
    key: str
    """Fingerprint of the key, which reveals nothing about it."""
    previous: str
    """SHA-256 of the vault file that was published before, of the same population; empty for the
    first."""
    against: tuple[str, ...] = ()
    """SHA-256 of each vault file that the release was compared with, the oldest first."""


class Record(BaseModel):
    """The facts of an attempt so far; parts that it has not reached are missing."""

    model_config = TYPED

    attempt: str = ""
    """Name in the register; empty before it is entered there, and in a dry run."""
    release: ReleaseFacts
    started_by: str = ""
    spec: dict[str, Any] = Field(default_factory=dict)
    """The whole spec of the run, as that version of the code understood it."""
    spec_file: SpecFileFacts | None = None
    changes: tuple[Change, ...] = ()
    flow_run: str = ""
    code: dict[str, str | None] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    started: str = ""
    ended: str = ""
    seconds: float = 0.0
    input: InputFacts | None = None
    iterations: int | list[int] | None = None
    blocks: dict[str, int] | None = None
    """The rows and seams of the blocks into which large sets of records were cut."""
    evaluation: EvaluationFacts | None = None
    gate: tuple[Verdict, ...] = ()
    expectations: tuple[FindingFacts, ...] = ()
    vault: VaultFacts | None = None
    review: ReviewFacts | None = None
    decided: str = ""

    @classmethod
    def of(cls, spec: ReleaseSpec, **parts: Any) -> Self:
        """Start the record of an attempt with its spec."""
        content = spec.model_dump(mode="json")
        return cls.model_validate({"release": content["release"], "spec": content, **parts})

    @classmethod
    def of_resolved(cls, resolved: ResolvedSpec, **parts: Any) -> Self:
        """Start the record of an attempt with its spec and the reviewed file it comes from."""
        file = SpecFileFacts(name=resolved.file.name, sha256=resolved.file.sha256)
        return cls.of(resolved.spec, spec_file=file, changes=resolved.changes, **parts)

    def adding(self, **parts: Any) -> Self:
        """Give the record with more parts; what is not of its type is refused."""
        return type(self).model_validate({**self._parts(), **parts})

    def ending(self, attempt: str, decision: str, **parts: Any) -> "Manifest":
        """Give the manifest of an attempt that ends with this decision."""
        known = {**self._parts(), "attempt": attempt, "decision": decision}
        return Manifest.model_validate({**known, **parts})

    @property
    def content(self) -> dict[str, Any]:
        """The parts that are known, as JSON."""
        return self.model_dump(mode="json", exclude_unset=True)

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}

    @property
    def k(self) -> int:
        """The k of the spec; 0 if there is no spec."""
        return int(self.spec.get("microaggregation", {}).get("k", 0))

    @property
    def method(self) -> str:
        """The method, and the path that it cuts."""
        how = self.spec.get("microaggregation", {})
        return " along ".join(filter(None, (how.get("method", ""), how.get("ordering"))))

    @property
    def measures(self) -> dict[str, float]:
        """All measures."""
        return {} if self.evaluation is None else self.evaluation.measures

    @property
    def review_asked(self) -> dict[str, Any]:
        """What the spec asks of reviewers; empty if it asks for none."""
        return self.spec.get("gate", {}).get("review") or {}

    def ceiling(self, measure: str) -> float:
        """Give the ceiling of a measure; not a number if it has no ceiling."""
        ceiling = self.spec.get("gate", {}).get("ceilings", {}).get(measure)
        return float("nan") if ceiling is None else float(ceiling)


@dataclass(frozen=True)
class SealedSpec:
    """The parts of a spec that a decision needs, as any version of the code sealed them."""

    release: ReleaseSection
    publication: PublicationSection


class Manifest(Record):
    """Everything that is kept of an attempt that has ended."""

    format: int = 1
    attempt: str
    decision: str
    reason: str = ""
    public: PublicFacts | None = None
    report_sha256: str | None = None

    @property
    def sealed_spec(self) -> SealedSpec:
        """The release of a candidate, and the place of its files.

        The version that sealed the candidate checked the rest of its spec; it is not checked again.
        """
        return SealedSpec(
            ReleaseSection.model_validate(self.spec["release"]),
            PublicationSection.model_validate(self.spec["publication"]),
        )

    @property
    def record(self) -> Record:
        """The parts that also hold for the decision on a candidate."""
        kept = self.model_fields_set & set(Record.model_fields) - {"attempt"}
        return Record.model_validate({name: getattr(self, name) for name in kept})


def encode(manifest: Manifest) -> bytes:
    """Write a manifest in the latest format."""
    content = manifest.adding(format=FORMAT).content
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"


def decode(content: bytes, attempt: str) -> Manifest:
    """Read the manifest of an attempt in the format in which it was written.

    Raises
    ------
    IntegrityError
        If it is not a manifest, or is in a format of a later version.
    """
    try:
        read = json.loads(content)
        number = read.get("format", 1)
        if type(number) is int and number > FORMAT:
            raise IntegrityError(
                f"a manifest must be in a format that this version reads (1 to {FORMAT}); that of "
                f"attempt {attempt} is in format {number}: use a later version of microrelease"
            )
        if number == 1:
            # originals could be computed from its figures of single columns
            read.get("evaluation", {}).pop("columns", None)
        return Manifest.model_validate(read)
    except (ValueError, AttributeError, RecursionError):
        raise IntegrityError(f"the manifest of attempt {attempt} cannot be read") from None
