"""What a run returns to whoever called it."""

import os
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.exceptions import FailedRun
from prefect.states import Completed

from algorithms.errors import DataError, RefusedError, ReleaseError
from flows.outcome import Approved, Failed, Outcome, Published, Refused, Sealed, outcome_of
from flows.release import release
from tests.conftest import Request
from tests.publishing import folder_of, run_release

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

STRICT = {"ceilings": {"il": 0.0, "dld": 100.0}}


def stored() -> set[Path]:
    return set((Path(os.environ["PREFECT_HOME"]) / "storage").glob("**/*"))


def outcome(request_of: Request, sections: dict[str, Any] | None = None, **options: Any) -> Outcome:
    """Run a release and see that nothing of its outcome was sent to the server."""
    state = run_release(request_of.write(**sections or {}), **options)
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(state.state_details.flow_run_id)
    assert run.state is not None
    assert run.state.data is None
    return outcome_of(state)


def test_a_run_returns_its_outcome_and_stores_nothing_of_it(request_of: Request) -> None:
    before = stored()
    dry = outcome(request_of, dry_run=True)
    assert isinstance(dry, Approved)
    assert dry.attempt is not None
    assert dry.attempt.manifest is None

    refused = outcome(request_of, {"gate": STRICT})
    assert isinstance(refused, Refused)
    assert isinstance(refused.error, RefusedError)
    assert refused.attempt is not None
    assert refused.attempt.verdicts is not None
    assert [verdict.passed for verdict in refused.attempt.verdicts] == [False, True, True]
    assert refused.attempt.record.evaluation is not None
    assert refused.attempt.manifest is not None

    failed = outcome(request_of, {"source": {"path": "nowhere.csv"}})
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, DataError)
    assert failed.error.__traceback__ is None
    assert failed.attempt is not None
    assert failed.attempt.verdicts is None

    sealed = outcome(request_of, candidate=True, started_by="Ana")
    assert isinstance(sealed, Sealed)
    assert sealed.candidate.attempt == "000003-small-2026-Q3"

    published = outcome(request_of)
    assert isinstance(published, Published)
    assert published.folder == folder_of(request_of)
    assert stored() == before


def test_a_caller_that_wants_no_state_gets_the_sentence_as_an_exception(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the process that a worker starts, whose log shows it."""
    monkeypatch.setenv("MICRORELEASE_SPECS", str(request_of.write(gate=STRICT).parent))
    with pytest.raises(FailedRun) as raised:
        release({"name": "spec"})  # type: ignore[arg-type]
    assert str(raised.value).startswith("IL is ")


def test_a_run_that_prefect_ended_has_no_outcome() -> None:
    with pytest.raises(ReleaseError, match="Prefect ended the run"):
        outcome_of(Completed(data="something else"))
