"""The last audits of an installation, for people who look later, and for later audits.

They are kept away from the registers: someone who can write to a register cannot make the
installation forget how many lines it had, or that they were signed.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from algorithms.errors import IntegrityError
from expectations.published.verifier import Watch
from expectations.signatures import Trust
from tasks.store.audit import Audit, audit
from tasks.store.disk import PRIVATE, opened
from tasks.store.home import WHAT, default_home
from tasks.store.register import Register, now
from tasks.store.signing import installation_key

FILE = "audits.jsonl"
KEPT = 50
"""The most audits of a register that are kept."""


@dataclass(frozen=True)
class Audited:
    """The result of one audit of one register."""

    time: str
    started_by: str
    register: str
    lines: int
    attempts: int
    verified: int
    head: str
    signed_with: str
    faults: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def own_audit(register: Path, witness: str | None = None, watch: Watch | None = None) -> Audit:
    """Audit a register against the keys of this installation, and what earlier audits saw.

    Parameters
    ----------
    register : Path
        The register folder.
    witness : str, optional
        Hash of a line that was once the last one, kept elsewhere.
    watch : callable, optional
        Is told the share of attempts that are checked.

    Raises
    ------
    ReleaseError
        If it is not a register.
    """
    earlier = [each for each in last_audits() if each.register == str(register)]
    intact = next((each.head for each in earlier if not each.faults), None)
    witnesses = [head for head in (witness, intact) if head is not None]
    was_signed = any(each.signed_with for each in earlier)
    trust = _own_trust() if was_signed or _is_signed(register) else None
    return audit(register, witnesses=witnesses, watch=watch, trust=trust)


def _own_trust() -> Trust:
    return Trust.of_keys(installation_key().history)


def _is_signed(register: Path) -> bool:
    """Return whether a register has keys; one of before 0.3 that was not continued has none."""
    try:
        return bool(Register(register).chain().keys)
    except (IntegrityError, OSError):
        return True


def keep(register: Path, audit: Audit, started_by: str) -> None:
    """Keep the result of an audit; of each register, the last ones and the last intact one stay."""
    audited = Audited(
        time=now(),
        started_by=started_by,
        register=str(register),
        lines=audit.lines,
        attempts=audit.attempts,
        verified=len(audit.verified),
        head=audit.head,
        signed_with=audit.signed_with,
        faults=list(audit.faults),
        incomplete=list(audit.incomplete),
        unknown=list(audit.unknown),
    )
    with opened(default_home(), WHAT, PRIVATE) as home, home.locked():
        kept = [*_kept([audited, *last_audits()])]
        lines = [json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in reversed(kept)]
        home.replace(FILE, "".join(lines).encode())


def _kept(audits: Sequence[Audited]) -> Iterator[Audited]:
    """Leave older audits out; the newest come first."""
    seen: dict[str, int] = {}
    intact: set[str] = set()
    for each in audits:
        is_last_intact = not each.faults and each.register not in intact
        if is_last_intact:
            intact.add(each.register)
        seen[each.register] = seen.get(each.register, 0) + 1
        if seen[each.register] <= KEPT or is_last_intact:
            yield each


def last_audits() -> list[Audited]:
    """List the audits that are kept, the newest first."""
    return [*_read(reversed(_lines(default_home() / FILE)))]


def _read(lines: Iterable[str]) -> Iterator[Audited]:
    for line in lines:
        try:
            yield Audited(**json.loads(line))
        except (ValueError, TypeError):
            continue


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
