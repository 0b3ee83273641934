"""What is running, what waits, and what is due."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort

from algorithms.errors import ReleaseError
from expectations.request import specs_folder
from expectations.spec_file import load
from flows.operation.installation import POOL
from tasks.shelves.register import Register


@dataclass
class Due:
    """A deployment, its next run and its last one."""

    name: str
    next: datetime | None = None
    last: str = "never ran"


@dataclass
class Status:
    """What is running, what waits and what is due."""

    server: bool = False
    workers: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    due: list[Due] = field(default_factory=list)
    candidates: dict[Path, list[str]] = field(default_factory=dict)

    @property
    def well(self) -> bool:
        """Whether scheduled releases would run."""
        return self.server and bool(self.workers)


def status() -> Status:
    """Ask the server that ``PREFECT_API_URL`` names, and the registers of the specs."""
    found = Status(candidates=_candidates())
    try:
        with get_client(sync_client=True) as client:
            found.server = client.api_healthcheck() is None
            if found.server:
                _ask(client, found)
    except Exception as error:
        raise ReleaseError(
            f"the server must answer; it failed ({type(error).__name__}): is it another one, or is "
            "PREFECT_API_AUTH_STRING wrong?"
        ) from None
    return found


def _ask(client: SyncPrefectClient, found: Status) -> None:
    workers = client.read_workers_for_work_pool(POOL)
    found.workers = [worker.name for worker in workers if worker.status == "ONLINE"]
    found.running = [_named(run) for run in _runs(client, StateType.RUNNING)]
    found.paused = [_named(run) for run in _runs(client, StateType.PAUSED)]
    for deployment in client.read_deployments():
        own = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id]))
        flow = client.read_flow(deployment.flow_id)
        due = Due(f"{flow.name}/{deployment.name}")
        scheduled = client.read_flow_runs(
            deployment_filter=own,
            flow_run_filter=_in_state(StateType.SCHEDULED),
            sort=FlowRunSort.NEXT_SCHEDULED_START_TIME_ASC,
            limit=1,
        )
        if scheduled:
            due.next = scheduled[0].next_scheduled_start_time
        ended = client.read_flow_runs(
            deployment_filter=own,
            flow_run_filter=_in_state(
                StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED
            ),
            sort=FlowRunSort.END_TIME_DESC,
            limit=1,
        )
        if ended and ended[0].state is not None:
            when = ended[0].end_time or datetime.now(UTC)
            due.last = f"{ended[0].state.name} {when:%Y-%m-%d %H:%M}"
        found.due.append(due)
    found.due.sort(key=lambda due: (due.next is None, due.next, due.name))


def _runs(client: SyncPrefectClient, state: StateType) -> list[FlowRun]:
    return client.read_flow_runs(flow_run_filter=_in_state(state), limit=50)


def _in_state(*states: StateType) -> FlowRunFilter:
    return FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(states))))


def _named(run: FlowRun) -> str:
    since = f" since {run.start_time:%Y-%m-%d %H:%M}" if run.start_time else ""
    return f"{run.name}{since}"


def _candidates() -> dict[Path, list[str]]:
    """List what waits for a reviewer in the registers of all specs."""
    waiting: dict[Path, list[str]] = {}
    for spec in sorted(specs_folder().glob("*.yaml")):
        folder = load(spec).publication.register_folder
        if folder.is_dir() and folder not in waiting:
            waiting[folder] = Register(folder).chain().waiting
    return waiting
