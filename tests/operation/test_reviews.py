"""Runs that wait for their reviewers, for longer than Prefect leases a slot, and beside others."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from uuid import UUID

import pytest
import yaml
from prefect.client.schemas.actions import DeploymentUpdate

from expectations.published.verifier import verify
from tasks.store.audit import audit
from tasks.store.register import Register
from tests.operation.site import Site, site

pytestmark = [pytest.mark.operation, pytest.mark.slow]

LEASE_SECONDS = 300.0
"""For so long Prefect's engine leases the slot of a deployment; it renews at three quarters."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), quarters=4) as started:
        yield started


def ask_for_review(place: Site, name: str) -> None:
    """Have a reviewer decide on the releases of a dataset, which has a register of its own."""
    path = place.specs / f"{name}.yaml"
    if not path.exists():
        place.write_spec(name)
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["gate"]["review"] = {"hours": 1.0}
    content["publication"]["register_folder"] = f"register-{name}"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def paused(place: Site, deployment: str, name: str, period: str, **changes: int) -> UUID:
    """Start a release and wait until it waits for its reviewer."""
    spec = {"name": name, "changes": {"period": period, **changes}}
    run = place.start(deployment, spec=spec, started_by="Ana")
    place.in_state(run, "Paused")
    return run


def answered(place: Site, run: UUID) -> tuple[str, str]:
    """Approve a run in the UI; give how it ends."""
    with place.client() as client:
        answer = {"decision": "approve", "reviewer": "Bea", "reason": ""}
        client.resume_flow_run(run, run_input=answer)
    state = place.ended(run).state
    assert state is not None
    return str(state.name), state.message or ""


def command(place: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that knows the installation."""
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", *arguments],
        env={
            **os.environ,
            "PREFECT_API_URL": f"{place.url}/api",
            "PREFECT_API_AUTH_STRING": place.password,
            "MICRORELEASE_SPECS": str(place.specs),
        },
        capture_output=True,
        text=True,
    )


def test_a_scheduled_release_waits_longer_than_a_lease_and_is_then_approved(place: Site) -> None:
    ask_for_review(place, "enterprise-survey")
    run = paused(place, "release/enterprise-survey", "enterprise-survey", "2026-Q3")
    time.sleep(LEASE_SECONDS + 10)
    state = place.run(run).state
    assert state is not None
    assert state.name == "Paused", state.message
    assert answered(place, run) == ("Published", "published enterprise-survey 2026-Q3")
    assert verify(place.specs / "public" / "enterprise-survey" / "2026-Q3").k_claimed == 5


def test_deploying_lifts_a_limit_that_an_earlier_version_set(place: Site) -> None:
    with place.client() as client:
        name = "release/enterprise-survey"
        deployment = client.read_deployment_by_name(name)
        client.update_deployment(deployment.id, DeploymentUpdate(concurrency_limit=1))
        assert client.read_deployment_by_name(name).global_concurrency_limit is not None
    done = command(place, "deploy")
    assert done.returncode == 0, done.stderr
    with place.client() as client:
        assert client.read_deployment_by_name(name).global_concurrency_limit is None
        # these never pause
        for name in ("explore/enterprise-survey", "audit/every-night"):
            assert client.read_deployment_by_name(name).global_concurrency_limit is not None


def test_candidates_are_decided_on_while_another_run_of_the_dataset_waits(place: Site) -> None:
    ask_for_review(place, "beside")
    register = place.specs / "register-beside"
    waits = paused(place, "release/by-hand", "beside", "2026-Q3")
    (first,) = Register(register).chain().waiting

    # another period is sealed, and approved in the UI or on the command line
    for period, in_ui in (("2026-Q2", True), ("2026-Q1", False)):
        spec = {"name": "beside", "changes": {"period": period}}
        sealed = place.ended(
            place.start("release/by-hand", spec=spec, candidate=True, started_by="Ana")
        )
        assert sealed.state is not None
        assert sealed.state.name == "Sealed", sealed.state.message
        (candidate,) = set(Register(register).chain().waiting) - {first}
        if in_ui:
            decided = place.ended(
                place.start(
                    "approve/candidate",
                    register_folder=str(register),
                    candidate=candidate,
                    reviewer="Bea",
                )
            ).state
            assert decided is not None
            assert decided.name == "Published", decided.message
        else:
            approve = ("approve", candidate, "--register", str(register), "--reviewer", "Bea")
            done = command(place, *approve)
            assert done.returncode == 0, done.stderr
        assert verify(place.specs / "public" / "beside" / period).k_claimed == 5

    # a run decides on its own candidate
    done = command(place, "approve", first, "--register", str(register), "--reviewer", "Bea")
    assert (done.returncode, "decided on in one place" in done.stderr) == (12, True)

    # the same period again, unchanged and with another k: each waits, one is published
    same = paused(place, "release/by-hand", "beside", "2026-Q3")
    other = paused(place, "release/by-hand", "beside", "2026-Q3", k=6)
    assert answered(place, waits) == ("Published", "published beside 2026-Q3")
    name, message = answered(place, same)
    assert (name, "same data and claims" in message) == ("Published", True)
    name, message = answered(place, other)
    assert (name, "must not change once published" in message) == ("Blocked", True)
    assert verify(place.specs / "public" / "beside" / "2026-Q3").k_claimed == 5
    found = audit(register)
    assert (found.faults, len(found.verified)) == ([], 3)
