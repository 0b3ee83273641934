"""What tests need of a machine: things that it may lack, and time."""

import os
import shutil
from pathlib import Path

import pytest

PATIENCE = 300.0
"""Seconds until a test gives up waiting: only a fault takes so long, even on a busy machine."""
HIDE = "MICRORELEASE_HIDE"
"""Variable that lists tools which tests must do without, as if the machine lacked them."""
VARIABLE = "MICRORELEASE_BENCHMARK_DATA"
PROGRAMS = {"Chromium": ("chromium", "google-chrome"), "PostgreSQL": ("initdb",)}
REASONS = {
    "Chromium": "Chromium is not installed",
    "PostgreSQL": "PostgreSQL is not installed",
    "benchmark sets": f"{VARIABLE} names no folder with the benchmark sets",
}


def find(tool: str) -> Path | None:
    """Find a program or a folder that tests use, unless it is hidden."""
    if tool in os.environ.get(HIDE, "").split(","):
        return None
    if tool not in PROGRAMS:
        folder = os.environ.get(VARIABLE)
        return Path(folder) if folder and Path(folder).is_dir() else None
    # Debian keeps the programs of a PostgreSQL server off the PATH
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    newest_first = sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *map(str, newest_first)])
    places = (shutil.which(program, path=path) for program in PROGRAMS[tool])
    return next((Path(place).resolve() for place in places if place), None)


def skip_without_tools(item: pytest.Item) -> None:
    """Skip a test marked ``needs`` where the machine lacks the tool that it needs."""
    for mark in item.iter_markers("needs"):
        (tool,) = mark.args
        if find(tool) is None:
            pytest.skip(f"{REASONS[tool]}, or {HIDE} hides it")
