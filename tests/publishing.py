"""Releases, in whole or up to their publication, for tests of what comes after."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import State

from algorithms.table import Table
from expectations.gate import Approval
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

Candidate = tuple[Table, Approval, ReleaseSpec, dict[str, Any]]


def candidate(request_of: Request, **sections: Any) -> Candidate:
    """Do everything that comes before publication."""
    spec = request_of.load(**sections).at(datetime(2026, 11, 17, tzinfo=UTC))
    source, _ = ingest.fn(spec)
    table, _ = validate.fn(source, spec)
    masked, measured = mask_and_measure(table, spec, plainly)
    approval = judge.fn(masked, measured, spec).approval
    content = spec.model_dump(mode="json")
    record = {"release": content["release"], "spec": content, "started_by": "Ana"}
    return masked.published, approval, spec, record


def run_release(path: Path, changes: Changes | None = None, **options: Any) -> State[None]:
    """Run the release flow on a spec file, as the command line does."""
    from flows.release import release

    with spec_from_file(path, changes) as named:
        return release(named, return_state=True, **options)


def events(request_of: Request) -> list[str]:
    return [entry["event"] for entry in Register(request_of.register).chain().entries]


def folder_of(request_of: Request) -> Path:
    return request_of.public / "small" / "2026-Q3"


def publish_all(request_of: Request, **sections: Any) -> Path:
    """Publish a spec without Prefect, through a review if it asks for one."""
    masked, approval, spec, record = candidate(request_of, **sections)
    if spec.gate.review is None:
        return publish.fn(masked, approval, spec, record).folder
    held = seal.fn(masked, approval, spec, record)
    decision = Decision(True, "Bea", "looked at")
    return decide.fn(spec.publication.register_folder, held.attempt, decision).folder
