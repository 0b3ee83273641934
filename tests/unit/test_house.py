"""The house itself: names, lists, locks and citations agree."""

import importlib
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.references import PAPERS
from algorithms.registry import Registry
from flows.cli.measures_page import measures_page

ROOT = Path(__file__).parents[2]
PACKAGES = ("algorithms", "expectations", "flows", "microrelease", "tasks")
NOT_ALGORITHMS = {
    "__init__",
    "divide",
    "groups",
    "method",
    "ordering",
    "partition",
    "pool",
    "recut",
    "refine",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RELEASE = (ROOT / "requirements.lock").read_text(encoding="utf-8")
TOOLS = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
HASHES = r"(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
PIN = re.compile(rf"^([a-z0-9.-]+)==(\S+)(?: ; .+)? \\\n{HASHES}", re.MULTILINE)


@pytest.mark.parametrize("name", PACKAGES)
def test_common_names_mean_this_repository(name: str) -> None:
    assert Path(importlib.import_module(name).__file__ or "").parents[1] == ROOT


@pytest.mark.parametrize("name", PACKAGES)
def test_the_wheel_has_the_package_with_its_types(name: str) -> None:
    assert name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert (ROOT / name / "py.typed").is_file()


@pytest.mark.parametrize(
    ("registry", "folder"), [(METHODS, "microaggregation"), (ORDERINGS, "orderings")]
)
def test_what_is_in_the_folder_is_on_the_list(registry: Registry[object], folder: str) -> None:
    modules = {path.stem for path in (ROOT / "algorithms" / folder).glob("*.py")}
    assert sorted(registry) == sorted(modules - NOT_ALGORITHMS)
    assert list(registry) == sorted(registry)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name: str) -> None:
    assert (ROOT / "docs" / "methods" / f"{name}.md").is_file()


def test_the_page_about_measures_is_that_of_the_registry() -> None:
    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert page == measures_page()


def test_papers_are_cited_by_the_same_key_everywhere() -> None:
    bibliography = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"@\w+\{(\w+),", bibliography))
    assert set(PAPERS) == known
    assert list(PAPERS) == sorted(PAPERS)
    assert all(text.endswith(".") for text in PAPERS.values())
    for registry in (METHODS, ORDERINGS):
        for entry in registry.values():
            assert f"[{entry.paper}]_" in (entry.run.__doc__ or "")
    assert {measure.paper for measure in MEASURES.values()} <= known
    for path in (ROOT / "algorithms").rglob("*.py"):
        assert set(re.findall(r"\[([A-Z]+\d\d)\]", path.read_text(encoding="utf-8"))) <= known


@pytest.mark.parametrize("lock", [RELEASE, TOOLS], ids=["release", "tools"])
def test_a_lock_is_exact_with_hashes_and_names_no_address(lock: str) -> None:
    assert PIN.search(lock)
    assert all(line.lstrip().startswith("#") for line in PIN.sub("", lock).splitlines())
    assert "://" not in lock


def pins(lock: str) -> dict[str, str]:
    return {pin[1]: pin[2] for pin in PIN.finditer(lock)}


def names(wishes: list[str]) -> set[str]:
    return {re.split(r"[\[<>=]", wish)[0].lower() for wish in wishes}


@pytest.mark.parametrize(
    ("package", "cap"),
    [("fastapi", "<0.151"), ("sqlalchemy[asyncio]", "<2.1"), ("prefect", "<3.9")],
)
def test_what_breaks_prefect_is_capped(package: str, cap: str) -> None:
    (wish,) = [w for w in PROJECT["project"]["dependencies"] if w.startswith(package + ">")]
    assert wish.endswith(cap)


def test_every_dependency_is_locked() -> None:
    groups = PROJECT["dependency-groups"]
    assert groups["build"] == PROJECT["build-system"]["requires"]
    assert names(PROJECT["project"]["dependencies"] + groups["build"]) <= set(pins(RELEASE))
    assert names(groups["dev"]) <= set(pins(TOOLS))


def test_the_environment_of_releases_has_no_tools() -> None:
    assert not names(PROJECT["dependency-groups"]["dev"]) & set(pins(RELEASE))


def test_both_locks_name_the_same_versions() -> None:
    release, tools = pins(RELEASE), pins(TOOLS)
    shared = set(release) & set(tools)
    assert {name: release[name] for name in shared} == {name: tools[name] for name in shared}


def test_a_dependency_is_imported_unless_its_reason_is_given() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wishes = text.split("\ndependencies = [\n")[1].split("\n]")[0].splitlines()
    pairs = pairwise(["", *wishes])
    unexplained = [wish.strip(' ",') for before, wish in pairs if "#" not in before + wish]
    sources = "".join(
        path.read_text(encoding="utf-8")
        for folder in PACKAGES
        for path in (ROOT / folder).rglob("*.py")
    )
    for name in names(unexplained):
        module = {"pyyaml": "yaml"}.get(name, name.replace("-", "_"))
        assert re.search(rf"^\s*(import|from) {module}\b", sources, re.MULTILINE), name
