"""The attempts of a register, in figures that may be shown to all staff."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from expectations.request.named import Change
from expectations.request.periods import in_order
from tasks.store.audit import Audit
from tasks.store.chain import ABANDONED, APPROVED, FORGOTTEN, PUBLISHED, STARTED, Entry
from tasks.store.register import REPORT, Register

MOST_PERIODS = 24
"""The most periods that a picture or an artefact shows."""

RUNNING = "running"
CRASHED = "a crash came first"
VERIFIED, ALTERED, NOT_PUBLIC = "verified", "altered", "not public"


@dataclass(frozen=True)
class Past:
    """One attempt of the past; a measure is None if it was not measured, or does not apply."""

    attempt: str
    time: str
    dataset: str
    period: str
    decision: str
    reason: str
    started_by: str
    method: str = ""
    k: int = 0
    il: float | None = None
    il_ceiling: float = float("nan")
    dld: float | None = None
    dld_ceiling: float = float("nan")
    candidates_min: float | None = None
    muted: float | None = None
    muted_ceiling: float = float("nan")
    reviewer: str = ""
    review_reason: str = ""
    candidate: str = ""
    folder: str = ""
    checksums: dict[str, str] = field(default_factory=dict)
    input_sha256: str = ""
    report: str = ""
    status: str = NOT_PUBLIC
    spec_file: str = ""
    spec_sha256: str = ""
    changes: tuple[Change, ...] = ()

    @property
    def is_compared(self) -> bool:
        """Whether it was compared with other releases, which needs persons that can be followed."""
        return self.candidates_min is not None or self.muted is not None


def history(folder: Path, audit: Audit | None = None) -> list[Past]:
    """List the attempts of a register in order.

    Parameters
    ----------
    folder : Path
        The register; its chain must be intact.
    audit : Audit, optional
        The result of an audit, which shows the status of each release.
    """
    register = Register(folder)
    return [
        _past(register, attempt, entries, audit)
        for attempt, entries in register.chain().attempts.items()
    ]


def latest(pasts: Iterable[Past], dataset: str) -> list[Past]:
    """Keep one measured attempt for each period of a dataset, by period.

    It is the published one; if there is none, the last one.
    """
    measured: dict[str, Past] = {}
    for past in pasts:
        if past.dataset == dataset and past.il is not None:
            known = measured.get(past.period)
            if known is None or known.decision != PUBLISHED:
                measured[past.period] = past
    return sorted(measured.values(), key=by_period)


def by_period(past: Past) -> tuple[tuple[tuple[bool, int, str], ...], str]:
    """Sort attempts by period, and those of one period by their time; 9 comes before 10."""
    return in_order(past.period), past.attempt


def _past(register: Register, attempt: str, entries: Sequence[Entry], audit: Audit | None) -> Past:
    entry = entries[-1]
    if all(each.manifest_sha256 is None for each in entries):
        return _without_manifest(register, entry)
    manifest = register.manifest(attempt)
    review, public = manifest.review, manifest.public
    decision = entry.event if entry.event != APPROVED else PUBLISHED
    folder = str(public.folder) if public and decision == PUBLISHED else ""
    return Past(
        attempt=attempt,
        time=entry.time,
        dataset=manifest.release.name,
        period=manifest.release.edition,
        decision=decision,
        reason=manifest.reason or (CRASHED if decision == ABANDONED else ""),
        method=manifest.method,
        k=manifest.k,
        il=manifest.measures.get("il"),
        il_ceiling=manifest.ceiling("il"),
        dld=manifest.measures.get("dld"),
        dld_ceiling=manifest.ceiling("dld"),
        candidates_min=manifest.measures.get("candidates_min"),
        muted=manifest.measures.get("muted"),
        muted_ceiling=manifest.ceiling("muted"),
        started_by=manifest.started_by,
        reviewer=review.reviewer if review else "",
        review_reason=review.reason if review else "",
        candidate=review.candidate if review else "",
        folder=folder,
        checksums=public.checksums if public and folder else {},
        input_sha256=manifest.input.sha256 if manifest.input else "",
        report=str(register.attempts / attempt / REPORT),
        status=_status(folder, audit),
        spec_file=manifest.spec_file.name if manifest.spec_file else "",
        spec_sha256=manifest.spec_file.sha256 if manifest.spec_file else "",
        changes=manifest.changes,
    )


def _without_manifest(register: Register, entry: Entry) -> Past:
    """Describe an attempt that left nothing but its lines."""
    running = entry.event == STARTED and register.is_running(entry.attempt)
    if entry.event == FORGOTTEN:
        decision, reason = FORGOTTEN, f"the vault file of {entry.forgets} was removed"
    else:
        decision, reason = (RUNNING, "") if running else (ABANDONED, CRASHED)
    return Past(
        attempt=entry.attempt,
        time=entry.time,
        dataset=entry.dataset,
        period=entry.release.edition,
        decision=decision,
        reason=reason,
        started_by=entry.started_by or "",
    )


def _status(folder: str, audit: Audit | None) -> str:
    if not folder:
        return NOT_PUBLIC
    if audit is None:
        return "not checked"
    return VERIFIED if folder in audit.verified else ALTERED
