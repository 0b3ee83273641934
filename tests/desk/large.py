"""A register with many attempts, written without releasing anything."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from expectations.manifest import FORMAT
from tasks.store.chain import BLOCKED, NO_LINE, PUBLISHED, PUBLISHING, STARTED, Entry
from tasks.store.register import ATTEMPTS, LINES, MANIFEST, REPORT, _line, _sha256

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
REPORT_PAGE = b"<!DOCTYPE html><title>Report</title><p>Nothing.</p>"


def write_register(folder: Path, manifest: dict[str, Any], attempts: int, periods: int) -> None:
    """Write a register of many attempts, which all have the figures of one manifest.

    Of every three attempts one is published, if its period is not, one blocked and one killed.
    """
    (folder / ATTEMPTS).mkdir(parents=True, mode=0o700)
    lines: list[bytes] = []
    head, published = NO_LINE, set()
    for number in range(1, attempts + 1):
        period = f"wave-{number * periods // (attempts + 1) + 1:05d}"
        name = f"{number:06d}-small-{period}"
        events = [STARTED]
        if number % 3 == 1 and period not in published:
            published.add(period)
            events += [PUBLISHING, PUBLISHED]
        elif number % 3:
            events += [BLOCKED]
        sha256 = None
        if len(events) > 1:
            sha256 = _write_manifest(folder / ATTEMPTS / name, manifest, name, period)
        for event in events:
            entry = Entry(
                previous=head,
                time=(FIRST + timedelta(hours=number)).isoformat(timespec="seconds"),
                event=event,
                attempt=name,
                manifest_sha256=None if event == STARTED else sha256,
                dataset="small",
                period=period,
                revision=0,
                started_by="Ana" if event == STARTED else None,
            )
            lines.append(_line(entry))
            head = _sha256(lines[-1])
    (folder / LINES).write_bytes(b"\n".join(lines) + b"\n")


def _write_manifest(folder: Path, manifest: dict[str, Any], name: str, period: str) -> str:
    release = {**manifest["release"], "period": period}
    own = {"format": FORMAT, "attempt": name, "release": release, "report_sha256": _REPORT_SHA256}
    content = json.dumps({**manifest, **own}).encode()
    folder.mkdir(mode=0o700)
    (folder / MANIFEST).write_bytes(content)
    (folder / REPORT).write_bytes(REPORT_PAGE)
    return _sha256(content)


_REPORT_SHA256 = _sha256(REPORT_PAGE)
