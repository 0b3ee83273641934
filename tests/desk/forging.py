"""Attempts that no run has made, entered by somebody who can write to the register and its key."""

import json
from pathlib import Path
from typing import Any

from expectations.signatures import LINE
from tasks.store import signed_head
from tasks.store.chain import PUBLISHED, Entry, sha256
from tasks.store.register import MANIFEST, REPORT, Register
from tasks.store.signing import installation_key
from tests.desk.quarters import Quarters

PATTERN = "000007-small-2026-Q1"
"""The published attempt that forgeries resemble."""
FORGED = "000010-small-2026-Q3"


def manifest_of(quarters: Quarters, period: str = "2026-Q3") -> dict[str, Any]:
    """Read the manifest of the pattern, and change its period."""
    content: dict[str, Any] = json.loads(_folder(quarters, PATTERN, MANIFEST).read_bytes())
    return content | {"release": {**content["release"], "period": period}}


def forge(
    quarters: Quarters,
    manifest: dict[str, Any] | bytes,
    report: bytes = b"<p>forged</p>",
    event: str = PUBLISHED,
    **parts: Any,
) -> str:
    """Enter an attempt with any manifest and report; give its name."""
    if isinstance(manifest, dict):
        own = {"attempt": FORGED, "report_sha256": sha256(report)}
        manifest = json.dumps(manifest | own).encode()
    facts = {
        "time": "2026-12-01T00:00:00+00:00",
        "event": event,
        "attempt": FORGED,
        "manifest_sha256": sha256(manifest),
        "dataset": "small",
        "period": "2026-Q3",
        "revision": 0,
    }
    register, signer = Register(quarters.register), installation_key()
    with register.opened() as root:
        _folder(quarters, FORGED, "").mkdir()
        _folder(quarters, FORGED, REPORT).write_bytes(report)
        _folder(quarters, FORGED, MANIFEST).write_bytes(manifest)
        entry = Entry(previous=register.chain().head, **(facts | parts))
        signature = signer.sign(LINE, entry.own_hash)
        signed = entry.model_copy(update={"signature": signature})
        root.append("register.jsonl", signed.line + b"\n")
        signed_head.write(root, register.chain(), signer)
    return FORGED


def _folder(quarters: Quarters, attempt: str, name: str) -> Path:
    return quarters.register / "attempts" / attempt / name
