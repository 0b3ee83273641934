"""The house itself: names, lists, locks and citations agree."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from algorithms.measures import MEASURES
from algorithms.microaggregation import METHODS
from algorithms.orderings import ORDERINGS
from algorithms.references import PAPERS
from algorithms.registry import Registry
from flows.measures_page import measures_page

ROOT = Path(__file__).parents[2]
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
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["algorithms", "expectations", "flows", "tasks"])
def test_common_names_mean_this_repository(name: str) -> None:
    assert Path(importlib.import_module(name).__file__ or "").parents[1] == ROOT


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


def test_the_lock_is_exact_and_names_no_address() -> None:
    lines = [line for line in LOCK.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!]+", line) for line in lines)


@pytest.mark.parametrize(
    ("package", "cap"),
    [("fastapi", "<0.151"), ("sqlalchemy[asyncio]", "<2.1"), ("prefect", "<3.9")],
)
def test_what_breaks_prefect_is_capped(package: str, cap: str) -> None:
    (wish,) = [w for w in PROJECT["project"]["dependencies"] if w.startswith(package + ">")]
    assert wish.endswith(cap)


def test_every_dependency_is_locked() -> None:
    locked = {re.split("==", line)[0].lower().replace("_", "-") for line in LOCK.splitlines()}
    wishes = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["dev"]
    for wish in wishes:
        assert re.split(r"[\[<>=]", wish)[0].lower() in locked
