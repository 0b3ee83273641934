"""Verifies a register and every release in it again, from the files alone."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from algorithms.errors import IntegrityError
from expectations.consistency import contradictions
from expectations.manifest import Manifest
from expectations.published.claims import agrees
from expectations.published.files import STATEMENT
from expectations.published.recomputed import recompute
from expectations.published.statement import check_trusted
from expectations.published.verifier import Verification, Watch, verify_content
from expectations.signatures import Trust
from tasks.listening import reporter
from tasks.store import candidates
from tasks.store.chain import APPROVED, PUBLISHED, PUBLISHING, Chain, Entry
from tasks.store.disk import Folder
from tasks.store.register import Register, has_appeared, line_removed, open_published, public_place
from tasks.store.reviews import review_faults
from tasks.store.signature_audit import check_signatures
from tasks.store.vault_audit import PublicCounts, public_counts, vault_faults


@dataclass
class Audit:
    """The result of an audit.

    ``faults`` were caused after the files were written; a crash left behind what is ``incomplete``,
    and the next run repairs it; ``verified`` releases are unchanged since they were published.
    Candidates in ``waiting`` have no decision yet. ``head`` is the hash of the last of the
    ``lines``.
    """

    lines: int = 0
    head: str = ""
    attempts: int = 0
    waiting: list[str] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    """Names in the folder of attempts that are not attempts; they do no harm."""
    faults: list[str] = field(default_factory=list)
    signed_with: str = ""
    """Fingerprint of the key that signed the last line; empty if it is not signed."""
    unknown: list[str] = field(default_factory=list)
    """What could not be known, and why."""
    readable: bool = False
    """Whether the lines and manifests are intact, so that their content can be shown."""


def audit(
    folder: Path,
    public: Path | None = None,
    witnesses: Collection[str] = (),
    watch: Watch | None = None,
    trust: Trust | None = None,
) -> Audit:
    """Check the hash chain, signatures, manifests, reports, published folders and the vault.

    Parameters
    ----------
    folder : Path
        The register.
    public : Path, optional
        The public folder, if it has been moved since.
    witnesses : collection of str, optional
        Hashes of lines that were once the last one, kept elsewhere. These lines must still be
        there: this reveals lines that were cut off at the end, and older copies of a register.
    watch : callable, optional
        Is told the share of attempts that are checked; by default the listener of this context.
    trust : Trust, optional
        The publisher's key; without it, a register that someone else wrote and signed as a whole
        cannot be told from a genuine one.

    Raises
    ------
    IntegrityError
        If the folder is not a register.
    """
    register = Register(folder)
    if not register.begun:
        raise IntegrityError(f"{str(folder)!r} is not a register: it has no register.jsonl")
    with register.read_only() as root:
        return _audit(register, root, public, witnesses, watch or reporter(), trust)


def _audit(
    register: Register,
    root: Folder,
    public: Path | None,
    witnesses: Collection[str],
    watch: Watch,
    trust: Trust | None,
) -> Audit:
    result = Audit(strangers=register.strangers())
    try:
        chain = register.chain()
    except IntegrityError as error:
        result.faults.append(str(error))
        return result
    result.lines, result.attempts, result.head = len(chain.entries), len(chain.attempts), chain.head
    if chain.torn:
        result.incomplete.append("the last line of register.jsonl was cut off while it was written")
    signatures = check_signatures(root, chain, trust)
    result.signed_with = signatures.fingerprint
    result.unknown += signatures.unknown
    result.faults += signatures.faults
    if trust is not None and not signatures.faults:
        trust = trust.with_keys(chain.keys)
    result.faults += register.problems_with_manifests(chain)
    if result.faults:
        return result
    result.readable = True
    hashes = {chain.head, *(entry.previous for entry in chain.entries)}
    result.faults += [
        f"no line of register.jsonl has the hash {witness}, which its last line had before: "
        "lines were removed at the end, or the whole register was written again"
        for witness in sorted({*witnesses} - hashes)
    ]
    result.faults += register.problems_with_reports(chain)
    _check_unrecorded(register, chain, public, result)
    for entry in chain.unfinished:
        result.incomplete += _interrupted(register, entry, public)
    verified = _check_releases(register, chain, public, result, watch, trust)
    result.faults += vault_faults(register, root, verified)
    result.incomplete += [
        f"vault file {population}/{name} belongs to no release: it was left by a crash"
        for population, name in register.leftovers(root)
    ]
    result.waiting = chain.waiting
    problems = (candidates.problem(register, root, attempt) for attempt in chain.waiting)
    result.faults += [problem for problem in problems if problem]
    return result


def _interrupted(register: Register, entry: Entry, public: Path | None) -> list[str]:
    """Say how far an attempt without an outcome came; say nothing of a running one."""
    attempt = entry.attempt
    if entry.event == PUBLISHING:
        appeared = has_appeared(register.manifest(attempt), public)
        place = "there and whole" if appeared else "not there"
        return [f"attempt {attempt} was interrupted while publishing; its folder is {place}"]
    if register.is_running(attempt) or attempt in register.unrecorded(register.chain()):
        return []
    return [f"attempt {attempt} was started and did not end: its process was killed"]


def _check_unrecorded(register: Register, chain: Chain, public: Path | None, result: Audit) -> None:
    for attempt in register.unrecorded(chain):
        try:
            manifest = register.manifest(attempt)
        except IntegrityError as error:
            result.faults.append(str(error))
            continue
        if manifest.decision == APPROVED and has_appeared(manifest, public):
            result.faults.append(line_removed(attempt))
        else:
            result.incomplete.append(
                f"attempt {attempt} has a manifest but no line: it was interrupted before it was "
                "recorded, or its lines were removed"
            )


def _check_releases(
    register: Register,
    chain: Chain,
    public: Path | None,
    result: Audit,
    watch: Watch,
    trust: Trust | None,
) -> dict[str, PublicCounts]:
    """Check every public folder, and count the records of releases that have a vault file."""
    known: dict[Path, set[str]] = {}
    published = [register.manifest(entry.attempt) for entry in chain.published]
    last = {public_place(each, public): each.attempt for each in published if each.public}
    intact: dict[str, PublicCounts] = {}
    for done, (attempt, entries) in enumerate(chain.attempts.items()):
        watch(done / len(chain.attempts))
        if attempt not in chain.recorded:
            continue
        manifest = register.manifest(attempt)
        result.faults += [
            f"the manifest of attempt {attempt} contradicts itself: {fault}"
            for fault in contradictions(manifest, entries[-1].event)
        ]
        if manifest.review is not None:
            result.faults += review_faults(register, chain, manifest)
        if manifest.public is None:
            continue
        folder = public_place(manifest, public)
        known.setdefault(folder.parent, set())
        if entries[-1].event in (PUBLISHED, PUBLISHING):
            known[folder.parent].add(folder.name)
        if entries[-1].event == PUBLISHED:
            is_last = last[folder] == attempt
            verified = _check_release(register, folder, manifest, result, trust, is_last=is_last)
            # not the verification: it holds files open
            if verified is not None and manifest.vault is not None:
                intact[attempt] = public_counts(verified)
    for parent, names in known.items():
        strangers = {path.name for path in parent.glob("*")} - names
        result.faults += [
            f"{str(parent / name)!r} is in the public folder but not in the register"
            for name in sorted(strangers)
        ]
    _check_other_datasets(known, result, trust)
    return intact


def _check_other_datasets(
    known: Mapping[Path, set[str]], result: Audit, trust: Trust | None
) -> None:
    """Check the datasets in the public folder that this register knows nothing of.

    Another register may have published them; the key tells whether the same publisher did.
    """
    for root in sorted({dataset.parent for dataset in known}):
        others = sorted(path for path in root.glob("*") if path not in known)
        if trust is None and others:
            names = ", ".join(path.name for path in others)
            result.unknown.append(
                f"{names} in {str(root)!r} is not in this register: whether it is the publisher's, "
                "or was added by someone else, cannot be known without a key (--key)"
            )
        if trust is not None:
            for dataset in others:
                result.faults += _foreign(dataset, trust)


def _foreign(dataset: Path, trust: Trust) -> list[str]:
    """Find the releases of a dataset that a trusted key did not sign."""
    if dataset.is_symlink() or not dataset.is_dir():
        return [f"{str(dataset)!r} is in the public folder but not in the register"]
    faults = []
    for folder in sorted(dataset.glob("*")):
        try:
            verified = verify_content(open_published(folder), str(folder))
            check_trusted(verified.statement, trust, str(folder))
        except IntegrityError as error:
            faults.append(f"{error}; it is in the public folder but not in the register")
    return faults


def _check_release(
    register: Register,
    folder: Path,
    manifest: Manifest,
    result: Audit,
    trust: Trust | None,
    *,
    is_last: bool,
) -> Verification | None:
    """Check a public folder against one of the attempts that published it."""
    try:
        verified = verify_content(open_published(folder), str(folder))
        recompute(verified)
        # a release from before 0.3 is covered by the signed lines after it
        if trust is not None and verified.statement is not None:
            check_trusted(verified.statement, trust, str(folder))
    except IntegrityError as error:
        result.faults.append(str(error))
        return None
    faults = [
        *_altered(manifest, verified, is_last=is_last),
        *_not_as_judged(manifest, verified),
        *_not_as_sealed(register, manifest),
    ]
    if faults:
        result.faults.append(f"{str(folder)!r} is not what was published: {'; '.join(faults)}")
        return None
    result.verified.append(str(folder))
    return verified


def _altered(manifest: Manifest, verified: Verification, *, is_last: bool) -> list[str]:
    """Compare the files with those that were announced.

    A folder that was lost and published again is signed again: with another key, or after another
    review.
    """
    assert manifest.public is not None
    promised, found = manifest.public.checksums, verified.checksums
    if not is_last:
        promised, found = _without_statement(promised), _without_statement(found)
    names = sorted(
        name for name in promised.keys() | found.keys() if promised.get(name) != found.get(name)
    )
    return [f"altered or removed {', '.join(names)}"] if names else []


def _not_as_judged(manifest: Manifest, verified: Verification) -> list[str]:
    """Compare the claims of the files with the figures that the gate judged."""
    claims, measured = verified.claims, manifest.measures
    faults = []
    if manifest.spec and claims.k != manifest.k:
        faults.append(f"it claims k = {claims.k}, but k = {manifest.k} was approved")
    figures = {
        **claims.measures,
        "il": claims.il_percent,
        "dld": claims.dld_percent,
    }
    differing = [
        name for name in figures if name in measured and not agrees(figures[name], measured[name])
    ]
    if differing:
        faults.append(f"its claims differ from what was judged: {', '.join(differing)}")
    return faults


def _not_as_sealed(register: Register, manifest: Manifest) -> list[str]:
    """Compare what was announced with the candidate that a reviewer approved."""
    if manifest.review is None:
        return []
    sealed = register.manifest(manifest.review.candidate).public
    # it is signed only when it has been approved
    if (
        sealed is None
        or manifest.public is None
        or sealed.checksums != _without_statement(manifest.public.checksums)
    ):
        return [f"it is not candidate {manifest.review.candidate}, which was approved"]
    return []


def _without_statement(checksums: Mapping[str, str]) -> dict[str, str]:
    return {name: sha256 for name, sha256 in checksums.items() if name != STATEMENT}
