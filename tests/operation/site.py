"""A whole installation, started as a user starts it, for tests to work with."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    DeploymentFilter,
    DeploymentFilterId,
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateName,
)
from prefect.client.schemas.objects import Artifact, FlowRun
from prefect.client.schemas.sorting import ArtifactSort
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_URL,
    temporary_settings,
)
from prefect.states import Scheduled

from flows.cli import main
from tasks.store.desk_pages import key_of
from tasks.store.register import Register
from tests.browser import Browser
from tests.desk.desk import PASSWORD, add_user, token
from tests.example import change_example
from tests.tools import PATIENCE


class Site:
    """One installation with the specs of the example in it."""

    def __init__(
        self, folder: Path, process: subprocess.Popen[bytes], port: int, desk_port: int
    ) -> None:
        self.folder, self.process = folder, process
        self.desk = f"http://127.0.0.1:{desk_port}"
        self.home, self.specs = folder / "home", folder / "specs"
        self.url = f"http://127.0.0.1:{port}"

    @property
    def password(self) -> str:
        return (self.home / "password").read_text(encoding="utf-8").strip()

    @contextmanager
    def client(self) -> Iterator[SyncPrefectClient]:
        told = {PREFECT_API_URL: f"{self.url}/api", PREFECT_API_AUTH_STRING: self.password}
        with temporary_settings(told), get_client(sync_client=True) as client:
            yield client

    def start(self, deployment: str, due: datetime | None = None, **parameters: Any) -> UUID:
        """Start a run of a deployment, that was due at some time."""
        with self.client() as client:
            found = client.read_deployment_by_name(deployment)
            return client.create_flow_run_from_deployment(
                found.id, parameters=parameters, state=Scheduled(scheduled_time=due)
            ).id

    def run(self, run_id: UUID) -> FlowRun:
        with self.client() as client:
            return client.read_flow_run(run_id)

    def wait(
        self, run_id: UUID, is_there: Callable[[FlowRun], bool], patience: float = PATIENCE
    ) -> FlowRun:
        """Wait until a run is as it is expected to be."""
        end = time.monotonic() + patience
        while not is_there(run := self.run(run_id)):
            assert time.monotonic() < end, f"the run is {run.state}"
            time.sleep(0.5)
        return run

    def ended(self, run_id: UUID, patience: float = PATIENCE) -> FlowRun:
        """Wait until a run has ended."""
        return self.wait(
            run_id, lambda run: run.state is not None and run.state.is_final(), patience
        )

    def in_state(self, run_id: UUID, name: str, patience: float = PATIENCE) -> FlowRun:
        return self.wait(
            run_id, lambda run: run.state is not None and run.state.name == name, patience
        )

    def runs(
        self,
        flow: str,
        deployment: str,
        *states: str,
        where: Callable[[FlowRun], bool] = lambda _: True,
    ) -> list[FlowRun]:
        """Wait until a deployment has such runs in one of these states."""
        wanted = FlowRunFilter(
            state=FlowRunFilterState(name=FlowRunFilterStateName(any_=list(states)))
        )
        end = time.monotonic() + PATIENCE
        while True:
            with self.client() as client:
                found = client.read_deployment_by_name(f"{flow}/{deployment}")
                own = DeploymentFilter(id=DeploymentFilterId(any_=[found.id]))
                runs = client.read_flow_runs(deployment_filter=own, flow_run_filter=wanted)
                if such := list(filter(where, runs)):
                    return such
                others = client.read_flow_runs(deployment_filter=own)
            there = [(run.name, run.state) for run in others]
            assert time.monotonic() < end, f"no run of {flow}/{deployment} is {states}: {there}"
            time.sleep(0.5)

    def notified(self) -> list[str]:
        """List the runs of which the server told, by their ids, once for each notify run."""
        flow = FlowFilter(name=FlowFilterName(any_=["notify"]))
        with self.client() as client:
            runs = client.read_flow_runs(flow_filter=flow)
        return [str(run.parameters["flow_run_id"]) for run in runs]

    def artefacts(self, run_id: UUID) -> dict[str, Artifact]:
        """Give the artefacts of a run by their keys, the last of each."""
        wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run_id]))
        with self.client() as client:
            found = client.read_artifacts(
                artifact_filter=wanted, sort=ArtifactSort.CREATED_DESC, limit=200
            )
        return {str(artefact.key): artefact for artefact in reversed(found)}

    def log_in(self, window: Browser) -> None:
        window.visit(self.url)
        window.wait_for("Login")
        window.click("input")
        window.type(self.password)
        window.click("button", "Login")
        window.wait_for("Deployments")

    def visitor(self, login: str) -> httpx.Client:
        """Add a reviewer, and log in to the desk."""
        add_user(self.home, login, "reviewer")
        client = httpx.Client(base_url=self.desk, headers={"Origin": self.desk}, timeout=PATIENCE)

        def send_cookies(request: httpx.Request) -> None:
            # as browsers do on this machine, and httpx over TLS only
            request.headers["Cookie"] = "; ".join(f"{n}={v}" for n, v in client.cookies.items())

        client.event_hooks["request"].append(send_cookies)
        fields = {"login": login, "password": PASSWORD, "csrf": token(client, "/login")}
        answer = client.post("/login", data=fields)
        assert answer.status_code == 303, answer.text
        return client

    def decide(
        self, client: httpx.Client, register: Path, candidate: str, choice: str, reason: str = ""
    ) -> httpx.Response:
        """Decide in the desk on a candidate, as its page shows it."""
        path = f"/review/{key_of(register)}/{candidate}"
        fields = {
            "csrf": token(client, path),
            "manifest": Register(register).manifest_sha256(candidate),
            "decision": choice,
            "reason": reason,
        }
        return client.post(path, data=fields)

    def write_spec(self, name: str, **changes: Any) -> Path:
        """Write a spec beside that of the example, for a dataset of its own."""
        example = (self.specs / "enterprise-survey.yaml").read_text(encoding="utf-8")
        content = yaml.safe_load(example)
        content["release"]["name"] = name
        for section, changed in changes.items():
            content[section] |= changed
        path = self.specs / f"{name}.yaml"
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return path


@contextmanager
def site(
    folder: Path,
    *,
    rows: int = 300,
    quarters: int = 2,
    lenient: bool = True,
    **environment: str,
) -> Iterator[Site]:
    """Start an installation with the example, lenient as few rows need it, and stop it."""
    specs = folder / "specs"
    example = ["example", str(specs), "--rows", str(rows), "--quarters", str(quarters)]
    assert main(example) == 0
    if lenient:
        change_example(specs, series=False)
    with socket.socket() as probe, socket.socket() as other:
        for each in (probe, other):
            each.bind(("127.0.0.1", 0))
        port, desk_port = probe.getsockname()[1], other.getsockname()[1]
    command = ["up", "--home", str(folder / "home"), "--specs", str(specs)]
    command += ["--port", str(port), "--desk-port", str(desk_port)]
    ours = ("PREFECT_", "MICRORELEASE_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", *command],
            env={**inherited, "PYTHONUNBUFFERED": "1", **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + PATIENCE
        while b"Ctrl-C" not in (said := (folder / "up.log").read_bytes()):
            assert process.poll() is None, said.decode()
            assert time.monotonic() < end, said.decode()
            time.sleep(0.5)
        yield Site(folder, process, port, desk_port)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()
