"""Lists of attempts as CSV and JSON, with their measures."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from algorithms.measures import MEASURES
from flows.desk.listing import Line

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - wide forms
"""Characters with which a spreadsheet takes text for a formula."""

CHUNK = 256 * 1024
"""Number of characters that are sent at a time."""

FACTS = (
    "register", "attempt", "time", "dataset", "period", "revision", "outcome", "started_by",
    "reviewer", "review_reason", "reason", "method", "k_in_spec", "records", "groups", "spec_file",
    "spec_sha256", "changes", "fault",
)  # fmt: skip


def row_of(line: Line) -> dict[str, Any]:
    """Describe an attempt; facts that it does not have are None."""
    attempt, past = line.attempt, line.past
    return {
        "register": str(attempt.shelf.register.folder),
        "attempt": attempt.name,
        "time": attempt.time,
        "dataset": attempt.dataset,
        "period": attempt.last.period,
        "revision": attempt.last.revision,
        "outcome": attempt.state,
        "started_by": (past.started_by if past else "") or attempt.starter,
        "reviewer": past.reviewer if past else None,
        "review_reason": past.review_reason if past else None,
        "reason": past.reason if past else None,
        "method": past.method if past else None,
        "k_in_spec": past.k if past and past.k else None,
        "records": past.records if past else None,
        "groups": past.groups if past else None,
        "spec_file": past.spec_file if past else None,
        "spec_sha256": past.spec_sha256 if past else None,
        "changes": "; ".join(map(str, past.changes)) if past else None,
        "fault": line.fault,
    }


def as_csv(lines: Sequence[Line]) -> Iterator[str]:
    """Write attempts as CSV; text that a spreadsheet would take for a formula is quoted."""
    names = {name for line in lines for name in line.measures}
    measures = [name for name in MEASURES if name in names]
    measures += sorted(names - set(measures))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([*FACTS, *measures])
    for line in lines:
        facts, finite = row_of(line), _finite(line.measures)
        writer.writerow([*(guarded(facts[name]) for name in FACTS), *map(finite.get, measures)])
        if text.tell() >= CHUNK:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def as_json(lines: Sequence[Line]) -> Iterator[str]:
    """Write attempts as JSON; a measure that is not a number is null."""
    yield '{"attempts": ['
    for number, line in enumerate(lines):
        content = {**row_of(line), "measures": _finite(line.measures)}
        yield (",\n" if number else "\n") + json.dumps(content, ensure_ascii=False)
    yield "\n]}\n"


def in_chunks(parts: Iterable[str]) -> Iterator[str]:
    """Join small parts, each of which would be sent on its own."""
    kept: list[str] = []
    size = 0
    for part in parts:
        kept.append(part)
        size += len(part)
        if size >= CHUNK:
            yield "".join(kept)
            kept, size = [], 0
    yield "".join(kept)


def guarded(cell: object) -> object:
    """Put an apostrophe before text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> guarded("=1+1"), guarded("a=b"), guarded(-1)
    ("'=1+1", 'a=b', -1)
    """
    if isinstance(cell, str) and cell.lstrip(" \ufeff").startswith(FORMULA):
        return f"'{cell}"
    return cell


def _finite(measures: Mapping[str, float]) -> dict[str, float | None]:
    """Replace measures that are not a number, which neither format can write."""
    return {name: value if math.isfinite(value) else None for name, value in measures.items()}
