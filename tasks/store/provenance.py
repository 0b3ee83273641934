"""The code and the environment of a run."""

import hashlib
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = ("algorithms", "expectations", "tasks", "flows")
SOURCES = (".py", ".html", ".md", ".css")
"""Suffixes of code and of templates."""
PACKAGES = (
    "great-expectations",
    "jinja2",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "prefect",
    "pyarrow",
    "pydantic",
    "scipy",
)


def code() -> dict[str, str | None]:
    """Give the version of the product, its commit if it is known, and a digest of its sources."""
    return {
        "version": version("microrelease"),
        "commit": _commit(),
        "sources_sha256": sources_digest(),
    }


def environment() -> dict[str, str]:
    """Give the version of every package that computes a figure or writes a file."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: version(name) for name in PACKAGES},
    }


def sources_digest() -> str:
    """Digest the sources of all floors: this identifies the code without version control."""
    digest = hashlib.sha256()
    files = (path for floor in FLOORS for path in (ROOT / floor).rglob("*"))
    for path in sorted(path for path in files if path.suffix in SOURCES):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _commit() -> str | None:
    """Ask git for the commit of the working tree, marked as dirty if files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
