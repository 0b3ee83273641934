"""A register with many attempts, written without releasing anything."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from expectations.manifest import FORMAT
from expectations.signatures import LINE
from tasks.store import signed_head
from tasks.store.chain import (
    ABANDONED,
    BLOCKED,
    KEY,
    NO_LINE,
    PUBLISHED,
    PUBLISHING,
    REJECTED,
    SEALED,
    STARTED,
    Chain,
    Entry,
    read_chain,
    sha256,
)
from tasks.store.disk import PRIVATE, opened
from tasks.store.register import ATTEMPTS, LINES, MANIFEST, REPORT, WHAT
from tasks.store.signing import Signer, installation_key
from tests.desk.quarters import QUARTERS, Quarters

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
REPORT_PAGE = b"<!DOCTYPE html><title>Report</title><p>Nothing.</p>"


def large_register(folder: Path, attempts: int, periods: int, waiting: int = 0) -> Quarters:
    """Publish one quarter, and replace its register by a large one with the same figures."""
    quarters = Quarters(folder)
    quarters.write()
    path = quarters.register / ATTEMPTS / quarters.attempt(QUARTERS[0]) / MANIFEST
    manifest = json.loads(path.read_bytes())
    shutil.rmtree(quarters.register)
    write_register(quarters.register, manifest, attempts, periods, waiting)
    return quarters


def write_register(
    folder: Path, manifest: dict[str, Any], attempts: int, periods: int, waiting: int = 0
) -> Chain:
    """Write a signed register of many attempts, which all have the figures of one manifest.

    Of every four attempts one is killed, one is blocked, one is sealed and one decides on it: it is
    published if its period is not, and rejected otherwise. The last ones wait for a decision.

    Parameters
    ----------
    folder : Path
        The register; there must be no such folder.
    manifest : dict
        The manifest of a published release of the dataset ``small``.
    attempts, periods, waiting : int
        Numbers of attempts, of periods, and of candidates among the attempts.

    Returns
    -------
    Chain
        Its lines, as they are read.
    """
    (folder / ATTEMPTS).mkdir(parents=True, mode=0o700)
    signer = installation_key()
    lines: list[bytes] = []
    head = NO_LINE
    for parts in _events(folder / ATTEMPTS, manifest, attempts, periods, waiting, signer):
        lines.append(_line(signer, previous=head, revision=0, **parts))
        head = sha256(lines[-1])
    content = b"".join(line + b"\n" for line in lines)
    (folder / LINES).write_bytes(content)
    chain = read_chain(content)
    with opened(folder, WHAT, PRIVATE) as root:
        signed_head.write(root, chain, signer)
    return chain


def _events(
    folder: Path,
    manifest: dict[str, Any],
    attempts: int,
    periods: int,
    waiting: int,
    signer: Signer,
) -> Iterator[dict[str, Any]]:
    """Say what happened, line by line."""
    nothing = {"attempt": "", "dataset": "", "period": ""}
    yield {**nothing, "time": _time(0), "event": KEY, "key": signer.public.text}
    published: set[str] = set()
    candidate = ""
    for number in range(1, attempts + 1):
        period = f"wave-{number // 4 * 4 * periods // (attempts + 1) + 1:05d}"
        about = {"attempt": f"{number:06d}-small-{period}", "dataset": "small", "period": period}
        steps = _steps(number, number > attempts - waiting, period in published)
        decided = {} if steps[-1] not in (PUBLISHED, REJECTED) else {"candidate": candidate}
        if PUBLISHED in steps:
            published.add(period)
        written = None
        if steps != [ABANDONED]:
            review = {**decided, "approved": PUBLISHED in steps, "reviewer": "Bea"}
            own = {"review": review} if decided else {}
            written = _write_manifest(folder / about["attempt"], manifest | own, **about)
        started_by = f"Ana {number % 7}"
        yield {**about, "time": _time(number), "event": STARTED, "started_by": started_by}
        for step in steps:
            line = {**about, **decided, "time": _time(number), "event": step}
            yield {**line, "manifest_sha256": written}
        candidate = about["attempt"]


def _steps(number: int, waits: bool, is_done: bool) -> list[str]:
    """Say what an attempt does after its start."""
    if waits or number % 4 == 2:
        return [SEALED]
    if number % 4 == 3:
        return [REJECTED] if is_done else [PUBLISHING, PUBLISHED]
    return [BLOCKED] if number % 4 else [ABANDONED]


def _time(number: int) -> str:
    return (FIRST + timedelta(hours=number)).isoformat(timespec="seconds")


def _line(signer: Signer, **parts: Any) -> bytes:
    entry = Entry(**parts)
    signature = signer.sign(LINE, entry.own_hash)
    return entry.model_copy(update={"signature": signature}).line


def _write_manifest(
    folder: Path, manifest: dict[str, Any], attempt: str, dataset: str, period: str
) -> str:
    release = {**manifest["release"], "name": dataset, "period": period}
    own = {
        "format": FORMAT,
        "attempt": attempt,
        "release": release,
        "report_sha256": sha256(REPORT_PAGE),
    }
    content = json.dumps({**manifest, **own}).encode()
    folder.mkdir(mode=0o700)
    (folder / MANIFEST).write_bytes(content)
    (folder / REPORT).write_bytes(REPORT_PAGE)
    return sha256(content)
