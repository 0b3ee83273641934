"""The manifest of an attempt, in every format that was ever written.

Format 1 is that of version 0.1.0, which wrote no number. Format 2 added the number, the spec file
and the changes of a run. A manifest is checked against its type before it is written.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from algorithms.errors import ContractError, IntegrityError
from expectations.request.named import Change

FORMAT = 2
"""The format that is written."""

TYPED = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
OPEN = TYPED | ConfigDict(extra="allow")
"""For parts that other versions may add to, or take from."""


class ReleaseFacts(BaseModel):
    """Which release an attempt was about."""

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


class InputFacts(BaseModel):
    """The file that was read."""

    model_config = TYPED

    path: str
    sha256: str
    bytes: int
    rows: int
    columns: int


class PublicFacts(BaseModel):
    """Where files appear, and with which bytes."""

    model_config = TYPED

    folder: Path
    checksums: dict[str, str]


class ReviewFacts(BaseModel):
    """What a reviewer decided on a candidate."""

    model_config = OPEN

    candidate: str
    approved: bool
    reviewer: str
    reason: str = ""
    started_by: str = ""


class Manifest(BaseModel):
    """Everything that is kept of an attempt; what it did not come to is missing."""

    model_config = TYPED

    format: int = 1
    attempt: str
    release: ReleaseFacts
    decision: str
    reason: str = ""
    started_by: str = ""
    spec: dict[str, Any] = Field(default_factory=dict)
    """The whole spec of the run, as that version of the code understood it."""
    spec_file: SpecFileFacts | None = None
    changes: tuple[Change, ...] = ()
    flow_run: str = ""
    code: dict[str, Any] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    started: str = ""
    ended: str = ""
    decided: str = ""
    seconds: float = 0.0
    input: InputFacts | None = None
    iterations: int | list[int] | None = None
    evaluation: dict[str, Any] = Field(default_factory=dict)
    gate: list[dict[str, Any]] = Field(default_factory=list)
    expectations: list[dict[str, Any]] = Field(default_factory=list)
    public: PublicFacts | None = None
    review: ReviewFacts | None = None
    report_sha256: str | None = None

    @property
    def k(self) -> int:
        """The k that was asked for; 0 where the attempt did not come to it."""
        return int(self.spec.get("microaggregation", {}).get("k", 0))

    @property
    def method(self) -> str:
        """The method, and the path that it cuts."""
        how = self.spec.get("microaggregation", {})
        return " along ".join(filter(None, (how.get("method", ""), how.get("ordering"))))

    @property
    def measures(self) -> dict[str, float]:
        """Everything that was measured."""
        return dict(self.evaluation.get("measures", {}))

    def ceiling(self, measure: str) -> float:
        """Give the ceiling of a measure; not a number where there is none."""
        limits = self.spec.get("gate", {}).get("ceilings", {})
        return float(limits.get(measure, float("nan")))


def typed(content: Mapping[str, Any] | Manifest) -> Manifest:
    """Check the content of a manifest against its type.

    Raises
    ------
    ContractError
        If it is not of the type that readers know; the message names parts, never their values.
    """
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        parts = sorted({".".join(map(str, fault["loc"])) for fault in error.errors()})
        raise ContractError(f"a manifest must be of its type; not so: {', '.join(parts)}") from None


def encode(content: dict[str, Any]) -> bytes:
    """Write a manifest, once it is seen that it can be read again.

    Raises
    ------
    ContractError
        If it is not of the type that readers know.
    """
    numbered = {"format": FORMAT, **content}
    typed(numbered)
    return json.dumps(numbered, indent=2, ensure_ascii=False).encode() + b"\n"


def decode(content: bytes, attempt: str) -> Manifest:
    """Read the manifest of an attempt in the format in which it was written.

    Raises
    ------
    IntegrityError
        If it is not a manifest, or in a format that a later version writes.
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
