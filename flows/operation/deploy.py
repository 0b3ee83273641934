"""Makes pool, limits, deployments and automations on a server; can be repeated at any time."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from prefect.automations import Automation
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import FlowFilter, FlowFilterName
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, RunDeployment
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.exceptions import ObjectAlreadyExists
from prefect.settings import get_current_settings

from algorithms.errors import ReleaseError, SpecError
from expectations.request.named import specs_folder
from expectations.request.spec_folder import read_all
from flows.operation.installation import FILE, POOL, ROOT
from flows.states import APPROVED, ERRORS, EXPLORED, PUBLISHED, SEALED, VERIFIED

FLOWS = ("release", "explore", "audit", "approve")
MAY_PAUSE = "release"
"""The flow whose runs may wait for a reviewer."""
GOOD = ("Completed", PUBLISHED, APPROVED, SEALED, EXPLORED, VERIFIED)
AGAIN = ("Scheduled", "AwaitingRetry", "Pending")
"""States of a run that is repeated; a process that sends heartbeats comes after them."""
BAD = ("Failed", "TimedOut", *sorted(set(ERRORS.values()) - {"Failed"}))
# without `env` here: Prefect would merge that of a run into it
JOB = {
    "job_configuration": {"stream_output": True},
    "variables": {"type": "object", "properties": {}, "additionalProperties": False},
}
"""Job template of the pool. It has no variables, so that whoever starts a run cannot choose its
command, its environment or its working folder."""
CRASHED = "prefect.flow-run.Crashed"
SILENCE_SECONDS = 90
"""Without a heartbeat for so long, a run has crashed."""


@dataclass(frozen=True)
class Deployed:
    """The deployments that a server has, and the spec files that are faulty."""

    names: list[str]
    faults: list[SpecError]


def deploy(file: Path = FILE) -> Deployed:
    """Bring the server that ``PREFECT_API_URL`` names up to date.

    A spec file that is faulty is named and left out; it does not keep the others from their runs.

    Raises
    ------
    SpecError
        If no server is named.
    ReleaseError
        If Prefect could not deploy.
    """
    if get_current_settings().api.url is None:
        raise SpecError(
            "deployments need a server; PREFECT_API_URL is not set: start one with "
            "`microrelease up`, which deploys by itself, or set it"
        )
    files, faults = read_all(specs_folder())
    with get_client(sync_client=True) as client:
        with suppress(ObjectAlreadyExists):
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        client.update_work_pool(POOL, WorkPoolUpdate(base_job_template=JOB))
        for reviewed in files:
            client.upsert_global_concurrency_limit_by_name(
                f"release-{reviewed.spec.release.name}", 1
            )
        _deploy_file(file)
        _lift_limits(client)
        _automate(client)
        deployments = client.read_deployments()
    return Deployed(sorted(deployment.name for deployment in deployments), faults)


def _lift_limits(client: SyncPrefectClient) -> None:
    """Remove limits of deployments, set here or by an earlier version, where a run may pause.

    A run that pauses loses the lease of its slot, and is ended when it cannot renew it.
    """
    flow = FlowFilter(name=FlowFilterName(any_=[MAY_PAUSE]))
    for deployment in client.read_deployments(flow_filter=flow):
        if deployment.global_concurrency_limit is not None:
            client.update_deployment(deployment.id, DeploymentUpdate(concurrency_limit=None))


def _deploy_file(file: Path) -> None:
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = subprocess.run(
        [*command, "--prefect-file", str(file)],
        cwd=ROOT,
        env={**os.environ, "MICRORELEASE_ROOT": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ReleaseError(
            f"Prefect must be able to deploy {file.name}; it said: "
            + " ".join((done.stderr or done.stdout).split())[-500:]
        )


def _automate(client: SyncPrefectClient) -> None:
    """Have the server tell of runs that crashed, and end those that fell silent.

    The two must not expect the same event. On SQLite the second may find the database locked; the
    server then delivers the event again, and the first would fire once more.
    """
    notify = client.read_deployment_by_name("notify/notify")
    ours = {"prefect.resource.role": "flow", "prefect.resource.name": list(FLOWS)}
    _keep(
        Automation(
            name="microrelease: tell of runs that ended badly",
            description="Starts the notify flow for runs that could not tell of their end "
            "themselves.",
            trigger=EventTrigger(
                expect={CRASHED},
                match_related=ours,
                posture=Posture.Reactive,
                threshold=1,
            ),
            actions=[
                RunDeployment(
                    source="selected",
                    deployment_id=notify.id,
                    parameters={"flow_run_id": "{{ flow_run.id | string }}"},
                )
            ],
        )
    )
    heartbeat = "prefect.flow-run.heartbeat"
    known = {f"prefect.flow-run.{name}" for name in (*GOOD, *BAD, *AGAIN, "Cancelled", "Suspended")}
    _keep(
        Automation(
            name="microrelease: end runs whose process has died",
            description="A run sends heartbeats; one that fell silent has died with its host.",
            trigger=EventTrigger(
                after={heartbeat},
                expect={heartbeat, *known},
                for_each={"prefect.resource.id"},
                match={"prefect.resource.id": "prefect.flow-run.*"},
                posture=Posture.Proactive,
                threshold=1,
                within=timedelta(seconds=SILENCE_SECONDS),
            ),
            actions=[
                ChangeFlowRunState(
                    state=StateType.CRASHED,
                    message=f"no heartbeat for {SILENCE_SECONDS} seconds: its process has died",
                )
            ],
        )
    )


def _keep(wanted: Automation) -> None:
    """Make an automation, or bring the one of that name up to date."""
    try:
        known: Any = Automation.read(name=wanted.name)
    except ValueError:
        wanted.create()
    else:
        wanted.id = known.id
        wanted.update()
