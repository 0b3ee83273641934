"""The signed statement of a published folder: who published what, and on which decision.

The figures that need the originals cannot be recomputed from a folder. The statement ties them,
and every byte of the other files, to the key of the publisher.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from algorithms.errors import IntegrityError
from expectations.published.claims import Claims
from expectations.published.files import STATEMENT as FILE
from expectations.published.files import broken
from expectations.signatures import (
    STATEMENT,
    KeyLink,
    PublicKey,
    Trust,
    canonical,
    problem_with_succession,
)

FORMAT = 1


class PublicDecision(BaseModel):
    """The decision to publish."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gate: str
    reviewers: int
    """How many persons approved the release after the gate."""


class Statement(BaseModel):
    """What the publisher signs about a folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    dataset: str
    period: str
    revision: int
    k: int
    measures: dict[str, float]
    decision: PublicDecision
    checksums: dict[str, str]
    """SHA-256 of every other file of the folder."""
    keys: tuple[KeyLink, ...]
    """The keys of the publisher, each signed by the one before; the last one signs this."""
    signature: str = ""

    @classmethod
    def of(
        cls,
        claims: Claims,
        checksums: Mapping[str, str],
        reviewers: int,
        keys: tuple[KeyLink, ...],
        sign: Callable[[str, str], str],
    ) -> Self:
        """Sign a statement; it holds nothing that differs between runs with the same key."""
        unsigned = cls(
            format=FORMAT,
            **_facts(claims),
            decision=PublicDecision(gate="passed", reviewers=reviewers),
            checksums=dict(sorted(checksums.items())),
            keys=keys,
        )
        return unsigned.model_copy(update={"signature": sign(STATEMENT, unsigned.message)})

    @property
    def message(self) -> str:
        """The text that is signed."""
        return canonical(self.model_dump(mode="json", exclude={"signature"}))

    @property
    def key(self) -> PublicKey:
        """The key that signed it."""
        return PublicKey.of_text(self.keys[-1].key)

    def encode(self) -> bytes:
        """Write the statement."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False).encode() + (
            b"\n"
        )


def _facts(claims: Claims) -> dict[str, Any]:
    measures = {
        **claims.figures,
        **claims.measures,
        "il": claims.il_percent,
        "dld": claims.dld_percent,
    }
    return {
        "dataset": claims.name,
        "period": str(claims.period),
        "revision": claims.revision,
        "k": claims.k,
        "measures": {name: float(measures[name]) for name in sorted(measures)},
    }


def read_statement(
    content: bytes, claims: Claims, checksums: Mapping[str, str], name: str
) -> Statement:
    """Read a statement, and check that it is about these files and signed with its own key.

    Raises
    ------
    IntegrityError
        If it is not; the message lists every fault.
    """
    try:
        statement = Statement.model_validate_json(content)
        signed = statement.key.has_signed(STATEMENT, statement.message, statement.signature)
    except (ValueError, IndexError):
        raise broken(name, [f"{FILE} is not a statement about a release"]) from None
    faults = [] if signed else [f"{FILE} was altered after it was signed"]
    if problem := problem_with_succession(statement.keys):
        faults.append(f"{FILE}: {problem}")
    others = {file: sha256 for file, sha256 in checksums.items() if file != FILE}
    differing = sorted(
        file
        for file in others.keys() | statement.checksums.keys()
        if others.get(file) != statement.checksums.get(file)
    )
    if differing:
        faults.append(f"altered {', '.join(differing)}: {FILE} was signed for other bytes")
    facts = _facts(claims)
    if contradicted := [key for key, value in facts.items() if getattr(statement, key) != value]:
        faults.append(f"{FILE} and the description differ in {', '.join(contradicted)}")
    if faults:
        raise broken(name, faults)
    return statement


def check_trusted(statement: Statement | None, trust: Trust, name: str) -> None:
    """Check that a folder is signed with a trusted key, or one that it handed over to.

    Raises
    ------
    IntegrityError
        If it is not.
    """
    if statement is None:
        raise IntegrityError(
            f"{name!r} must be signed with key {trust}; it is not signed: {FILE} was removed, the "
            "folder was put there by someone else, or it was published before 0.3"
        )
    if not trust.covers([link.key for link in statement.keys]):
        raise IntegrityError(
            f"{name!r} must be signed with key {trust}; it is signed with "
            f"{statement.key.fingerprint}: someone else published it, or altered and signed it"
        )
