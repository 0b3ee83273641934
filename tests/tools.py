"""Finds programs that some tests need and a machine may lack."""

import os
import shutil
from pathlib import Path

import pytest

PROGRAMS = {"Chromium": ("chromium", "google-chrome"), "PostgreSQL": ("initdb",)}
HIDE = "MICRORELEASE_HIDE"
"""Variable with the tools that tests must do without, as if they were not installed."""


def find(tool: str) -> Path | None:
    """Find the program of a tool on the PATH, or where Debian keeps PostgreSQL's newest server."""
    if tool in os.environ.get(HIDE, "").split(","):
        return None
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    newest_first = sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *map(str, newest_first)])
    places = (shutil.which(program, path=path) for program in PROGRAMS[tool])
    return next((Path(place).resolve() for place in places if place), None)


def needs(tool: str) -> pytest.MarkDecorator:
    """Skip a test on a machine without a tool."""
    return pytest.mark.skipif(
        find(tool) is None, reason=f"needs {tool}, which is not installed or is hidden by {HIDE}"
    )
