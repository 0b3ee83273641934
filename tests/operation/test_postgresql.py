"""The same lifecycle with the server's records in PostgreSQL."""

import json
from collections.abc import Iterator

import pytest

from expectations.published.verifier import verify
from tests.operation.site import Site, site
from tests.postgresql import cluster

pytestmark = [pytest.mark.operation, pytest.mark.slow, pytest.mark.needs("PostgreSQL")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with cluster() as server:
        database = server.address().replace("postgresql://", "postgresql+asyncpg://")
        with site(tmp_path_factory.mktemp("site"), MICRORELEASE_DATABASE=database) as started:
            yield started


def test_releases_are_scheduled_published_blocked_reviewed_and_audited(place: Site) -> None:
    assert not list((place.home / "prefect").glob("*.db"))
    assert place.runs("audit", "every-night", "Scheduled")

    named = {"name": "enterprise-survey", "changes": {"period": "2026-Q2", "k": 6}}
    run = place.ended(place.start("release/enterprise-survey", spec=named))
    assert run.state is not None
    assert run.state.name == "Published", run.state.message
    assert verify(place.specs / "public" / "enterprise-survey" / "2026-Q2").k_claimed == 6

    named["changes"] = {"period": "2026-Q3", "dld": 0.0}
    blocked = place.ended(place.start("release/enterprise-survey", spec=named))
    assert blocked.state is not None
    assert blocked.state.name == "Blocked"
    told = json.loads((place.home / "outbox" / f"{blocked.id}.json").read_text(encoding="utf-8"))
    assert told["state"] == "Blocked"

    place.write_spec(
        "reviewed", gate={"ceilings": {"il": 60.0, "dld": 100.0}, "review": {"hours": 1.0}}
    )
    held = place.start(
        "release/by-hand",
        spec={"name": "reviewed", "changes": {"period": "2026-Q3"}},
        started_by="Ana",
    )
    place.in_state(held, "Paused")
    with place.client() as client:
        answer = {"decision": "reject", "reviewer": "Bea", "reason": "too coarse"}
        client.resume_flow_run(held, run_input=answer)
    rejected = place.ended(held)
    assert rejected.state is not None
    assert (rejected.state.name, rejected.state.message) == (
        "Rejected",
        "rejected by Bea: too coarse",
    )
    verified = place.ended(place.start("audit/every-night"))
    assert verified.state is not None
    assert verified.state.name == "Verified", verified.state.message
    # the runs told of their ends themselves
    assert place.notified() == []
