"""Status of an installation: active runs, runs that wait for a reviewer, and due runs."""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateName,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.sorting import FlowRunSort

from algorithms.errors import IntegrityError, ReleaseError, StorageError
from expectations.request.named import specs_folder
from expectations.request.spec_folder import read_all
from flows.operation.installation import POOL, desk_answers
from flows.states import WAITING_FOR_SOURCE
from tasks.store.home import DESK_URL
from tasks.store.register import Register

GRACE = timedelta(minutes=2)
"""A run that was due longer ago than this and has not started is late."""


@dataclass
class Due:
    """A deployment with its next run and its last run.

    ``next`` is the time for which the run was scheduled; it lies in the past if the run is
    ``late``. ``spec`` is the name of the spec that the deployment releases, empty if it releases
    none.
    """

    name: str
    next: datetime | None = None
    last: str = "never ran"
    late: bool = False
    spec: str = ""


@dataclass
class Status:
    """Runs that are active, waiting for a reviewer or due; all times are in UTC.

    ``faults`` are errors in specs and registers; each names its file or folder. ``desk`` is the
    address under which people reach the desk, empty if it is not known; releases go on without it.
    """

    server: bool = False
    desk: str = ""
    desk_answers: bool = False
    workers: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    due: list[Due] = field(default_factory=list)
    candidates: dict[Path, list[str]] = field(default_factory=dict)
    faults: list[ReleaseError] = field(default_factory=list)

    @property
    def well(self) -> bool:
        """Whether all scheduled releases would run."""
        return self.server and bool(self.workers) and not self.faults

    @property
    def late(self) -> list[Due]:
        """The deployments whose run should have started."""
        return [due for due in self.due if due.late]


def status() -> Status:
    """Ask the server in ``PREFECT_API_URL`` and the desk, and read the registers of all specs."""
    status = Status(desk=os.environ.get(DESK_URL, ""))
    status.desk_answers = bool(status.desk) and desk_answers(status.desk)
    _read_registers(status)
    ask_server(status)
    return status


def ask_server(status: Status) -> None:
    """Add what the server in ``PREFECT_API_URL`` knows: workers, runs and deployments.

    Raises
    ------
    ReleaseError
        If the server refuses to answer.
    """
    try:
        with get_client(sync_client=True) as client:
            status.server = client.api_healthcheck() is None
            if status.server:
                _ask(client, status)
    except Exception as error:
        raise ReleaseError(
            f"the server must answer; the request failed ({type(error).__name__}): check that "
            "PREFECT_API_URL and PREFECT_API_AUTH_STRING are right"
        ) from None


def _ask(client: SyncPrefectClient, status: Status) -> None:
    """Ask the server for workers, runs and deployments."""
    workers = client.read_workers_for_work_pool(POOL)
    status.workers = [worker.name for worker in workers if worker.status == "ONLINE"]
    status.running = [_line(run) for run in _runs(client, StateType.RUNNING)]
    status.paused = [_line(run) for run in _runs(client, StateType.PAUSED)]
    status.waiting = [_line(run) for run in _waiting(client)]
    flows = {flow.id: flow.name for flow in client.read_flows()}
    status.due = [_due(client, flows, deployment) for deployment in client.read_deployments()]
    status.due.sort(key=lambda due: (due.next is None, due.next, due.name))


def _due(client: SyncPrefectClient, flows: dict[UUID, str], deployment: DeploymentResponse) -> Due:
    """Find the next run and the last run of a deployment."""
    own_runs = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id]))
    flow = flows.get(deployment.flow_id) or client.read_flow(deployment.flow_id).name
    due = Due(f"{flow}/{deployment.name}", spec=_spec(flow, deployment))
    scheduled = client.read_flow_runs(
        deployment_filter=own_runs,
        flow_run_filter=_in_state(StateType.SCHEDULED),
        sort=FlowRunSort.NEXT_SCHEDULED_START_TIME_ASC,
        limit=1,
    )
    if scheduled and scheduled[0].next_scheduled_start_time is not None:
        due.next = scheduled[0].next_scheduled_start_time.astimezone(UTC)
        due.late = due.next < datetime.now(UTC) - GRACE
    started = client.read_flow_runs(
        deployment_filter=own_runs,
        flow_run_filter=_in_state(*set(StateType) - {StateType.SCHEDULED}),
        sort=FlowRunSort.START_TIME_DESC,
        limit=1,
    )
    if started:
        due.last = _state_of(started[0])
    return due


def _spec(flow: str, deployment: DeploymentResponse) -> str:
    """Name the spec that a deployment releases; empty if each run names its own, or none."""
    spec = deployment.parameters.get("spec")
    name = spec.get("name") if flow == "release" and isinstance(spec, dict) else None
    return name if isinstance(name, str) else ""


def _runs(client: SyncPrefectClient, state: StateType) -> list[FlowRun]:
    return client.read_flow_runs(flow_run_filter=_in_state(state), limit=50)


def _waiting(client: SyncPrefectClient) -> list[FlowRun]:
    """Find the runs that wait for their source; a worker looks for it again and again."""
    name = FlowRunFilterStateName(any_=[WAITING_FOR_SOURCE])
    scheduled = FlowRunFilterState(
        name=name, type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])
    )
    return client.read_flow_runs(flow_run_filter=FlowRunFilter(state=scheduled), limit=50)


def _in_state(*states: StateType) -> FlowRunFilter:
    return FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(states))))


def _line(run: FlowRun) -> str:
    return f"{run.name}: {_state_of(run)}"


def _state_of(run: FlowRun) -> str:
    """Return the state of a run, and the time at which it ended or entered that state."""
    if run.state is None:
        return "unknown"
    since = "" if run.state.is_final() else "since "
    return f"{run.state.name} {since}{run.state.timestamp.astimezone(UTC):%Y-%m-%d %H:%M}"


def _read_registers(status: Status) -> None:
    """List the candidates that wait for a reviewer in the registers of all specs, and faults."""
    files, faults = read_all(specs_folder())
    status.faults += faults
    for folder in sorted({file.spec.publication.register_folder for file in files}):
        if not folder.is_dir():
            continue
        try:
            status.candidates[folder] = Register(folder).chain().waiting
        except IntegrityError as error:
            status.faults.append(IntegrityError(f"{folder}: {error}"))
        except OSError as error:
            status.faults.append(
                StorageError(
                    f"{folder}: the register must be readable; it is not: {error.strerror}"
                )
            )
