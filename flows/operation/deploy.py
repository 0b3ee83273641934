"""Makes pool, limits, deployments and automations on a server; can be repeated at any time."""

import os
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from prefect.automations import Automation
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, RunDeployment
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.exceptions import ObjectAlreadyExists
from prefect.settings import get_current_settings

from algorithms import errors
from algorithms.errors import ReleaseError, SpecError
from expectations.request import specs_folder
from expectations.spec_file import load
from flows.operation.installation import FILE, POOL, ROOT

FLOWS = ("release", "explore", "audit", "approve")
GOOD = ("Completed", "Published", "Approved", "Sealed", "Explored", "Verified")
BAD = (
    "Failed",
    "Crashed",
    "TimedOut",
    *sorted(
        {
            error.state_name
            for error in vars(errors).values()
            if isinstance(error, type) and issubclass(error, ReleaseError)
        }
        - {"Failed"}
    ),
)
# without `env` here: Prefect would merge that of a run into it
JOB = {
    "job_configuration": {"stream_output": True},
    "variables": {"type": "object", "properties": {}, "additionalProperties": False},
}
"""Job template of the pool. It has no variables, so that whoever starts a run cannot choose its
command, its environment or its working folder."""
SILENCE_SECONDS = 90
"""Without a heartbeat for so long, a run has crashed."""


def deploy(file: Path = FILE) -> list[str]:
    """Bring the server that ``PREFECT_API_URL`` names up to date; name what it has then.

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
    with get_client(sync_client=True) as client:
        with suppress(ObjectAlreadyExists):
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        client.update_work_pool(POOL, WorkPoolUpdate(base_job_template=JOB))
        for spec in sorted(specs_folder().glob("*.yaml")):
            dataset = load(spec).release.name
            client.upsert_global_concurrency_limit_by_name(f"release-{dataset}", 1)
        _deploy_file(file)
        _automate(client)
        deployments = client.read_deployments()
    return sorted(deployment.name for deployment in deployments)


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
    """Have the server tell of runs that ended badly, and end those that fell silent."""
    notify = client.read_deployment_by_name("notify/notify")
    ours = {"prefect.resource.role": "flow", "prefect.resource.name": list(FLOWS)}
    _keep(
        Automation(
            name="microrelease: tell of runs that ended badly",
            description="Starts the notify flow, which tells of each run once.",
            trigger=EventTrigger(
                expect={f"prefect.flow-run.{name}" for name in BAD},
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
    ended = {f"prefect.flow-run.{name}" for name in (*GOOD, *BAD, "Cancelled", "Suspended")}
    _keep(
        Automation(
            name="microrelease: end runs whose process has died",
            description="A run sends heartbeats; one that fell silent has died with its host.",
            trigger=EventTrigger(
                after={heartbeat},
                expect={heartbeat, *ended},
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
