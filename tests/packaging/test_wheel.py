"""The wheel carries what it needs: it runs in an empty environment, outside the repository."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel in an environment of its own, which borrows the dependencies of this one.

    A folder that a .pth file names is searched last, and its own .pth files are not read, so
    that the editable project is not found there.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    python = folder / "bin" / "python"
    own = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    Path(own, "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    environment = {**os.environ, "UV_CACHE_DIR": str(folder / "cache")}
    subprocess.run([*command, "--python", python, wheel], check=True, env=environment)
    return folder / "bin" / "microrelease"


def run(command: Path, folder: Path, *arguments: str) -> str:
    """Run a command outside the repository, as a user without any setting."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" and not name.startswith(("PREFECT_", "MICRORELEASE_"))
    }
    environment["PREFECT_HOME"] = str(folder / "prefect")
    ended = subprocess.run(
        [command, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_wheel_holds_pages_types_and_the_example(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    kept = subprocess.run(
        ["git", "ls-files", "algorithms", "expectations", "flows", "tasks", "deployments"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert set(kept) <= names
    assert {"tasks/reporting/templates/style.css", "deployments/prefect.yaml"} <= names
    assert {
        f"{name}/py.typed" for name in ("algorithms", "expectations", "flows", "tasks")
    } <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "docs/")) for name in names)


def test_the_source_distribution_holds_what_builds_and_tests_it(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "Makefile", "requirements.lock", "tests/conftest.py"} <= names


def test_the_example_is_written_and_checked_from_a_wheel(installed: Path, tmp_path: Path) -> None:
    assert "spec: demo/enterprise-survey.yaml" in run(installed, tmp_path, "example", "demo")
    shown = run(installed, tmp_path, "check", "demo/enterprise-survey.yaml")
    assert "the spec is valid and its source matches it: 1968 rows" in shown


@pytest.mark.slow
def test_a_release_is_published_from_a_wheel(installed: Path, tmp_path: Path) -> None:
    run(installed, tmp_path, "example", "demo")
    spec = "demo/enterprise-survey.yaml"
    shown = run(installed, tmp_path, "run", spec, "--period", "2026-Q3")
    assert "published enterprise-survey 2026-Q3" in shown
    assert "public files  demo/public/enterprise-survey/2026-Q3" in shown
    run(installed, tmp_path, "verify", "demo/public/enterprise-survey/2026-Q3")
    run(installed, tmp_path, "audit", "demo/register")
