"""Keeps a register with every kind of attempt, and its public folders, in the format of today.

``python -m tests.golden.write FOLDER [WORD]`` writes them into a folder that must not be there,
whose name stays in the manifests for ever, and packs them beside this file, into
``format-N.tar.gz`` or ``format-N-WORD.tar.gz``. The key that signs them is packed too: it signs
nothing else.
"""

import os
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from algorithms.comparison import Comparison
from algorithms.errors import RejectedError
from expectations import manifest
from expectations.manifest import Record
from expectations.published import claims
from expectations.request.named import Changes, resolve_spec, spec_from_file
from expectations.review import Decision
from tasks.ingest import ingest
from tasks.profile import profile
from tasks.publish import begin, decide, publish, record_attempt, seal
from tasks.store import provenance
from tasks.store.home import HOME
from tasks.store.register import now
from tasks.validate import validate
from tests.conftest import Request
from tests.vaults import made

STRATA = {
    "strata": ["zone"],
    "quasi_identifiers": ["staff", "sales", "score"],
    "missing": {"score": "state"},
    "confidential": [],
}
LABELS = {
    "quasi_identifiers": ["zone", "staff", "sales"],
    "categories": ["zone"],
    "published": {"zone": "majority"},
    "confidential": ["score"],
}


def write(folder: Path) -> None:
    """Publish, repeat, block, fail, approve, reject, revise and seal."""
    folder.mkdir(parents=True)
    os.environ[HOME] = str(folder / "home")
    request_of = Request(folder)
    for _ in range(2):
        with attempt(request_of) as ready:
            publish.fn(*ready)
    with attempt(request_of) as (_, _, spec, record, shown, _):
        record_attempt(spec, record, "blocked", "IL is too large", shown)
    with attempt(request_of) as (_, _, spec, record, *_):
        parts = ("attempt", "release", "spec", "spec_file", "changes", "started_by", "started")
        early = Record.model_validate({part: getattr(record, part) for part in parts})
        record_attempt(spec, early, "failed", "the source is not there")
    for period, passed in (("2026-Q4", True), ("2027-Q1", False)):
        with attempt(request_of, release={"period": period}, columns=STRATA) as ready:
            sealed = seal.fn(*ready)
        with suppress(RejectedError):
            decide.fn(request_of.register, sealed.attempt, Decision(passed, "Bea", "looked at"))
    how = {"k": 2, "method": "best", "options": {"iterations": 50}}
    with attempt(request_of, release={"revision": 1}, microaggregation=how) as ready:
        publish.fn(*ready)
    last = {"release": {"period": "2027-Q3"}, "columns": LABELS}
    with attempt(request_of, Changes(il=99.0), **last) as ready:
        seal.fn(*ready)


@contextmanager
def attempt(
    request_of: Request, changes: Changes | None = None, **sections: Any
) -> Iterator[tuple[Any, ...]]:
    """Do everything that comes before publication, and tell of it as the release flow does."""
    columns = {"decimals": {"sales": 1}, **sections.pop("columns", {})}
    masked, approval, spec, record, _, recalled = made(request_of.load(columns=columns, **sections))
    with spec_from_file(request_of.path, changes) as named:
        settled = resolve_spec(named, datetime.now(UTC))
    source, _ = ingest.fn(spec)
    _, findings = validate.fn(source, spec)
    running = begin(spec, "Ana")
    record = record.adding(
        spec_file={"name": settled.file.name, "sha256": settled.file.sha256},
        changes=settled.changes,
        attempt=running.attempt,
        code=provenance.code(),
        environment=provenance.environment(),
        started=now(),
        ended=now(),
        gate=approval.verdicts.each,
        expectations=[asdict(finding) for finding in findings],
    )
    yield masked, approval, spec, record, profile.fn(Comparison(masked)), recalled
    running.close()


def pack(folder: Path, *words: str) -> None:
    """Put everything that was written into one archive, which nothing reformats."""
    name = "-".join(("format", str(max(manifest.FORMAT, claims.FORMAT)), *words))
    with tarfile.open(Path(__file__).with_name(f"{name}.tar.gz"), "x:gz") as archive:
        archive.add(folder, arcname=".", filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    write(Path(sys.argv[1]))
    pack(Path(sys.argv[1]), *sys.argv[2:])
