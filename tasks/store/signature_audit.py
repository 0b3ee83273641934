"""Checks the signatures of a register, and says what they cannot show."""

from collections.abc import Iterator
from dataclasses import dataclass

from expectations.signatures import LINE, PublicKey, Trust, problem_with_succession
from tasks.store import signed_head
from tasks.store.chain import Chain, Entry
from tasks.store.disk import Folder

MOST_LINES = 5
"""The most lines that one fault lists."""


@dataclass(frozen=True)
class Signatures:
    """The signatures of a register.

    Attributes
    ----------
    faults : tuple of str
        What contradicts the signatures.
    unknown : tuple of str
        What they leave open.
    fingerprint : str
        The key that signed the last line; empty if no line is signed.
    """

    faults: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    fingerprint: str = ""


def check_signatures(root: Folder, chain: Chain, trust: Trust | None) -> Signatures:
    """Check every signed line, the succession of keys, and whether a trusted key is among them."""
    head = signed_head.problem(root, chain)
    signed = any(entry.signature is not None for entry in chain.entries)
    if not signed or not chain.keys:
        return _unsigned(chain, trust, head)
    try:
        keys = [PublicKey.of_text(link.key) for link in chain.keys]
    except ValueError:
        return Signatures(faults=("a key in register.jsonl cannot be read",))
    faults = (*_lines(chain), *([head] if head else []), *_succession(chain, keys, trust))
    return Signatures(faults, tuple(_unknown(chain, keys, trust)), keys[-1].fingerprint)


def _unsigned(chain: Chain, trust: Trust | None, head: str | None) -> Signatures:
    faults = () if head is None else (head,)
    if trust is not None:
        found = (
            "no line is signed: it was written again by someone else, or before 0.3"
            if chain.entries
            else "it has no line: all were removed, or no run has begun"
        )
        return Signatures((*faults, f"register.jsonl must be signed with key {trust}; {found}"))
    unknown = (
        "no line is signed: whether the whole register was written again, or lines were removed at "
        "its end, cannot be known"
    )
    return Signatures(faults, (unknown,) if chain.entries else ())


def _lines(chain: Chain) -> Iterator[str]:
    """Find lines that the key of their time has not signed."""
    unsigned, wrong = [], []
    for number, (entry, key) in enumerate(_signers(chain), start=1):
        if key is None:
            # before the first key; the line of that key covers it by its hash
            continue
        if entry.signature is None:
            unsigned.append(number)
        elif not key.has_signed(LINE, entry.own_hash, entry.signature):
            wrong.append(number)
    for numbers, fault in (
        (unsigned, "not signed"),
        (wrong, "not signed with the key of its time"),
    ):
        if numbers:
            more = f" and {len(numbers) - MOST_LINES} more" if len(numbers) > MOST_LINES else ""
            first = ", ".join(map(str, numbers[:MOST_LINES]))
            yield f"every line of register.jsonl must be signed; {fault}: line {first}{more}"


def _signers(chain: Chain) -> Iterator[tuple[Entry, PublicKey | None]]:
    """Give each line the key that must have signed it; none to lines before the first key.

    Lines about keys that follow each other were written at once, with the last of these keys.
    """
    key: PublicKey | None = None
    together: list[Entry] = []
    for entry in chain.entries:
        if entry.key is not None:
            together.append(entry)
            key = PublicKey.of_text(entry.key)
            continue
        yield from ((each, key) for each in together)
        together.clear()
        yield entry, key
    yield from ((each, key) for each in together)


def _succession(chain: Chain, keys: list[PublicKey], trust: Trust | None) -> Iterator[str]:
    """Check that a trusted key signed, and handed over to each key after it."""
    if trust is None:
        return
    trusted = [place for place, key in enumerate(keys) if key.fingerprint in trust.fingerprints]
    if not trusted:
        yield (
            f"register.jsonl must be signed with key {trust}; it is signed with "
            f"{keys[-1].fingerprint}: the whole register was written again by someone else"
        )
        return
    if problem := problem_with_succession(chain.keys[trusted[-1] :]):
        yield f"register.jsonl: {problem}, so what it signed cannot be trusted"


def _unknown(chain: Chain, keys: list[PublicKey], trust: Trust | None) -> Iterator[str]:
    if trust is None:
        yield (
            f"the lines are signed with {keys[-1].fingerprint}; without a key from the publisher "
            "(--key) it cannot be known whether someone else wrote and signed the whole register"
        )
        if problem := problem_with_succession(chain.keys):
            yield f"{problem}: the change of keys was entered without the old key"
