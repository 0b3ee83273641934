"""The signed head of a register: how many lines it has, and the hash of the last one.

It is replaced with each line. Whoever removes lines at the end must bring an earlier head back,
and can do so only with a copy of the folder from that time.
"""

import json

from pydantic import BaseModel, ConfigDict

from expectations.signatures import HEAD, PublicKey, canonical
from tasks.store.chain import Chain
from tasks.store.disk import Folder
from tasks.store.signing import Signer

FILE = "register.head"


class Head(BaseModel):
    """The end of a register at one time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lines: int
    head: str
    key: str
    signature: str = ""

    @property
    def message(self) -> str:
        """The text that is signed."""
        return canonical({"lines": self.lines, "head": self.head})


def write(root: Folder, chain: Chain, signer: Signer) -> None:
    """Sign the end of a register."""
    head = Head(lines=len(chain.entries), head=chain.head, key=signer.public.text)
    head = head.model_copy(update={"signature": signer.sign(HEAD, head.message)})
    root.replace(FILE, json.dumps(head.model_dump(), indent=2).encode() + b"\n")


def problem(root: Folder, chain: Chain) -> str | None:
    """Describe how the lines contradict the signed head; None if they agree.

    A crash can leave the head a few lines behind, never ahead. A register of before 0.3 has none.
    """
    signed = any(entry.signature for entry in chain.entries)
    content = root.read(FILE)
    if content is None:
        missing = f"{FILE} is missing, which would show whether lines were removed at the end"
        return missing if signed else None
    try:
        head = Head.model_validate_json(content)
        key = PublicKey.of_text(head.key)
    except ValueError:
        return f"{FILE} was altered"
    if not key.has_signed(HEAD, head.message, head.signature):
        return f"{FILE} was altered"
    if head.lines > len(chain.entries):
        return (
            f"register.jsonl must have at least {head.lines} lines, as {FILE} says; it has "
            f"{len(chain.entries)}: lines were removed at the end"
        )
    heads = [*(entry.previous for entry in chain.entries), chain.head]
    if heads[head.lines] != head.head:
        return f"line {head.lines} of register.jsonl is not the one that {FILE} signs"
    if signed and head.key not in {link.key for link in chain.keys}:
        return f"{FILE} is signed with a key that no line names"
    return None
