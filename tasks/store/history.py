"""The attempts of a register, in figures that may be shown to all staff."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from expectations.gate import Verdict
from expectations.manifest import Manifest
from expectations.request.named import Change
from expectations.request.periods import in_order
from tasks.store.audit import Audit
from tasks.store.chain import (
    ABANDONED,
    APPROVED,
    FORGOTTEN,
    PUBLISHED,
    PUBLISHING,
    STARTED,
    UNCHANGED,
    Entry,
)
from tasks.store.register import REPORT, Register

MOST_PERIODS = 24
"""The most periods that a picture or an artefact shows."""

NO_LIMIT = float("nan")
"""Stands for the limit of a measure that has none."""

RUNNING = "running"
CRASHED = "a crash came first"
VERIFIED, ALTERED, NOT_PUBLIC = "verified", "altered", "not public"


@dataclass(frozen=True)
class Limited:
    """A measure of an attempt, and its limit.

    Attributes
    ----------
    value : float or None
        The measure; None if it does not apply.
    limit : float
        The most or the least that was tolerated; not a number if the measure had no limit.
    floor : bool
        Whether the limit is the least.
    """

    value: float | None
    limit: float
    floor: bool = False


@dataclass(frozen=True)
class Past:
    """One attempt of the past; a measure is None if it was not measured, or does not apply.

    ``period`` includes the revision, if there is one. ``k``, ``ceilings`` and ``floors`` are those
    of the spec that the run used; ``changes`` say where it differs from the reviewed one.
    """

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
    il_ceiling: float = NO_LIMIT
    dld: float | None = None
    dld_ceiling: float = NO_LIMIT
    candidates_min: float | None = None
    muted: float | None = None
    muted_ceiling: float = NO_LIMIT
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
    revision: int = 0
    measures: dict[str, float] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    ceilings: dict[str, float] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)
    records: int | None = None
    groups: int | None = None

    @property
    def is_compared(self) -> bool:
        """Whether it was compared with other releases, which needs persons that can be followed."""
        return self.candidates_min is not None or self.muted is not None

    @property
    def is_published(self) -> bool:
        """Whether its files are public, by this attempt or by an earlier one."""
        return self.decision in (PUBLISHED, UNCHANGED)

    @property
    def plain_period(self) -> str:
        """The period without the revision."""
        return self.period.removesuffix(f", revision {self.revision}")

    @property
    def gated(self) -> dict[str, Limited]:
        """Every measure that had a limit: IL, DLD and k first, then those of a series.

        IL, DLD and, for a series, the fewest candidates and the muted records are there even if
        they had no limit.
        """
        first = {
            "il": Limited(self.il, self.il_ceiling),
            "dld": Limited(self.dld, self.dld_ceiling),
        }
        if "k" in self.measures:
            first["k"] = Limited(self.measures["k"], float(self.k), floor=True)
        if self.is_compared:
            least = max(self.floors.get("candidates_min", 0.0), float(self.k))
            first["candidates_min"] = Limited(self.candidates_min, least, floor=True)
            first["muted"] = Limited(self.muted, self.muted_ceiling)
        judged = {
            verdict.measure: Limited(_known(verdict.value), verdict.limit, verdict.floor)
            for verdict in self.verdicts
        }
        return {name: judged.get(name, limited) for name, limited in first.items()} | {
            name: limited for name, limited in judged.items() if name not in first
        }


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
        past_of(register, entries, _manifest(register, entries), audit)
        for entries in register.chain().attempts.values()
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


def past_of(
    register: Register,
    entries: Sequence[Entry],
    manifest: Manifest | None,
    audit: Audit | None = None,
) -> Past:
    """Describe an attempt by its lines and its manifest; None if it left no manifest."""
    entry = entries[-1]
    if manifest is None:
        return _without_manifest(register, entries)
    review, public, gate = manifest.review, manifest.public, manifest.spec.get("gate") or {}
    decision = entry.event if entry.event != APPROVED else PUBLISHED
    folder = str(public.folder) if public and decision == PUBLISHED else ""
    measured = manifest.evaluation
    return Past(
        attempt=entry.attempt,
        time=entry.time,
        dataset=manifest.release.name,
        period=manifest.release.edition,
        decision=decision,
        reason=manifest.reason or (CRASHED if decision in (ABANDONED, PUBLISHING) else ""),
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
        report=str(register.attempts / entry.attempt / REPORT),
        status=_status(folder, audit),
        spec_file=manifest.spec_file.name if manifest.spec_file else "",
        spec_sha256=manifest.spec_file.sha256 if manifest.spec_file else "",
        changes=manifest.changes,
        revision=manifest.release.revision,
        measures=manifest.measures,
        verdicts=manifest.gate,
        ceilings=_limits(gate.get("ceilings")),
        floors=_limits(gate.get("floors")),
        records=measured.records if measured else None,
        groups=measured.groups if measured else None,
    )


def _manifest(register: Register, entries: Sequence[Entry]) -> Manifest | None:
    if all(entry.manifest_sha256 is None for entry in entries):
        return None
    return register.manifest(entries[-1].attempt)


def _without_manifest(register: Register, entries: Sequence[Entry]) -> Past:
    """Describe an attempt that left nothing but its lines."""
    entry = entries[-1]
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
        revision=entry.revision,
    )


def _limits(section: dict[str, float | None] | None) -> dict[str, float]:
    """Take the limits that are given from a section of a spec."""
    return {name: limit for name, limit in (section or {}).items() if limit is not None}


def _known(value: float) -> float | None:
    """Give a value; None if it is not a number."""
    return None if math.isnan(value) else value


def _status(folder: str, audit: Audit | None) -> str:
    if not folder:
        return NOT_PUBLIC
    if audit is None:
        return "not checked"
    return VERIFIED if folder in audit.verified else ALTERED
