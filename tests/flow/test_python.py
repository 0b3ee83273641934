"""Releases from Python, as the command line runs them."""

import pytest

from algorithms.errors import DataError, RefusedError, SpecError, StorageError
from flows.outcome import Approved, Published, Sealed
from microrelease import Release
from tests.conftest import Request
from tests.publishing import events, folder_of

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]


def release(request_of: Request, **sections: object) -> Release:
    return Release.from_yaml(str(request_of.write(**sections)))


def test_a_release_is_published_with_its_verdicts_and_its_manifest(request_of: Request) -> None:
    outcome = release(request_of).run()
    assert isinstance(outcome, Published)
    assert outcome.folder == folder_of(request_of)
    assert outcome.manifest is not None
    assert outcome.manifest.is_file()
    assert {verdict.title for verdict in outcome.verdicts} == {"IL", "DLD", "k"}
    assert all(verdict.passed for verdict in outcome.verdicts)
    assert outcome.sentence == "published small 2026-Q3"


def test_a_dry_run_leaves_nothing_and_a_candidate_waits(request_of: Request) -> None:
    dry = release(request_of).run(dry_run=True)
    assert isinstance(dry, Approved)
    assert dry.manifest is None
    assert not request_of.register.exists()
    sealed = release(request_of).run("2026-Q2", candidate=True, started_by="Ana")
    assert isinstance(sealed, Sealed)
    assert events(request_of) == ["started", "sealed"]
    assert not folder_of(request_of).parent.exists()


def test_a_refusal_is_raised_with_the_sentence_of_the_command_line(request_of: Request) -> None:
    with pytest.raises(RefusedError, match=r"^IL is .* above its ceiling of 0.10 %") as caught:
        release(request_of, gate={"ceilings": {"il": 0.1, "dld": 100.0}}).run()
    assert caught.value.exit_code == 12
    assert events(request_of) == ["started", "blocked"]


def test_faults_are_those_of_the_command_line(request_of: Request) -> None:
    with pytest.raises(StorageError, match=r"must be a readable file; 'none\.yaml' is not"):
        Release.from_yaml("none.yaml")
    with pytest.raises(SpecError, match=r"gate\.ceilings must give il and dld"):
        release(request_of, gate=None).run()
    with pytest.raises(SpecError, match="period: must be letters and digits"):
        release(request_of).run("../2026")
    request_of.source.unlink()
    with pytest.raises(DataError, match=r"source\.path must be a readable file"):
        release(request_of).run()


def test_a_spec_is_checked_without_a_run(request_of: Request) -> None:
    found = release(request_of)
    assert repr(found) == f"Release('small', method='mdav', k=3, path={str(request_of.path)!r})"
    checked = found.check()
    assert (checked.records, checked.withheld, checked.merged) == (7, 0, 0)
    assert checked.limits[0] == "k at least 3"
    assert any("can never refuse" in warning for warning in checked.warnings)
    assert not request_of.register.exists()


def test_a_spec_is_explored_by_its_limits(request_of: Request) -> None:
    limits = {"ceilings": {"il": 0.1, "dld": 100.0}}
    found = release(request_of, gate=limits).explore(methods=["mdav"], ks=[3], workers=1)
    assert found.table["admissible"].to_list() == [False]
    assert found.choice == {}
    assert found.recommendation.startswith("No choice meets all limits")
