"""Re-verifies a register and every release in it, from the files alone."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from algorithms.errors import IntegrityError
from expectations.published import verify
from expectations.recomputed import recompute
from tasks.shelves import candidates
from tasks.shelves.disk import locked
from tasks.shelves.register import (
    APPROVED,
    PUBLISHED,
    Chain,
    Register,
    has_appeared,
    line_removed,
)


@dataclass
class Audit:
    """What was found.

    ``faults`` were done to the files afterwards; what is ``incomplete`` a crash left behind, and
    the next run puts it right; ``verified`` releases are what they were when they were published.
    Candidates in ``waiting`` have no decision yet. ``head`` is the hash of the last of the
    ``lines``.
    """

    lines: int = 0
    head: str = ""
    attempts: int = 0
    waiting: list[str] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    readable: bool = False
    """Whether the lines and manifests are whole, so that what they tell can be shown."""


def audit(folder: Path, public: Path | None = None, witness: str | None = None) -> Audit:
    """Check the hash chain, the manifests, the reports and every published folder.

    Parameters
    ----------
    folder : Path
        The register.
    public : Path, optional
        Where the public folder is now, if it was moved since.
    witness : str, optional
        Hash of a line that was the last one once, kept elsewhere: it must still be there, which
        tells of lines that were cut off at the end.

    Raises
    ------
    IntegrityError
        If there is no register to read.
    """
    register = Register(folder)
    if not register.begun:
        raise IntegrityError(f"{str(folder)!r} is not a register: it has no register.jsonl")
    with locked(folder, shared=True):
        return _audit(register, public, witness)


def _audit(register: Register, public: Path | None, witness: str | None) -> Audit:
    found = Audit()
    try:
        chain = register.chain()
    except IntegrityError as error:
        found.faults.append(str(error))
        return found
    found.lines, found.attempts, found.head = len(chain.entries), len(chain.attempts), chain.head
    if chain.torn:
        found.incomplete.append("the last line of register.jsonl was cut off while it was written")
    found.faults += register.problems_with_manifests(chain)
    if found.faults:
        return found
    found.readable = True
    if witness not in (None, chain.head, *(entry["previous"] for entry in chain.entries)):
        found.faults.append(
            f"no line of register.jsonl has the hash {witness}, which its last line had before: "
            "lines were removed at the end, or the whole register was written anew"
        )
    found.faults += register.problems_with_reports(chain)
    _check_unrecorded(register, chain, public, found)
    for entry in chain.unfinished:
        appeared = has_appeared(_moved(register.manifest(entry["attempt"]), public))
        found.incomplete.append(
            f"attempt {entry['attempt']} was interrupted while publishing; its folder is "
            + ("there and whole" if appeared else "not there")
        )
    _check_releases(register, chain, public, found)
    found.waiting = chain.waiting
    problems = (candidates.problem(register, attempt) for attempt in chain.waiting)
    found.faults += [problem for problem in problems if problem]
    return found


def _check_unrecorded(register: Register, chain: Chain, public: Path | None, found: Audit) -> None:
    for attempt in register.unrecorded(chain):
        manifest = _moved(register.manifest(attempt), public)
        if manifest["decision"] == APPROVED and has_appeared(manifest):
            found.faults.append(line_removed(attempt))
        else:
            found.incomplete.append(
                f"attempt {attempt} has a manifest and no line: it was interrupted before it was "
                "recorded, or its lines were removed"
            )


def _check_releases(register: Register, chain: Chain, public: Path | None, found: Audit) -> None:
    known: dict[Path, set[str]] = {}
    for attempt, entries in chain.attempts.items():
        manifest = _moved(register.manifest(attempt), public)
        if "public" not in manifest:
            continue
        folder = Path(manifest["public"]["folder"])
        known.setdefault(folder.parent, set())
        if entries[-1]["event"] in (PUBLISHED, "publishing"):
            known[folder.parent].add(folder.name)
        if entries[-1]["event"] == PUBLISHED:
            _check_release(folder, manifest, found)
    for parent, names in known.items():
        strangers = {path.name for path in parent.glob("*")} - names
        found.faults += [
            f"{str(parent / name)!r} is in the public folder and not in the register"
            for name in sorted(strangers)
        ]


def _check_release(folder: Path, manifest: dict[str, Any], found: Audit) -> None:
    try:
        verification = verify(folder)
        recompute(folder)
    except IntegrityError as error:
        found.faults.append(str(error))
        return
    promised = manifest["public"]["checksums"]
    altered = [name for name, sha256 in verification.checksums.items() if promised[name] != sha256]
    if altered:
        found.faults.append(
            f"{str(folder)!r} is not what was published: altered {', '.join(altered)}"
        )
    else:
        found.verified.append(str(folder))


def _moved(manifest: dict[str, Any], public: Path | None) -> dict[str, Any]:
    """Look for the public folder where it is now."""
    if public is None or "public" not in manifest:
        return manifest
    folder = public.joinpath(*Path(manifest["public"]["folder"]).parts[-2:])
    return {**manifest, "public": {**manifest["public"], "folder": str(folder)}}
