"""Releases on a real server with a real worker, started, judged and approved in a real browser."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import PrefectHTTPStatusError
from prefect.states import AwaitingRetry, Scheduled
from prefect.workers.process import ProcessJobConfiguration

from expectations.published.verifier import verify
from expectations.request.spec_file import load
from flows.cli import main
from flows.operation.installation import POOL
from flows.states import WAITING_FOR_SOURCE
from tasks.store.audit import audit
from tasks.store.register import Register
from tests.browser import Browser, browser
from tests.operation.site import Site, site

pytestmark = [pytest.mark.flow, pytest.mark.operation]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site")) as started:
        yield started


@pytest.fixture(scope="module")
def window(place: Site) -> Iterator[Browser]:
    # drawn without a graphics card, the graph of a run takes a whole core
    with browser("--disable-3d-apis") as opened:
        place.log_in(opened)
        yield opened
        strangers = [
            url
            for url in opened.requests
            if not url.startswith((f"{place.url}/", f"blob:{place.url}/", "data:"))
        ]
        assert strangers == []
        assert len(opened.requests) > 20


@pytest.fixture(scope="module")
def blocked(place: Site) -> FlowRun:
    """Publish one period of the dataset "judged", and have the next blocked."""
    place.write_spec("judged")
    for changes in ({"period": "2026-Q2"}, {"period": "2026-Q3", "il": 1.0}):
        spec = {"name": "judged", "changes": changes}
        run = place.ended(place.start("release/by-hand", spec=spec, started_by="Ana"))
    return run


def deployment_page(place: Site, name: str) -> str:
    with place.client() as client:
        return f"{place.url}/deployments/deployment/{client.read_deployment_by_name(name).id}"


def submit(window: Browser, is_done: str) -> None:
    """Submit a form; once more if SQLite was busy, which Prefect leaves to whoever submits."""
    window.click("button", "Submit")
    wrong = "/went wrong|failed|error/i.test(document.body.innerText)"
    window.wait(f"{is_done} || {wrong}", "an end of the form")
    if not window.evaluate(is_done):
        window.click("button", "Submit")
        window.wait(is_done, "an end of the form")


def status_of(place: Site) -> str:
    """Ask for the status of an installation, as its owner does."""
    shown = subprocess.run(
        [sys.executable, "-m", "flows.cli", "status", "--home", str(place.home)],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(place.folder)},
    )
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


@pytest.mark.needs("Chromium")
@pytest.mark.parametrize("path", ["", "/login", "/runs?state=failed"])
def test_the_login_page_shows_no_advert_and_no_error_before_anything_is_typed(
    place: Site, path: str
) -> None:
    with browser() as window:
        window.visit(place.url + path)
        window.wait_for("Login")
        # what the page asks for before the login has been refused by then
        window.wait(
            "performance.getEntriesByName(location.origin + '/api/admin/version').length", ""
        )
        window.evaluate("new Promise(done => setTimeout(done, 2000))")
        assert window.text.split() == ["Login", "Login"]
        assert not window.evaluate("document.querySelector('.p-toast__card')")
        window.click("input")
        window.type("microrelease:wrong")
        window.click("button", "Login")
        window.wait_for("Authentication failed")
        assert "Prefect Cloud" not in window.text
        assert "Something went wrong" not in window.text


def test_scheduled_runs_appear(place: Site) -> None:
    due = place.runs("audit", "every-night", "Scheduled")
    assert all(run.auto_scheduled for run in due)


def test_status_tells_what_runs_and_what_is_due(place: Site) -> None:
    shown = status_of(place)
    assert f"server    answers at {place.url}/api" in shown
    assert f"desk      answers at {place.desk}" in shown
    for name in ("release/enterprise-survey", "audit/every-night", "explore/enterprise-survey"):
        assert name in shown


@pytest.mark.slow
def test_deploying_again_changes_nothing(place: Site) -> None:
    def told() -> tuple[set[str], set[str], int]:
        with place.client() as client:
            deployments = {str(deployment.id) for deployment in client.read_deployments()}
            automations = {str(automation.id) for automation in client.read_automations()}
            limits = client.read_global_concurrency_limits()
        return deployments, automations, len(limits)

    before = told()
    environment = {
        **os.environ,
        "PREFECT_API_URL": f"{place.url}/api",
        "PREFECT_API_AUTH_STRING": place.password,
        "MICRORELEASE_SPECS": str(place.specs),
    }
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "deploy"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert told() == before
    assert len(before[1]) == 2


@pytest.mark.needs("Chromium")
def test_a_run_with_another_k_is_started_in_the_browser_and_published(
    place: Site, window: Browser
) -> None:
    page = deployment_page(place, "release/enterprise-survey")
    window.visit(f"{page}/run", height=1600)
    window.wait_for("k (Optional)")
    window.fill("Period (Optional)", "2026-Q2")
    window.fill("k (Optional)", "6")
    window.fill("started_by (Optional)", "Ana")
    submit(window, "!location.pathname.endsWith('/run')")
    (run,) = place.runs(
        "release", "enterprise-survey", "Pending", "Running", "Published",
        where=lambda run: run.parameters.get("started_by") == "Ana",
    )  # fmt: skip
    window.visit(f"{place.url}/runs/flow-run/{run.id}")
    window.wait_for("enterprise-survey-2026-Q2")
    window.wait_for("Published")
    folder = place.specs / "public" / "enterprise-survey" / "2026-Q2"
    assert verify(folder).k_claimed == 6
    (manifest,) = (place.specs / "register" / "attempts").glob("*-survey-2026-Q2/manifest.json")
    assert json.loads(manifest.read_bytes())["started_by"] == "Ana"


@pytest.mark.needs("Chromium")
def test_a_blocked_run_is_shown_red_with_its_sentence_and_told_of_once(
    place: Site, window: Browser, blocked: FlowRun
) -> None:
    assert blocked.state is not None
    assert blocked.state.name == "Blocked"
    window.visit(f"{place.url}/runs/flow-run/{blocked.id}")
    window.wait_for("Blocked")
    window.wait_for("above its ceiling of 1.00 %")
    colour = window.evaluate(
        """[...document.querySelectorAll("*")].filter(e => e.children.length === 0
        && e.innerText === "Blocked").map(
            e => getComputedStyle(e.closest("[class*=state]") || e).backgroundColor)[0]"""
    )
    red, green, blue = (int(part) for part in colour.split("(")[1].split(")")[0].split(",")[:3])
    assert red > 1.5 * max(green, blue)
    artefacts = place.artefacts(blocked.id)
    assert {f"release-{kind}-judged" for kind in (
        "measures", "summary", "expectations", "progress", "report"
    )} <= set(artefacts)  # fmt: skip
    summary = str(artefacts["release-summary-judged"].data)
    assert summary.startswith("# Blocked")
    assert "data:image/png;base64," in summary

    outbox = place.home / "outbox"
    told = json.loads((outbox / f"{blocked.id}.json").read_text(encoding="utf-8"))
    assert told["state"] == "Blocked"
    assert "above its ceiling" in told["message"]


@pytest.mark.needs("Chromium")
def test_artefacts_show_the_history_of_a_dataset(
    place: Site, window: Browser, blocked: FlowRun
) -> None:
    window.visit(f"{place.url}/artifacts/key/release-measures-judged")
    window.wait_for("release-measures-judged")
    for quarter in ("2026-Q2", "2026-Q3"):
        window.wait_for(quarter)
    summary = place.artefacts(blocked.id)["release-summary-judged"]
    window.visit(f"{place.url}/artifacts/artifact/{summary.id}")
    window.wait_for("Blocked: Quarterly enterprise survey, 2026-Q3")
    plots = "[...document.images].filter(i => i.src.startsWith('data:image/png'))"
    window.wait(f"{plots}.some(i => i.naturalWidth > 300)", "a plot")


@pytest.mark.needs("Chromium")
def test_a_release_waits_until_someone_else_approves_it_in_the_browser(
    place: Site, window: Browser
) -> None:
    place.write_spec(
        "reviewed", gate={"ceilings": {"il": 60.0, "dld": 100.0}, "review": {"hours": 1.0}}
    )
    spec = {"name": "reviewed", "changes": {"period": "2026-Q3"}}
    run_id = place.start("release/by-hand", spec=spec, started_by="Ana")
    paused = place.in_state(run_id, "Paused").state
    register = place.specs / "register"
    assert [name[7:] for name in Register(register).chain().waiting] == ["reviewed-2026-Q3"]
    assert not (place.specs / "public" / "reviewed").exists()

    def answer(name: str) -> None:
        window.visit(f"{place.url}/runs/flow-run/{run_id}")
        window.click("button", "Resume")
        window.wait_for("started by Ana, passed its gate")
        window.wait_for("no method could lose less than")
        window.choose("Decision (Optional)", "approve")
        window.fill("Reviewer", name)
        submit(window, "!document.body.innerText.includes('Resume Flow Run')")

    answer("ana")
    place.wait(
        run_id,
        lambda run: run.state is not None and run.state.is_paused() and run.state != paused,
    )
    answer("Bea")
    run = place.ended(run_id)
    assert run.state is not None
    assert run.state.name == "Published", run.state.message
    assert verify(place.specs / "public" / "reviewed" / "2026-Q3").k_claimed == 5
    last = Register(register).chain().entries[-1]
    review = Register(register).manifest(last.attempt).review
    assert review is not None
    assert review.reviewer == "Bea"
    assert audit(register).faults == []


@pytest.mark.slow
def test_a_late_run_releases_the_period_it_was_due_for_and_so_does_its_repetition(
    place: Site,
) -> None:
    place.write_spec("late")
    run_id = place.start(
        "release/by-hand", due=datetime(2026, 9, 30, 22, 30, tzinfo=UTC), spec={"name": "late"}
    )
    run = place.ended(run_id)
    assert run.state is not None
    # it is October in Madrid already
    assert run.state.message == "published late 2026-Q3"
    with place.client() as client:
        client.set_flow_run_state(run_id, AwaitingRetry(), force=True)
    place.wait(run_id, lambda run: run.state is not None and not run.state.is_scheduled())
    repeated = place.ended(run_id)
    assert repeated.state is not None
    assert repeated.state.name == "Published"
    assert "same data and claims" in (repeated.state.message or "")


def test_a_run_waits_for_its_source_without_a_process_and_ends_when_it_is_there(
    place: Site,
) -> None:
    source = place.specs / "awaited-2026-Q3.csv"
    place.write_spec(
        "awaited",
        source={"path": "awaited-{period}.csv", "wait": {"hours": 1.0}},
        microaggregation={"method": "mdav", "options": {}},
    )
    due = datetime(2026, 10, 1, tzinfo=UTC)
    named = {"name": "awaited", "changes": {"period": "2026-Q3"}}
    run_id = place.start("release/by-hand", spec=named)
    waiting = place.in_state(run_id, WAITING_FOR_SOURCE)
    assert waiting.state is not None
    assert waiting.state.is_scheduled()
    assert "awaited-2026-Q3.csv' is not there; the run waits until" in (waiting.state.message or "")
    assert f"waiting   awaited-2026-Q3: {WAITING_FOR_SOURCE} since" in status_of(place)

    source.write_bytes((place.specs / "enterprise-survey-2026-Q3.csv").read_bytes())
    with place.client() as client:  # instead of minutes later
        client.set_flow_run_state(run_id, Scheduled(name=WAITING_FOR_SOURCE), force=True)
    run = place.ended(run_id)
    assert run.state is not None
    assert run.state.name == "Published", run.state.message
    assert run.run_count == 2
    register = Register(place.specs / "register")
    own = [e.event for e in register.chain().entries if "awaited" in e.attempt]
    assert own == ["started", "publishing", "published"]

    source.unlink()
    named["changes"] = {"period": "2026-Q3", "k": 6}
    late = place.ended(place.start("release/by-hand", due, spec=named))
    assert late.state is not None
    assert late.state.name == "Invalid"
    words = "although the run waited until 2026-10-01 01:00 UTC, 1 hour after it was due"
    assert words in (late.state.message or "")


REVIEW = {"ceilings": {"il": 60.0, "dld": 100.0}, "review": {"hours": 1.0}}


def test_whoever_may_start_runs_cannot_get_round_a_reviewed_spec(place: Site) -> None:
    place.write_spec("guarded", gate=REVIEW)
    whole = load(place.specs / "guarded.yaml").model_dump(mode="json")
    whole["release"]["period"] = "2026-Q3"
    whole["gate"]["review"] = None
    whole["columns"]["identifiers"] = []
    whole["columns"]["other"].append("company")
    loosened = {"period": "2026-Q3", "k": 2, "il": 100, "dld": 100}
    by_hand = "release/by-hand"
    with pytest.raises(PrefectHTTPStatusError, match="Validation failed"):
        place.start(by_hand, spec=whole)
    with place.client() as client:
        deployment = client.read_deployment_by_name(by_hand).id
        answer = client.request(
            "POST",
            "/deployments/{id}/create_flow_run",
            path_params={"id": deployment},
            json={"parameters": {"spec": whole}, "enforce_parameter_schema": False},
        )
    runs = {
        "whole": UUID(answer.json()["id"]),
        "loosened": place.start(
            by_hand, spec={"name": "guarded", "changes": loosened}, started_by="Ana"
        ),
        "nameless": place.start(
            by_hand, spec={"name": "guarded", "changes": {"period": "2026-Q3"}}, started_by=" "
        ),
        "forged": place.start(
            "approve/candidate",
            register_folder=str(place.folder / "forged"),
            candidate="000001-guarded-2026-Q3",
            reviewer="Bea",
        ),
    }
    ends = {name: place.ended(run).state for name, run in runs.items()}
    said = {name: (state.name, state.message or "") for name, state in ends.items() if state}
    assert said["whole"][0] == "Failed"
    assert "invalid parameters" in said["whole"][1]
    assert [said[name][0] for name in ("loosened", "nameless", "forged")] == ["Misspecified"] * 3
    assert "k: may only be raised in a run; the reviewed spec says 5" in said["loosened"][1]
    assert "ceilings.il: may only be lowered" in said["loosened"][1]
    assert "give your name in started_by" in said["nameless"][1]
    assert "no reviewed spec has the register" in said["forged"][1]
    assert not (place.specs / "public" / "guarded").exists()


@pytest.mark.parametrize(
    "variables",
    [
        {"env": {"MICRORELEASE_SPECS": "/tmp"}},
        {"env.MICRORELEASE_SPECS": "/tmp"},
        {"command": "true"},
        {"working_dir": "/tmp"},
    ],
)
def test_a_run_cannot_choose_its_environment_or_its_command(
    place: Site, variables: dict[str, Any]
) -> None:
    with place.client() as client:
        deployment = client.read_deployment_by_name("release/enterprise-survey").id
        with pytest.raises(PrefectHTTPStatusError, match="Additional properties are not allowed"):
            client.create_flow_run_from_deployment(deployment, job_variables=variables)
        # should the server let them through, the worker does not take them
        template = client.read_work_pool(POOL).base_job_template
        job = asyncio.run(ProcessJobConfiguration.from_template_and_values(template, variables))
    assert (job.command, job.env, job.working_dir) == (None, {}, None)


def test_a_scheduled_run_may_be_reviewed_though_nobody_started_it(place: Site) -> None:
    place.write_spec("scheduled", gate=REVIEW)
    cron = {"cron": "0 6 15 1,4,7,10 *", "timezone": "UTC"}
    with place.client() as client:
        deployment = client.read_deployment_by_name("release/by-hand").id
        parameters = {"spec": {"name": "scheduled"}, "started_by": "Bea"}
        (schedule,) = client.request(
            "POST",
            "/deployments/{id}/schedules",
            path_params={"id": deployment},
            json=[{"schedule": cron, "active": True, "parameters": parameters}],
        ).json()
        client.request(
            "POST",
            "/deployments/{id}/schedule",
            path_params={"id": deployment},
            json={"start_time": "2026-10-15T00:00:00Z", "end_time": "2026-10-16T00:00:00Z"},
        )
    (run,) = place.runs("release", "by-hand", "Paused")
    assert run.auto_scheduled
    with place.client() as client:
        answer = {"decision": "approve", "reviewer": "Bea", "reason": ""}
        client.resume_flow_run(run.id, run_input=answer)
        client.delete_deployment_schedule(deployment, UUID(schedule["id"]))
    state = place.ended(run.id).state
    assert state is not None
    assert state.message == "published scheduled 2026-Q3"
    register = Register(place.specs / "register")
    (published,) = (
        entry.attempt
        for entry in register.chain().entries
        if entry.event == "published" and entry.dataset == "scheduled"
    )
    manifest = register.manifest(published)
    assert manifest.review is not None
    assert (manifest.started_by, manifest.review.reviewer) == ("the schedule", "Bea")


def test_the_audit_flow_names_what_was_altered(place: Site, blocked: FlowRun) -> None:
    register = place.specs / "register"
    run = place.ended(place.start("audit/every-night"))
    assert run.state is not None
    assert run.state.name == "Verified", run.state.message
    lines = (register / "register.jsonl").read_bytes()
    (register / "register.jsonl").write_bytes(b"".join(lines.splitlines(keepends=True)[:-2]))
    try:
        run = place.ended(place.start("audit/every-night"))
    finally:
        (register / "register.jsonl").write_bytes(lines)
    assert run.state is not None
    assert run.state.name == "Corrupt"
    assert "lines were removed" in (run.state.message or "")
    assert main(["audit", str(register)]) == 0
