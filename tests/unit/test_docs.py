"""The documentation: it builds, its links lead somewhere, and its commands and specs are real."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from flows.cli.app import parser

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=lambda page: page.as_posix()
)
ELSEWHERE = ("http://", "https://", "mailto:")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Give the fenced blocks of a page in some languages; the empty one is plain text."""
    text = page.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```([^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language.strip() in languages:
            yield block


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", tmp_path / "trees"]
    built = subprocess.run(
        [*command, ROOT / "docs", site], capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stderr) == (0, "")
    assets = r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?:https?:)?//[^\"']*"
    for page in site.rglob("*.html"):
        assert re.findall(assets, page.read_text(encoding="utf-8")) == [], page.name
    for sheet in site.rglob("*.css"):
        outside = re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text("utf-8"))
        assert outside == [], sheet.name


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    targets = re.findall(r"\]\(([^()\s]+)\)", text)
    broken = [
        target
        for target in targets
        if not target.startswith((*ELSEWHERE, "#"))
        and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_are_those_of_the_command_line(page: Path) -> None:
    lines = [
        line.removeprefix("$ ").removeprefix(".venv/bin/")
        for block in blocks(page, "", "bash", "sh", "console", "shell")
        for line in block.replace("\\\n", " ").splitlines()
    ]
    for line in lines:
        # an upper-case word or an ellipsis stands for what a reader fills in
        if re.match(r"microrelease [a-z]", line) and "..." not in line:
            command = re.split(r"\s[|>&]|\s#\s", line, maxsplit=1)[0]
            parser().parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_specs_are_valid_yaml(page: Path) -> None:
    for block in blocks(page, "yaml"):
        yaml.safe_load(block)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_python_blocks_can_be_compiled(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, named(page), "exec")


def test_the_page_about_python_runs_from_top_to_bottom(tmp_path: Path) -> None:
    # tests/flow/test_python.py runs releases of spec files, and test_notebooks.py explores
    elsewhere = (".yaml", "found")
    parts = [
        part
        for part in blocks(ROOT / "docs" / "python.md", "python")
        if not any(word in part for word in elsewhere)
    ]
    assert len(parts) > 1
    script = tmp_path / "page.py"
    script.write_text("\n".join(parts), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
