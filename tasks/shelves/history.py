"""What a register tells of every attempt, in figures that may be shown to anyone who works here."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.shelves.audit import Audit
from tasks.shelves.register import ABANDONED, APPROVED, PUBLISHED, REPORT, Register

MOST_PERIODS = 24
"""Periods that a picture or an artefact shows."""

VERIFIED, ALTERED, NOT_PUBLIC = "verified", "altered", "not public"


@dataclass(frozen=True)
class Past:
    """One attempt of the past; a measure is None where the attempt did not come to it."""

    attempt: str
    time: str
    dataset: str
    period: str
    decision: str
    reason: str
    method: str
    k: int
    il: float | None
    il_ceiling: float
    dld: float | None
    dld_ceiling: float
    started_by: str
    reviewer: str
    review_reason: str
    candidate: str
    folder: str
    checksums: dict[str, str]
    input_sha256: str
    report: str
    status: str
    spec_file: dict[str, str]
    changes: list[dict[str, Any]]


def history(folder: Path, audit: Audit | None = None) -> list[Past]:
    """List the attempts of a register in their order.

    Parameters
    ----------
    folder : Path
        The register; its chain must be whole.
    audit : Audit, optional
        What an audit found, which tells the status of each release.
    """
    register = Register(folder)
    return [
        _past(register, attempt, entries[-1], audit)
        for attempt, entries in register.chain().attempts.items()
    ]


def latest(pasts: Iterable[Past], dataset: str) -> list[Past]:
    """Keep the attempts of one dataset that were measured, the last for each period."""
    measured = {
        past.period: past for past in pasts if past.dataset == dataset and past.il is not None
    }
    return list(measured.values())


def _past(register: Register, attempt: str, entry: dict[str, Any], audit: Audit | None) -> Past:
    manifest = register.manifest(attempt)
    release, spec = manifest["release"], manifest.get("spec", {})
    how, limits = spec.get("microaggregation", {}), spec.get("gate", {}).get("ceilings", {})
    measures = manifest.get("evaluation", {}).get("measures", {})
    review, public = manifest.get("review", {}), manifest.get("public", {})
    revision = f", revision {release['revision']}" if release.get("revision") else ""
    decision = entry["event"] if entry["event"] != APPROVED else PUBLISHED
    folder = public.get("folder", "") if decision == PUBLISHED else ""
    return Past(
        attempt=attempt,
        time=entry["time"],
        dataset=release["name"],
        period=f"{release['period']}{revision}",
        decision=decision,
        reason=manifest.get("reason", "")
        or ("a crash came first" if decision == ABANDONED else ""),
        method=" along ".join(filter(None, (how.get("method", ""), how.get("ordering")))),
        k=how.get("k", 0),
        il=measures.get("il"),
        il_ceiling=limits.get("il", float("nan")),
        dld=measures.get("dld"),
        dld_ceiling=limits.get("dld", float("nan")),
        started_by=manifest.get("started_by", ""),
        reviewer=review.get("reviewer", ""),
        review_reason=review.get("reason", ""),
        candidate=review.get("candidate", ""),
        folder=folder,
        checksums=public.get("checksums", {}) if folder else {},
        input_sha256=manifest.get("input", {}).get("sha256", ""),
        report=str(register.attempts / attempt / REPORT),
        status=_status(folder, audit),
        spec_file=manifest.get("spec_file", {}),
        changes=manifest.get("changes", []),
    )


def _status(folder: str, audit: Audit | None) -> str:
    if not folder:
        return NOT_PUBLIC
    if audit is None:
        return "not checked"
    return VERIFIED if folder in audit.verified else ALTERED
