"""Decisions in the desk beside a real server: runs that wait go on, end or keep waiting."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import yaml
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.objects import FlowRun

from expectations.manifest import Manifest
from expectations.published.verifier import verify
from expectations.review import WAKE
from tasks.store.audit import audit
from tasks.store.desk_pages import key_of
from tasks.store.disk import try_lock
from tasks.store.register import Register
from tests.mail import Letters, mail_server
from tests.operation.site import Site, site
from tests.operation.test_crashes import kill, process_of
from tests.tools import PATIENCE

pytestmark = [pytest.mark.flow, pytest.mark.operation]

LEASE_SECONDS = 2.0
SHORT_LEASE = f"""\
import importlib.util
import sys

NAME = "prefect.concurrency._leases"


class Shorten:
    # Prefect writes the 300 seconds of a deployment's lease into its engine
    def find_spec(self, name, path=None, target=None):
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            maintain = module.maintain_concurrency_lease
            module.maintain_concurrency_lease = lambda lease, _seconds, *rest, **options: maintain(
                lease, {LEASE_SECONDS}, *rest, **options
            )

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Shorten())
"""
"""A start-up script of Python in all processes of the installation."""


@pytest.fixture(scope="module")
def letters() -> Iterator[Letters]:
    received = Letters()
    with mail_server(received):
        yield received


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, letters: Letters) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "python").mkdir()
    (folder / "python" / "sitecustomize.py").write_text(SHORT_LEASE, encoding="utf-8")
    root = str(Path(__file__).parents[2])
    settings = letters.settings(MAIL_TO="bea@example.org")
    path = os.pathsep.join([str(folder / "python"), root])
    with site(folder, quarters=4, PYTHONPATH=path, **settings) as started:
        yield started


class Reviewed:
    """A dataset whose releases are reviewed, with a register of its own, and one run of it."""

    def __init__(self, place: Site, name: str, **review: Any) -> None:
        self.place, self.name = place, name
        self.register = place.specs / f"register-{name}"
        path = place.specs / f"{name}.yaml"
        if not path.exists():
            place.write_spec(name)
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        content["gate"]["review"] = {"hours": 1.0, **review}
        content["publication"]["register_folder"] = self.register.name
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        self.run: UUID | None = None

    def paused(self, deployment: str = "release/by-hand") -> str:
        """Start a run, and give its candidate when it waits."""
        spec = {"name": self.name, "changes": {"period": "2026-Q3"}}
        self.run = self.place.start(deployment, spec=spec, started_by="Ana")
        self.place.in_state(self.run, "Paused")
        (candidate,) = Register(self.register).chain().waiting
        return candidate

    def decide(self, client: httpx.Client, choice: str, reason: str = "") -> httpx.Response:
        (candidate,) = Register(self.register).chain().waiting
        return self.place.decide(client, self.register, candidate, choice, reason)

    def answer(self, **fields: str) -> None:
        """Fill in the form of the Prefect UI."""
        assert self.run is not None
        with self.place.client() as client:
            client.resume_flow_run(self.run, run_input=fields)

    def waits_again(self, paused: FlowRun) -> None:
        """Wait until a run that was resumed has paused again."""
        assert self.run is not None
        self.place.wait(
            self.run,
            lambda run: (
                run.state is not None and run.state.is_paused() and run.state != paused.state
            ),
        )

    def now(self) -> FlowRun:
        assert self.run is not None
        return self.place.run(self.run)

    def ended(self) -> tuple[str, str]:
        assert self.run is not None
        state = self.place.ended(self.run).state
        assert state is not None
        return str(state.name), state.message or ""

    def released(self) -> tuple[Manifest, str]:
        """Check what was published; give its manifest and its report."""
        register = Register(self.register)
        assert audit(self.register).faults == []
        assert verify(self.place.specs / "public" / self.name / "2026-Q3").k_claimed == 5
        last = register.chain().entries[-1]
        assert last.event == "published"
        report = register.attempts / last.attempt / "report.html"
        return register.manifest(last.attempt), report.read_text(encoding="utf-8")

    def names(self) -> list[tuple[str | None, str | None, bool | None]]:
        """List the decisions in the register: name, channel and whether it approves."""
        lines = Register(self.register).chain().entries
        return [
            (line.reviewer, line.channel, line.approved)
            for line in lines
            if line.event == "reviewed"
        ]


def subjects(letters: Letters, dataset: str, expected: int) -> list[str]:
    """Wait for so many letters about a dataset, and then whether another comes."""
    end = time.monotonic() + PATIENCE
    while True:
        told = [letter["Subject"] for _, letter in letters.received if dataset in letter["Subject"]]
        if len(told) >= expected:
            time.sleep(3)
            break
        assert time.monotonic() < end, told
        time.sleep(0.5)
    return [letter["Subject"] for _, letter in letters.received if dataset in letter["Subject"]]


def test_a_scheduled_run_waits_for_many_leases_and_goes_on_when_the_desk_decides(
    place: Site, letters: Letters
) -> None:
    data = Reviewed(place, "enterprise-survey")
    with place.client() as client:
        deployment = client.read_deployment_by_name("release/enterprise-survey").id
        client.request(
            "POST",
            "/deployments/{id}/schedule",
            path_params={"id": deployment},
            json={"start_time": "2026-10-14T00:00:00Z", "end_time": "2026-10-16T00:00:00Z"},
        )
    (run,) = place.runs("release", "enterprise-survey", "Paused")
    assert run.auto_scheduled
    data.run = run.id
    time.sleep(10 * LEASE_SECONDS)
    assert data.now().state == run.state
    bea = place.visitor("bea")
    answer = data.decide(bea, "approve", "figures are fine")
    assert answer.status_code == 200
    assert "The run that waited goes on" in answer.text
    assert data.ended() == ("Published", "published enterprise-survey 2026-Q3")
    assert data.names() == [("Bea", "desk", True)]
    manifest, report = data.released()
    assert manifest.review is not None
    (decision,) = manifest.review.decisions
    assert (decision.reviewer, decision.channel, decision.reason) == (
        "Bea", "desk", "figures are fine",
    )  # fmt: skip
    assert manifest.started_by == "the schedule"
    assert "Bea, approved in the desk" in report
    assert "a claimed name" not in report
    shown = bea.get(f"/releases/{key_of(data.register)}/{manifest.attempt}").text
    assert "figures are fine" in shown

    # one letter, with the address of the page on which it was decided
    assert subjects(letters, "enterprise-survey", 1) == [
        "Waits for a reviewer: enterprise-survey-2026-Q3"
    ]
    ((_, letter),) = (each for each in letters.received if "enterprise" in each[1]["Subject"])
    (link,) = (line for line in letter.get_content().splitlines() if line.startswith("decide: "))
    candidate = manifest.review.candidate
    assert link == f"decide: {place.desk}/review/{key_of(data.register)}/{candidate}"
    links = place.artefacts(run.id)
    page = f"{place.desk}/releases/{key_of(data.register)}/{manifest.attempt}"
    for kind in ("report", "files", "summary"):
        artefact = str(links[f"release-{kind}-enterprise-survey"].data)
        assert page in artefact
        assert "file://" not in artefact
    assert bea.get(page).status_code == 200


@pytest.mark.slow
def test_with_a_limit_on_its_deployment_a_run_would_not_outlast_a_lease(place: Site) -> None:
    data = Reviewed(place, "leased")
    with place.client() as client:
        deployment = client.read_deployment_by_name("release/by-hand").id
        client.update_deployment(deployment, DeploymentUpdate(concurrency_limit=1))
    try:
        spec = {"name": data.name, "changes": {"period": "2026-Q3"}}
        data.run = place.start("release/by-hand", spec=spec, started_by="Ana")
        assert data.ended()[0] == "Crashed"
    finally:
        with place.client() as client:
            client.update_deployment(deployment, DeploymentUpdate(concurrency_limit=None))


def test_a_rejection_in_the_desk_ends_the_run_as_rejected(place: Site, letters: Letters) -> None:
    data = Reviewed(place, "refused")
    data.paused()
    data.decide(place.visitor("bea"), "reject", "too coarse")
    assert data.ended() == ("Rejected", "rejected by Bea: too coarse")
    assert data.names() == [("Bea", "desk", False)]
    assert not (place.specs / "public" / "refused").exists()
    assert audit(data.register).faults == []
    assert subjects(letters, "refused", 2) == [
        "Waits for a reviewer: refused-2026-Q3", "Rejected: refused-2026-Q3",
    ]  # fmt: skip


def test_with_two_reviewers_a_run_waits_until_the_second_has_decided(place: Site) -> None:
    data = Reviewed(place, "twice", reviewers=2)
    data.paused()
    paused = data.now()
    bea, carl = place.visitor("bea"), place.visitor("carl")
    assert "Your approval is recorded" in data.decide(bea, "approve").text
    refused = data.decide(bea, "carry out")
    assert refused.status_code == 409
    assert "waits for another reviewer" in refused.text
    assert data.now().state == paused.state

    # whoever may resume runs can wake this one, and decides nothing by it
    for decision in ("reject", "approve"):
        data.answer(decision=decision, reviewer=WAKE)
        data.waits_again(paused)
        paused = data.now()
    assert data.names() == [("Bea", "desk", True)]

    data.decide(carl, "approve", "mine too")
    assert data.ended()[0] == "Published"
    assert data.names() == [("Bea", "desk", True), ("Carl", "desk", True)]
    manifest, report = data.released()
    assert manifest.review is not None
    assert manifest.review.reviewer == "Bea and Carl"
    assert "Bea, approved in the desk" in report
    assert "Carl, approved in the desk" in report


@pytest.mark.slow
def test_a_name_in_the_prefect_ui_is_a_claim_and_counts_where_the_spec_allows_it(
    place: Site,
) -> None:
    data = Reviewed(place, "claimed", reviewers=2)
    data.paused()
    paused = data.now()
    data.answer(decision="approve", reviewer="Dora", reason="")
    data.waits_again(paused)
    data.decide(place.visitor("bea"), "approve")
    assert data.ended()[0] == "Published"
    assert data.names() == [("Dora", "Prefect UI", True), ("Bea", "desk", True)]
    _, report = data.released()
    assert "Dora (a claimed name, Prefect UI), approved" in report
    assert "Bea, approved in the desk" in report


def test_a_name_in_the_prefect_ui_is_refused_where_the_spec_asks_for_checked_ones(
    place: Site,
) -> None:
    data = Reviewed(place, "checked", claimed_names=False)
    data.paused()
    for decision in ("approve", "reject"):
        paused = data.now()
        data.answer(decision=decision, reviewer="Bea", reason="")
        data.waits_again(paused)
    assert data.names() == []
    data.decide(place.visitor("bea"), "approve")
    assert data.ended()[0] == "Published"
    assert data.names() == [("Bea", "desk", True)]
    data.released()


@pytest.mark.slow
def test_a_candidate_that_no_run_holds_is_rejected_in_the_desk_and_told_of_once(
    place: Site, letters: Letters
) -> None:
    data = Reviewed(place, "sealed")
    spec = {"name": data.name, "changes": {"period": "2026-Q3"}}
    data.run = place.start("release/by-hand", spec=spec, candidate=True, started_by="Ana")
    assert data.ended()[0] == "Sealed"
    assert "Rejected" in data.decide(place.visitor("bea"), "reject", "too coarse").text
    assert subjects(letters, "sealed", 2) == [
        "Waits for a reviewer: sealed-2026-Q3", "Rejected: sealed-2026-Q3",
    ]  # fmt: skip


def test_an_attempt_that_was_killed_leaves_its_line_and_is_shown_as_killed(place: Site) -> None:
    data = Reviewed(place, "shot")
    locks = Register(data.register).locks
    locks.mkdir(parents=True)
    # held, so that the run stops and waits after it has begun
    with try_lock(locks / data.name, 0.0):
        spec = {"name": data.name, "changes": {"period": "2026-Q3"}}
        data.run = place.start("release/by-hand", spec=spec, started_by="Ana")
        end = time.monotonic() + PATIENCE
        while not (lines := Register(data.register).chain().entries):
            assert time.monotonic() < end
            time.sleep(0.2)
        bea = place.visitor("bea")
        page = f"/releases/{key_of(data.register)}/{lines[-1].attempt}"
        assert "running" in bea.get(page).text
        kill(process_of(place, data.run))
        assert data.ended()[0] == "Crashed"
    assert [line.event for line in Register(data.register).chain().entries] == ["key", "started"]
    shown = bea.get("/register", params={"dataset": "shot"}).text
    assert lines[-1].attempt in shown
    assert "killed" in shown
    assert "killed" in bea.get(page).text
    data.paused()
    assert "killed" in bea.get("/register", params={"dataset": "shot"}).text
    kill(process_of(place, data.run))
