"""Registers that somebody wrote again, so that they are consistent in themselves."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from expectations.signatures import LINE, KeyLink, public_part, sign
from tasks.store import signed_head
from tasks.store.chain import NO_LINE, Entry
from tasks.store.disk import PRIVATE, opened
from tasks.store.register import Register
from tasks.store.signing import Signer
from tests.conftest import Request


def relink(
    request_of: Request,
    change: Callable[[dict[str, Any]], Any],
    key: Ed25519PrivateKey | None = None,
) -> None:
    """Write the chain again, so that it is consistent in itself; sign it with a key, or not."""
    register = Register(request_of.register)
    previous, lines = NO_LINE, []
    for entry in register.chain().entries:
        content = entry.model_dump(exclude_none=True, exclude={"signature"})
        content = {**content, "previous": previous}
        if entry.key is not None and key is not None:
            content["key"] = public_part(key).text
        elif entry.key is not None:
            continue
        change(content)
        forged = Entry.model_validate(content)
        if key is not None:
            forged = forged.model_copy(update={"signature": sign(key, LINE, forged.own_hash)})
        lines.append(forged.line)
        previous = hashlib.sha256(forged.line).hexdigest()
    register.lines.write_bytes(b"".join(line + b"\n" for line in lines))
    head = request_of.register / "register.head"
    head.unlink()
    if key is not None:
        forger = Signer(key, (KeyLink(key=public_part(key).text),))
        with opened(request_of.register, "", PRIVATE) as root:
            signed_head.write(root, Register(request_of.register).chain(), forger)


def rewrite_manifest(
    request_of: Request, attempt: str, change: Callable[[dict[str, Any]], Any]
) -> None:
    """Change a manifest, and write the chain again around it, signed with another key."""
    path = request_of.register / "attempts" / attempt / "manifest.json"
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()

    def point(line: dict[str, Any]) -> None:
        if line["attempt"] == attempt and "manifest_sha256" in line:
            line["manifest_sha256"] = sha256

    relink(request_of, point, Ed25519PrivateKey.generate())
