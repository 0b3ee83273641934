"""Whole releases through a Prefect server, from the command line."""

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from algorithms.evaluation import PUBLIC_MEASURES
from algorithms.measure import figure
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from expectations.published.claims import Kind
from expectations.published.files import checksums
from expectations.published.verifier import verify
from flows.cli import main
from tasks.stage import RELEASE_STAGES
from tasks.store import public_folder
from tasks.store.audit import audit
from tasks.store.register import Register
from tests.conftest import Request
from tests.publishing import events, run_release

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]


def some_quick(names: Iterable[str], quick: tuple[str, ...], *more: str) -> list[Any]:
    """List cases of which only some are tried in every run; contract tests try all of them."""
    return [
        pytest.param(name, *more, marks=() if name in quick else pytest.mark.slow) for name in names
    ]


def run(request_of: Request, *options: str, **sections: Any) -> int:
    return main(["run", str(request_of.write(**sections)), *options])


def test_a_release_shows_its_stages_and_figures_and_where_the_files_are(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(request_of) == 0
    shown = capsys.readouterr().out
    stages = [name for name in RELEASE_STAGES if name not in ("seal", "decide")]
    assert [line.split()[0] for line in shown.splitlines() if line.endswith(" s")][1:] == stages
    folder = request_of.public / "small" / "2026-Q3"
    assert f"public files  {folder}" in shown.replace("\n", "")
    assert "IL" in shown
    assert "passed" in shown
    assert verify(folder).k_found >= 3
    assert audit(request_of.register).verified == [str(folder)]

    assert run(request_of) == 0
    assert "already published with the same data and claims" in capsys.readouterr().out
    assert events(request_of) == ["started", "publishing", "published", "started", "unchanged"]


def test_the_manifest_names_the_blocks(request_of: Request) -> None:
    assert run(request_of, microaggregation={"blocks": {"seams": 2}}) == 0
    (path,) = request_of.register.glob("attempts/*/manifest.json")
    assert json.loads(path.read_bytes())["blocks"] == {"rows": 40_000, "seams": 2}


def test_the_manifest_holds_what_an_auditor_needs(request_of: Request) -> None:
    assert run(request_of) == 0
    (path,) = request_of.register.glob("attempts/*/manifest.json")
    manifest = json.loads(path.read_bytes())
    folder = request_of.public / "small" / "2026-Q3"
    assert manifest["public"] == {"folder": str(folder), "checksums": checksums(folder)}
    assert manifest["spec"]["gate"]["ceilings"] == {"il": 100.0, "dld": 100.0}
    bounds = manifest["evaluation"]["bounds"]
    assert list(bounds["least"]) == ["2", "3", "4", "5", "6", "7"]
    assert bounds["least"]["3"] == pytest.approx(
        manifest["evaluation"]["measures"]["il_bound"], rel=1e-3
    )
    assert bounds["note"] == ""
    assert "What another k would cost" in path.with_name("report.html").read_text(encoding="utf-8")
    assert manifest["input"]["rows"] == 7
    assert {"il", "dld", "sse", "sst", "k"} <= set(manifest["evaluation"]["measures"])
    assert manifest["evaluation"]["sizes"] == {"3": 1, "4": 1}
    assert {name for column in manifest["evaluation"]["columns"] for name in column} == {
        "il",
        "mean_change",
        "variance_ratio",
    }
    package = json.loads((folder / "datapackage.json").read_bytes())["microrelease"]
    for value in (
        *(
            v
            for name, v in manifest["evaluation"]["measures"].items()
            if name not in PUBLIC_MEASURES
        ),
        *(value for column in manifest["evaluation"]["columns"] for value in column.values()),
        *(verdict["value"] for verdict in manifest["gate"]),
        *(package[name] for name in ("il_percent", "il_rounding_percent", "dld_percent")),
    ):
        assert value == figure(value)
    report = path.with_name("report.html").read_bytes()
    assert manifest["report_sha256"] == hashlib.sha256(report).hexdigest()
    assert all(finding["met"] for finding in manifest["expectations"])
    assert manifest["code"]["version"] == version("microrelease")
    assert manifest["environment"]["numpy"]
    assert manifest["seconds"] >= 0


def test_a_blocked_release_leaves_no_public_file_and_is_recorded(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(request_of, gate={"ceilings": {"il": 1.0, "dld": 2.0}}) == 12
    shown = capsys.readouterr()
    assert "IL is " in shown.err
    assert "above its ceiling of 1.00 %: try the method best with iterations, then" in shown.err
    assert "DLD is " in shown.err
    assert "failed" in shown.out
    assert not request_of.public.exists()
    assert events(request_of) == ["started", "blocked"]
    (path,) = request_of.register.glob("attempts/*/manifest.json")
    manifest = json.loads(path.read_bytes())
    assert manifest["decision"] == "blocked"
    assert "IL is" in manifest["reason"]
    assert manifest["evaluation"]["measures"]["il"] > 1.0
    assert "above its ceiling of 1.00 %" in path.with_name("report.html").read_text("utf-8")
    assert manifest["seconds"] >= 0
    assert manifest["started"] <= manifest["ended"]


def test_prefect_shows_published_and_blocked_by_name(request_of: Request) -> None:
    state = run_release(request_of.write())
    assert (state.type.value, state.name) == ("COMPLETED", "Published")
    strict = request_of.write(
        gate={"ceilings": {"il": 0.0, "dld": 100.0}}, release={"name": "shown-as-blocked"}
    )
    state = run_release(strict)
    assert (state.type.value, state.name) == ("FAILED", "Blocked")
    assert (state.message or "").startswith("IL is ")
    with get_client(sync_client=True) as client:
        stored = client.read_flow_run(state.state_details.flow_run_id)
        artefacts = client.read_artifacts(
            artifact_filter=ArtifactFilter(
                key=ArtifactFilterKey(any_=["release-measures-shown-as-blocked"])
            )
        )
    assert stored.state is not None
    assert stored.state.name == "Blocked"
    assert stored.name == "shown-as-blocked-2026-Q3"
    (artefact,) = artefacts
    rows = json.loads(str(artefact.data))
    assert [row["measure"] for row in rows] == ["IL", "DLD", "k"]


def test_a_dry_run_judges_and_writes_nothing(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(request_of, "--dry-run") == 0
    assert "a dry run publishes and records nothing" in capsys.readouterr().out
    assert run(request_of, "--dry-run", gate={"ceilings": {"il": 0.0, "dld": 0.0}}) == 12
    assert sorted(path.name for path in request_of.folder.iterdir()) == ["spec.yaml", "table.csv"]


def test_a_period_is_published_once_and_then_revised(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(request_of) == 0
    rows = request_of.source.read_text(encoding="utf-8")
    request_of.source.write_text(rows.replace("90.0", "89.0"), encoding="utf-8")
    assert run(request_of) == 12
    assert "set release.revision to 1 and give release.reason" in capsys.readouterr().err
    assert run(request_of, release={"revision": 1}) == 10
    assert "a revision must say why the period is published again" in capsys.readouterr().err
    revision = {"revision": 1, "reason": "one value was wrong"}
    assert run(request_of, release=revision, microaggregation={"k": 2}) == 12
    assert "must not have a smaller k than the release it revises" in capsys.readouterr().err
    assert run(request_of, release=revision) == 0
    published, blocked = ["started", "publishing", "published"], ["started", "blocked"]
    assert events(request_of) == [*published, *blocked, *blocked, *published]
    assert main(["audit", str(request_of.register)]) == 0
    folder = request_of.public / "small" / "2026-Q3-revision-1"
    assert "one value was wrong" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_second_release_whose_spec_says_nothing_of_its_series_is_warned_of(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(request_of) == 0
    assert "protects its series" not in capsys.readouterr().err
    rows = request_of.source.read_text(encoding="utf-8")
    request_of.source.write_text(rows.replace("44,95.0", "2,11.0"), encoding="utf-8")
    assert run(request_of, release={"period": "2026-Q4"}) == 0
    register = Register(request_of.register)
    manifest = register.manifest(register.chain().published[-1].attempt)
    (warning,) = [each for each in manifest.warnings if "protects its series" in each]
    assert "compared with 1 earlier release: fewest candidates across releases 1, " in warning
    report = (register.attempts / manifest.attempt / "report.html").read_text(encoding="utf-8")
    assert "Compared with earlier releases" in report
    assert warning in report


def test_a_budget_in_seconds_is_not_released(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    how = {"method": "best", "options": {"seconds": 0.05}}
    assert run(request_of, microaggregation=how) == 10
    assert "microaggregation.options.seconds: a release must not" in capsys.readouterr().err
    assert events(request_of) == ["started", "failed"]
    assert not request_of.public.exists()


def test_a_dataset_is_released_from_one_spec_file_and_into_one_register(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(request_of) == 0
    (path,) = request_of.register.glob("attempts/*/manifest.json")
    told = json.loads(path.read_bytes())
    digest = hashlib.sha256(request_of.path.read_bytes()).hexdigest()
    assert told["spec_file"] == {"name": "spec.yaml", "sha256": digest}
    assert told["changes"] == []

    other = request_of.folder / "other.yaml"
    request_of.write(gate={"ceilings": {"il": 99.0, "dld": 99.0}}).rename(other)
    assert main(["run", str(other), "--period", "2026-Q4"]) == 12
    assert "set release.formerly to spec.yaml" in capsys.readouterr().err
    request_of.write(release={"formerly": "spec.yaml"}).rename(other)
    assert main(["run", str(other), "--period", "2026-Q4"]) == 0

    elsewhere = {"publication": {"register_folder": "another"}, "release": {"period": "2027-Q1"}}
    assert run(request_of, **elsewhere) == 12
    assert "2 in " in capsys.readouterr().err
    assert {path.name for path in (request_of.public / "small").iterdir()} == {"2026-Q3", "2026-Q4"}


def test_a_disk_that_fails_once_is_tried_again(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [OSError(5, "Input/output error")]
    reveal = public_folder.reveal

    def unsteady(*arguments: Any) -> None:
        if failures:
            raise failures.pop()
        reveal(*arguments)

    monkeypatch.setattr(public_folder, "reveal", unsteady)
    assert run(request_of) == 0
    assert events(request_of) == ["started", "publishing", "abandoned", "publishing", "published"]
    assert audit(request_of.register).faults == []


def test_each_column_on_its_own_is_warned_of_and_blocked(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    how = {"method": "imhmi", "ordering": "zscore", "each_column": True}
    assert run(request_of, microaggregation=how) == 12
    shown = capsys.readouterr().err
    assert "warning: each of 2 quasi-identifiers is grouped on its own" in shown
    assert "must occur in k=3 records; the rarest" in shown
    manifest = next(request_of.register.glob("attempts/*/manifest.json"))
    assert json.loads(manifest.read_text(encoding="utf-8"))["warnings"]


@pytest.mark.parametrize("ordering", some_quick(ORDERINGS, ("npn", "zscore")))
def test_what_is_cut_along_every_path_is_released_and_rounding_is_told(
    request_of: Request, ordering: str, capsys: pytest.CaptureFixture[str]
) -> None:
    how = {"method": "imhmi", "ordering": ordering}
    assert run(request_of, columns={"decimals": {"sales": 1}}, microaggregation=how) == 0
    assert "of which rounding accounts for" in " ".join(capsys.readouterr().out.split())
    folder = request_of.public / "small" / "2026-Q3"
    claims = verify(folder).claims
    assert claims.kinds["sales"] == Kind("number", places=1)
    assert 0.0 < claims.il_rounding_percent < claims.il_percent
    assert "averaged, rounded to 1 decimal " in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("method", "file_format"),
    [("mdav", "parquet"), *some_quick(METHODS, ("best", "imhmi", "mdav"), "csv")],
)
def test_the_example_is_released_with_every_method(
    tmp_path: Path, method: str, file_format: str
) -> None:
    example = ["example", str(tmp_path), "--rows", "200", "--quarters", "1"]
    assert main([*example, "--format", file_format]) == 0
    spec = tmp_path / "enterprise-survey.yaml"
    content = yaml.safe_load(spec.read_text(encoding="utf-8"))
    path = {"ordering": "npn"} if METHODS[method].reads_path else {}
    search = {"options": {"iterations": 100}} if METHODS[method].searches else {}
    content["microaggregation"] = {"method": method, "k": 3, **path, **search}
    content["gate"] = {"ceilings": {"il": 100.0, "dld": 100.0}}
    del content["series"]
    spec.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert main(["check", str(spec), "--period", "2026-Q3"]) == 0
    assert main(["run", str(spec), "--period", "2026-Q3"]) == 0
    assert main(["verify", str(tmp_path / "public" / "enterprise-survey" / "2026-Q3")]) == 0
