"""Of runs whose output a program reads: one document on standard output, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from algorithms.measure import figure
from flows.cli import main
from tests.conftest import Request

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

ALWAYS = {
    "release", "outcome", "sentence", "warnings", "verdicts", "measures", "certificate",
    "public_folder", "manifest", "report", "candidate",
}  # fmt: skip


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    return content


def test_a_release_tells_where_it_is_and_what_was_measured(
    request_of: Request, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request_of.write()
    monkeypatch.chdir(request_of.folder)
    assert main(["run", "spec.yaml", "--json"]) == 0
    told = document(capsys)
    assert set(told) == ALWAYS
    assert told["outcome"] == "published"
    assert told["public_folder"] == "public/small/2026-Q3"
    assert Path(told["manifest"]).is_file()
    assert Path(told["report"]).is_file()
    assert told["measures"]["il"] == figure(told["measures"]["il"])
    assert {verdict["measure"] for verdict in told["verdicts"]} == {"il", "dld", "k"}
    assert len(told["warnings"]) == 2


def test_a_blocked_run_tells_its_verdicts_and_its_fault(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = str(request_of.write(gate={"ceilings": {"il": 1.0, "dld": 2.0}}))
    assert main(["run", spec, "--json"]) == 12
    told = document(capsys)
    assert set(told) == {*ALWAYS, "error"}
    assert (told["error"]["kind"], told["error"]["exit_code"]) == ("blocked", 12)
    assert told["error"]["sentence"] == told["sentence"]
    assert [verdict["passed"] for verdict in told["verdicts"]] == [False, False, True]
    assert told["public_folder"] is None


def test_an_exploration_tells_its_choices(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, folder = str(request_of.write()), str(request_of.folder / "map")
    options = ["--methods", "mdav", "--k", "3", "--workers", "1", "--folder", folder]
    assert main(["explore", spec, *options, "--json"]) == 0
    told = document(capsys)
    assert told["recommended"] == {"method": "mdav", "k": 3}
    (choice,) = told["choices"]
    assert choice["within_limits"]
    assert told["least_il"][str(choice["k"])] <= choice["least_il"] <= choice["measures"]["il"]
    assert choice["gap"] >= 0.0
    assert choice["measures"]["k"] == 3.0
    assert told["map"] == f"{folder}/map.html"
    assert told["spec"] is None
