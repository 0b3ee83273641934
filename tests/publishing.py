"""Releases, in whole or up to their publication, for tests of what comes after."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State

from algorithms.masked import Masked
from expectations.gate import Approval, Verdicts
from expectations.manifest import Record
from expectations.request.named import Changes, spec_from_file
from expectations.request.spec import ReleaseSpec
from expectations.review import Decision
from tasks.ingest import ingest
from tasks.judge import judge
from tasks.pipeline import mask_and_measure, plainly
from tasks.publish import decide, publish, seal
from tasks.store.register import Register
from tasks.validate import validate
from tests.conftest import Request

Candidate = tuple[Masked, Approval, ReleaseSpec, Record]


def candidate(request_of: Request, **sections: Any) -> Candidate:
    """Do everything that comes before publication."""
    return approved(request_of.load(**sections))


def approved(spec: ReleaseSpec) -> Candidate:
    """Take the table of a spec through all stages up to its approval."""
    source, _ = ingest.fn(spec)
    table, _ = validate.fn(source, spec)
    files, evaluation = mask_and_measure(table, spec, plainly)
    masked = files.masked
    verdicts = Verdicts(
        evaluation, spec.gate, spec.microaggregation.k, spec.columns, series=spec.series
    )
    approval = judge.fn(masked, verdicts, spec).approval
    return masked, approval, spec, Record.of(spec, started_by="Ana")


def run_release(path: Path, changes: Changes | None = None, **options: Any) -> State[Any]:
    """Run the release flow on a spec file, as the command line does."""
    from flows.release import release

    with spec_from_file(path, changes) as named:
        return release(named, return_state=True, **options)


def events(request_of: Request) -> list[str]:
    """List the steps of all attempts; lines about keys and reviewers are none."""
    entries = Register(request_of.register).chain().entries
    return [entry.event for entry in entries if entry.is_step]


def folder_of(request_of: Request) -> Path:
    return request_of.public / "small" / "2026-Q3"


def publish_all(request_of: Request, **sections: Any) -> Path:
    """Publish a spec without Prefect, through a review if it asks for one."""
    resolved = request_of.load(**sections).at(datetime(2026, 11, 17, tzinfo=UTC))
    masked, approval, spec, record = approved(resolved)
    if spec.gate.review is None:
        return publish.fn(masked, approval, spec, record).folder
    sealed = seal.fn(masked, approval, spec, record)
    decision = Decision(True, "Bea", "looked at")
    return decide.fn(spec.publication.register_folder, sealed.attempt, decision).folder


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a description, and remove the signature, which only the publisher can renew."""
    (folder / "statement.json").unlink(missing_ok=True)
    path = folder / "datapackage.json"
    package = json.loads(path.read_bytes())
    change(package)
    path.write_text(json.dumps(package), encoding="utf-8")
