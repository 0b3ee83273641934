"""Commands that check published files and registers: verify, audit, register."""

from pathlib import Path
from typing import TYPE_CHECKING

from algorithms.errors import IntegrityError
from flows.cli import display, documents
from flows.cli.command import JSON, argument, command

if TYPE_CHECKING:
    from expectations.signatures import Trust


KEY_OPTION = argument(
    "--key",
    metavar="KEY",
    help="the publisher's public key: a PEM file, or its fingerprint (SHA256:...); then every "
    "figure and file must be signed with it",
)


@command(
    argument("folder", type=Path, metavar="DIR", help="folder of one published release"),
    KEY_OPTION,
)
def verify(folder: Path, key: str | None) -> int:
    """Verify a published folder from its own files.

    Recompute the checksums, compare the CSV file with the Parquet file and count the rows of every
    combination of values in all columns but the confidential ones, with code that shares nothing
    with the methods. Then recompute every measure that does not need the original data. With --key,
    check that the publisher signed these files and figures: IL and DLD need the original data, so
    that nothing but the signature vouches for them.
    """
    from expectations.published.recomputed import recompute
    from expectations.published.statement import check_trusted
    from expectations.published.verifier import verify

    trust = _trust(key)
    with display.working("verifying") as watch:
        verification = verify(folder.resolve(), watch)
        measures = recompute(verification)
    if trust is not None:
        check_trusted(verification.statement, trust, str(folder))
    display.say(
        f"{folder}: intact; {verification.rows} rows, {len(verification.columns)} columns; every "
        f"combination of {verification.claims.known_in_words} occurs in at least "
        f"{verification.k_found} rows (the release promises k = {verification.k_claimed})"
    )
    for limit in verification.claims.limits_in_words:
        display.say(f"  not verified  {limit}")
    display.recomputed(measures)
    display.signed(verification.statement, trust)
    return 0


def _trust(key: str | None) -> "Trust | None":
    from expectations.signatures import Trust

    return None if key is None else Trust.read(key)


@command(
    argument("register", type=Path, metavar="REGISTER", help="folder of the internal register"),
    argument(
        "--public",
        type=Path,
        metavar="DIR",
        help="current location of the public folder, if it was moved",
    ),
    argument(
        "--head",
        metavar="HASH",
        help="hash of a line that was once the last, kept elsewhere; shows whether lines were "
        "removed from the end",
    ),
    KEY_OPTION,
)
def audit(register: Path, public: Path | None, head: str | None, key: str | None) -> int:
    """Check the hash chain of a register and every release in it.

    Follow the hash chain of register.jsonl, check its signatures, compare every manifest with its
    line and verify every published folder against its manifest. With --key, everything must be
    signed with the key of the publisher; without it, the audit says what it cannot know.
    """
    from tasks.store.audit import audit as audit_register

    with display.working("auditing") as watch:
        audited = audit_register(register, public, [head] if head else (), watch, _trust(key))
    display.audit(audited)
    if audited.faults:
        raise IntegrityError("\n".join(audited.faults))
    return 0


@command(
    argument(
        "registers",
        type=Path,
        nargs="+",
        metavar="REGISTER",
        help="folder of an internal register",
    ),
    argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="where to write the page (default: index.html in the first register)",
    ),
    JSON,
)
def register(registers: list[Path], page: Path | None, as_json: bool) -> int:
    """Show all releases and attempts, as a page and as a table.

    Audit the registers and write one page with every release and every blocked attempt: a timeline
    of IL, DLD and, for a series, of candidates and muted records, decisions, reviewers, checksums
    and links to the reports.
    """
    from dataclasses import asdict

    from tasks.reporting.register_page import register_page
    from tasks.store.audit import audit as audit_register
    from tasks.store.history import history, latest

    audits = {}
    for folder in dict.fromkeys(path.absolute() for path in registers):
        audited = audit_register(folder)
        audits[folder] = audited, history(folder, audited) if audited.readable else []
    page = (page or next(iter(audits)) / "index.html").absolute()
    page.write_text(register_page(audits), encoding="utf-8")
    faults = [fault for audited, _ in audits.values() for fault in audited.faults]
    if as_json:
        content = {
            str(folder): {**asdict(audited), "history": [asdict(past) for past in pasts]}
            for folder, (audited, pasts) in audits.items()
        }
        documents.write(content)
        return IntegrityError.exit_code if faults else 0
    everything = [past for _, pasts in audits.values() for past in pasts]
    display.history(everything)
    for dataset in sorted({past.dataset for past in everything if past.is_compared}):
        display.timeline(dataset, latest(everything, dataset))
    display.say(f"  page  {page}")
    if faults:
        raise IntegrityError("\n".join(faults))
    return 0
