"""The last audits of an installation, for people who look later."""

import json
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tasks.store.audit import Audit
from tasks.store.disk import make_folder
from tasks.store.home import default_home
from tasks.store.register import now

FILE = "audits.jsonl"
KEPT = 200
"""The most audits that are kept."""


@dataclass(frozen=True)
class Audited:
    """The result of one audit of one register."""

    time: str
    started_by: str
    register: str
    lines: int
    attempts: int
    verified: int
    signed_with: str
    faults: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def keep(register: Path, audit: Audit, started_by: str) -> Audited:
    """Keep the result of an audit; older ones than the last `KEPT` are dropped."""
    audited = Audited(
        time=now(),
        started_by=started_by,
        register=str(register),
        lines=audit.lines,
        attempts=audit.attempts,
        verified=len(audit.verified),
        signed_with=audit.signed_with,
        faults=list(audit.faults),
        incomplete=list(audit.incomplete),
        unknown=list(audit.unknown),
    )
    make_folder(default_home(), "the home of the installation")
    path = default_home() / FILE
    lines = [*_lines(path), json.dumps(asdict(audited), ensure_ascii=False)]
    partial = path.with_name(f".{FILE}.partial")
    partial.write_text("".join(f"{line}\n" for line in lines[-KEPT:]), encoding="utf-8")
    partial.chmod(0o600)
    partial.replace(path)
    return audited


def last_audits() -> list[Audited]:
    """List the audits that are kept, the newest first."""
    kept: deque[Audited] = deque()
    for line in _lines(default_home() / FILE):
        try:
            kept.appendleft(Audited(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return list(kept)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
