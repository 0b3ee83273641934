"""Candidates that an earlier version sealed."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    ArtifactFilterKey,
)
from pydantic import ValidationError

from expectations.request.spec import ReleaseSpec
from flows.approve import approve
from flows.outcome import Published, outcome_of
from tasks.store.audit import audit
from tasks.store.register import LINES, Register

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

ARCHIVE = Path(__file__).parents[1] / "golden" / "format-1.tar.gz"
CANDIDATE = "000010-small-2027-Q3"


def line_of(entry: dict[str, str]) -> bytes:
    own = hashlib.sha256(json.dumps(entry).encode()).hexdigest()
    return json.dumps({**entry, "hash": own}).encode()


def unpack(folder: Path) -> None:
    """Unpack the archive as if version 0.1.0 had written it here, with a key of its own."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    digests = {}
    for path in folder.glob("register/attempts/*/manifest.json"):
        text = path.read_text(encoding="utf-8").replace("/srv/statistics", str(folder))
        path.write_text(text.replace('"recut"', '"key_of_that_version"'), encoding="utf-8")
        digests[path.parent.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    lines = folder / "register" / LINES
    previous, written = "0" * 64, b""
    for line in lines.read_bytes().splitlines():
        entry = {**json.loads(line), "previous": previous}
        del entry["hash"]
        if "manifest_sha256" in entry:
            entry["manifest_sha256"] = digests[entry["attempt"]]
        previous = hashlib.sha256(line_of(entry)).hexdigest()
        written += line_of(entry) + b"\n"
    lines.write_bytes(written)


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_candidate_of_format_1_is_decided_on_and_shown_from_its_manifest_alone(
    tmp_path: Path, decision: str
) -> None:
    unpack(tmp_path)
    register = Register(tmp_path / "register")
    sealed = register.manifest(CANDIDATE)
    assert sealed.format == 1
    with pytest.raises(ValidationError):
        ReleaseSpec.model_validate(sealed.spec)

    state = approve(register.folder, CANDIDATE, "Bea", decision=decision, return_state=True)

    expected = {"approve": "Published", "reject": "Rejected"}[decision]
    assert state.name == expected
    with get_client(sync_client=True) as client:
        (summary,) = client.read_artifacts(
            artifact_filter=ArtifactFilter(
                key=ArtifactFilterKey(any_=["release-summary-small"]),
                flow_run_id=ArtifactFilterFlowRunId(any_=[state.state_details.flow_run_id]),
            )
        )
    shown = str(summary.data)
    assert shown.startswith(f"# {expected}: A small table, 2027-Q3")
    assert "- started by: Ana" in shown
    assert "- method: mdav" in shown
    outcome = outcome_of(state)
    found = audit(register.folder)
    assert found.faults == found.waiting == []
    if decision == "approve":
        assert isinstance(outcome, Published)
        assert str(outcome.folder) in found.verified
