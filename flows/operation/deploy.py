"""Brings the work pool, limits, deployments and automations of a server up to date."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

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
from flows.operation.defaults import FILE, ROOT
from flows.operation.installation import POOL
from flows.states import APPROVED, ERRORS, EXPLORED, PUBLISHED, SEALED, VERIFIED, WAITING_FOR_SOURCE

FLOWS = ("release", "explore", "audit", "approve")
MAY_PAUSE = "release"
"""The flow whose runs can pause until a reviewer answers."""
GOOD = ("Completed", PUBLISHED, APPROVED, SEALED, EXPLORED, VERIFIED)
AGAIN = ("Scheduled", "AwaitingRetry", "Pending", WAITING_FOR_SOURCE)
"""States of a run that is tried again, by a process that will send heartbeats."""
BAD = ("Failed", "TimedOut", *sorted(set(ERRORS.values()) - {"Failed"}))
# no `env` here: Prefect would merge the environment that a run asks for into it
JOB = {
    "job_configuration": {"stream_output": True},
    "variables": {"type": "object", "properties": {}, "additionalProperties": False},
}
"""Job template of the pool. It has no variables, so that nobody who starts a run can choose its
command, its environment or its working folder."""
CRASHED_EVENT = "prefect.flow-run.Crashed"
SILENCE_SECONDS = 90
"""A run has crashed if it sends no heartbeat for this long."""


@dataclass(frozen=True)
class Deployed:
    """The deployments on a server, and the faults of specs that were left out."""

    names: list[str]
    faults: list[SpecError]


def deploy(file: Path = FILE) -> Deployed:
    """Bring the server in ``PREFECT_API_URL`` up to date; can be repeated at any time.

    A faulty spec file is reported and left out; it does not stop the runs of the others.

    Raises
    ------
    SpecError
        If ``PREFECT_API_URL`` is not set.
    ReleaseError
        If Prefect cannot deploy.
    """
    if get_current_settings().api.url is None:
        raise SpecError(
            "deployments need a server; PREFECT_API_URL is not set: set it, or start a server with "
            "`microrelease up`, which also deploys"
        )
    files, faults = read_all(specs_folder())
    with get_client(sync_client=True) as client:
        with suppress(ObjectAlreadyExists):
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        client.update_work_pool(POOL, WorkPoolUpdate(base_job_template=JOB))
        for spec_file in files:
            client.upsert_global_concurrency_limit_by_name(
                f"release-{spec_file.spec.release.name}", 1
            )
        _deploy_file(file)
        _lift_limits(client)
        _automate(client)
        deployments = client.read_deployments()
    return Deployed(sorted(deployment.name for deployment in deployments), faults)


def _lift_limits(client: SyncPrefectClient) -> None:
    """Remove the concurrency limits of deployments whose runs can pause.

    The file of deployments or an earlier version may have set them. A run that pauses loses the
    lease of its slot, and Prefect ends the run when it cannot renew the lease.
    """
    flow = FlowFilter(name=FlowFilterName(any_=[MAY_PAUSE]))
    for deployment in client.read_deployments(flow_filter=flow):
        if deployment.global_concurrency_limit is not None:
            client.update_deployment(deployment.id, DeploymentUpdate(concurrency_limit=None))


def _deploy_file(file: Path) -> None:
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    result = subprocess.run(
        [*command, "--prefect-file", str(file)],
        cwd=ROOT,
        env={**os.environ, "MICRORELEASE_ROOT": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise ReleaseError(
            f"Prefect must be able to deploy {file.name}; it reported: "
            + " ".join((result.stderr or result.stdout).split())[-500:]
        )


def _automate(client: SyncPrefectClient) -> None:
    """Have the server report runs that crashed, and end runs that send no more heartbeats.

    The two automations must not expect the same event. On SQLite the second may find the database
    locked; the server then delivers the event again, and the first would fire once more.
    """
    notify = client.read_deployment_by_name("notify/notify")
    # their names must not change: an earlier version's automation is found by its name
    _keep(_report_crashes(notify.id))
    _keep(_end_silent_runs())


def _report_crashes(notify_id: UUID) -> Automation:
    ours = {"prefect.resource.role": "flow", "prefect.resource.name": list(FLOWS)}
    return Automation(
        name="microrelease: tell of runs that ended badly",
        description="Starts the notify flow for runs that could not report their own end.",
        trigger=EventTrigger(
            expect={CRASHED_EVENT},
            match_related=ours,
            posture=Posture.Reactive,
            threshold=1,
        ),
        actions=[
            RunDeployment(
                source="selected",
                deployment_id=notify_id,
                parameters={"flow_run_id": "{{ flow_run.id | string }}"},
            )
        ],
    )


def _end_silent_runs() -> Automation:
    heartbeat = "prefect.flow-run.heartbeat"
    known = {f"prefect.flow-run.{name}" for name in (*GOOD, *BAD, *AGAIN, "Cancelled", "Suspended")}
    return Automation(
        name="microrelease: end runs whose process has died",
        description="A run sends heartbeats; if they stop, its process or its host has died.",
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


def _keep(wanted: Automation) -> None:
    """Create an automation, or update the one with the same name."""
    try:
        existing: Any = Automation.read(name=wanted.name)
    except ValueError:
        wanted.create()
    else:
        wanted.id = existing.id
        wanted.update()
