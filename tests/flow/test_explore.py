"""The map, from the command line to its files."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from algorithms.errors import SpecError
from expectations.request.named import Changes
from expectations.request.spec_file import load
from flows.cli import main
from flows.outcome import Failed, outcome_of
from tests.conftest import Request
from tests.publishing import run_release

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]


def explore(request_of: Request, *options: str, **sections: Any) -> int:
    path = str(request_of.write(**sections))
    return main(["explore", path, "--folder", str(request_of.folder / "map"), *options])


@pytest.fixture
def explored(request_of: Request, capsys: pytest.CaptureFixture[str]) -> tuple[Request, str]:
    """Explore the small table, with one choice that cannot be."""
    options = ["--methods", "mdav", "mhm", "--orderings", "npn", "--k", "2-3", "500"]
    chosen = request_of.folder / "chosen.yaml"
    assert explore(request_of, *options, "--choose", str(chosen)) == 0
    return request_of, capsys.readouterr().out


def test_a_map_its_table_and_a_spec_are_written_and_nothing_is_published(
    explored: tuple[Request, str],
) -> None:
    request_of, shown = explored
    folder = request_of.folder / "map"
    assert {path.name for path in folder.iterdir()} == {
        "map.html",
        "map.svg",
        "map.png",
        "il-by-k.svg",
        "il-by-k.png",
        "choices.csv",
    }
    with (folder / "choices.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert [row["fault"] != "" for row in rows] == [False, False, True] * 2
    assert "k must not exceed the number of rows" in rows[2]["fault"]
    page = (folder / "map.html").read_text(encoding="utf-8")
    assert [row["k"] for row in rows] == ["2", "3", "500"] * 2
    assert [row["k_found"] != "" for row in rows] == [True, True, False] * 2
    assert [row["least_il"] != "" for row in rows] == [True, True, False] * 2
    assert [row["gap"] != "" for row in rows] == [True, True, False] * 2
    assert all(float(row["least_il"]) >= float(row["il_bound"]) for row in rows if row["il"])
    assert "Least possible IL by k, and the choice with the lowest IL at that k" in page
    assert "Best of the 4 of 6 choices measured: " in page
    assert 'class="notice caution"' in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    cells = re.findall(r"^  (?:mdav|mhm along npn), k = \d+ +\d+\.\d\d s", shown, re.MULTILINE)
    assert len(cells) == 6
    assert "Use " in shown
    assert "Caution: 2 of 6 choices were not measured" in shown
    assert not request_of.public.exists()
    assert not request_of.register.exists()
    spec = load(request_of.folder / "chosen.yaml")
    assert f"choices measured: {spec.microaggregation.method}" in page
    assert spec.microaggregation.k == 3
    assert main(["run", str(request_of.folder / "chosen.yaml"), "--dry-run"]) == 0


def test_a_spec_without_ceilings_is_explored_and_gets_proposed_ones(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = request_of.folder / "chosen.yaml"
    options = ["--methods", "mdav", "best", "--k", "3", "--choose", str(chosen)]
    assert explore(request_of, *options, gate=None, release={"name": "unlimited"}) == 0
    shown = capsys.readouterr().out
    assert "The spec lacks ceilings. Proposed for " in shown
    assert "\ngate:\n  ceilings:\n    il: " in shown
    page = (request_of.folder / "map" / "map.html").read_text(encoding="utf-8")
    assert "Proposed limits" in page
    with get_client(sync_client=True) as client:
        key = ArtifactFilterKey(any_=["explore-recommendation-unlimited"])
        (artefact,) = client.read_artifacts(artifact_filter=ArtifactFilter(key=key))
    assert "```yaml" in str(artefact.data)
    assert "methods not tried: cbfs, " in str(artefact.data)
    spec = load(chosen)
    assert not spec.gate.ceilings.missing
    assert main(["run", str(chosen), "--dry-run"]) == 0


@pytest.mark.parametrize("options", [{}, {"dry_run": True}, {"candidate": True}])
def test_no_run_releases_by_ceilings_that_were_not_reviewed(
    request_of: Request, options: dict[str, bool]
) -> None:
    path = request_of.write(gate=None)
    for changes in (Changes(), Changes(il=100.0, dld=100.0)):
        outcome = outcome_of(run_release(path, changes, started_by="Ana", **options))
        assert isinstance(outcome, Failed)
        assert isinstance(outcome.error, SpecError)
        assert "before anything can be released; none are given" in outcome.sentence
    assert not request_of.register.exists()
    assert not request_of.public.exists()


def test_prefect_shows_the_recommendation_and_all_choices(explored: tuple[Request, str]) -> None:
    with get_client(sync_client=True) as client:
        keys = ["explore-recommendation-small", "explore-choices-small"]
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=keys))
        )
    assert {artifact.key for artifact in found} == set(keys)


def test_a_wrong_name_or_file_is_told_before_anything_runs(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore(request_of, "--methods", "mdva") == 10
    assert "did you mean 'mdav'" in capsys.readouterr().err
    assert explore(request_of, "--orderings", "nnp") == 10
    assert explore(request_of, "--choose", str(request_of.path)) == 10
    assert "must not be overwritten" in capsys.readouterr().err
    assert not (request_of.folder / "map").exists()


def test_a_table_that_does_not_fit_its_spec_is_not_explored(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    request_of.source.unlink()
    assert explore(request_of, "--methods", "mdav", "--k", "2") == 11
    assert "table.csv" in capsys.readouterr().err


@pytest.mark.parametrize("k", ["1", "x", "3-"])
def test_group_sizes_are_numbers_or_ranges(request_of: Request, k: str) -> None:
    with pytest.raises(SystemExit) as raised:
        explore(request_of, "--k", k)
    assert raised.value.code == 2


def test_where_nothing_is_admissible_no_spec_is_written(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = request_of.folder / "chosen.yaml"
    code = explore(
        request_of,
        "--methods",
        "mdav",
        "--k",
        "3",
        "--choose",
        str(chosen),
        gate={"ceilings": {"il": 0.0, "dld": 0.0}},
    )
    assert code == 12
    assert "No choice meets all limits" in capsys.readouterr().err
    assert not Path(chosen).exists()
