"""A series of the example, from the command line to its timeline."""

import csv
import re
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from flows.cli import main
from flows.example import SPEC
from tests.example import change_example

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def quarters() -> list[str]:
    found = re.search(r"^QUARTERS := (.+)$", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found[1].split()


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("series")
    assert main(["example", str(folder), "--rows", "600"]) == 0
    return change_example(folder)


def test_the_quarters_of_make_series_are_those_of_the_example(example: Path) -> None:
    names = [f"{SPEC.stem}-{quarter}.csv" for quarter in quarters()]
    assert sorted(path.name for path in example.parent.glob("*.csv")) == names
    assert len(names) >= 4


def test_quarters_are_released_in_a_row_and_end_with_the_timeline(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for quarter in quarters()[:4]:
        assert main(["run", str(example), "--period", quarter]) == 0, quarter
    register = example.parent / "register"
    capsys.readouterr()
    assert main(["register", str(register)]) == 0
    shown = capsys.readouterr().out
    assert "Timeline of enterprise-survey" in shown
    for quarter in quarters()[:4]:
        row = re.search(
            rf"^ ?{quarter} +[0-9.]+ % +[0-9.]+ % +(\d+) +[0-9.]+ % +published", shown, re.MULTILINE
        )
        assert row, quarter
        assert int(row[1]) >= 5
    assert "fewest candidates" in (register / "index.html").read_text(encoding="utf-8")
    with get_client(sync_client=True) as client:
        key = ArtifactFilterKey(any_=["release-timeline-enterprise-survey"])
        found = client.read_artifacts(artifact_filter=ArtifactFilter(key=key))
    assert max(str(each.data).count("| published |") for each in found) == 4


def test_a_replay_of_the_example_keeps_k_by_cohorts_and_not_by_fresh_groups(
    example: Path, tmp_path: Path
) -> None:
    options = ["--periods", *quarters()[:3], "--ceilings", "1.25", "--out", str(tmp_path)]
    assert main(["series", str(example), *options]) == 0
    with (tmp_path / "releases.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    last = {row["method"]: row for row in rows if row["period"] == quarters()[2]}
    assert float(last["mdav"]["under_k_across"]) > 50.0
    assert float(last["cohorts"]["under_k_across"]) == 0.0
    assert int(float(last["cohorts"]["candidates_min"])) >= 5
    assert float(last["cohorts"]["over_fresh"]) <= 1.25
