"""Runs the benchmarks, prints their tables, and writes docs/benchmarks.md with its pictures.

``make bench`` runs it; it takes some forty minutes. Each section is the function
``section`` of a module: it measures, prints its progress, writes its pictures to the given folder
and returns its part of the page. The benchmarks ``reproduction`` and ``maps`` write their own
pages: they compare figures, not machines.
"""

import argparse
import importlib
import importlib.util
import os
import platform
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
SECTIONS = (
    "mdav",
    "cold_start",
    "frontier",
    "bounds",
    "chains",
    "methods",
    "cutting",
    "across",
    "series",
    "scale",
    "releases",
)
PACKAGES = ("numpy", "scipy", "numba", "llvmlite")


def main() -> int:
    """Write the page."""
    known = [name for name in SECTIONS if importlib.util.find_spec(f"benchmarks.{name}")]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=known, help="sections to update on the page")
    options = parser.parse_args()
    pictures = DOCS / "benchmarks"
    pictures.mkdir(exist_ok=True)
    started = time.perf_counter()
    sections = []
    for name in options.only or known:
        sys.stdout.write(f"\n{name}\n\n")
        sections.append(importlib.import_module(f"benchmarks.{name}").section(pictures))
    page = DOCS / "benchmarks.md"
    if options.only:
        text = renewed(page.read_text(encoding="utf-8"), sections)
    else:
        minutes = f"{(time.perf_counter() - started) / 60.0:.0f}"
        text = "\n".join([INTRODUCTION.format(machine=machine(), minutes=minutes), *sections])
    page.write_text(text, encoding="utf-8")
    return 0


def renewed(page: str, sections: list[str]) -> str:
    """Replace sections with the same title, and append new ones."""
    introduction, *parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    by_title = {part.splitlines()[0]: part for part in parts}
    for section in sections:
        by_title[section.splitlines()[0]] = section
    return "\n\n".join(part.strip() for part in (introduction, *by_title.values())) + "\n"


INTRODUCTION = """# Benchmarks

`make bench` writes this page; all figures are measured. Peers are measured in the same run. Only
ratios carry over to other machines, and no benchmark is a test. The last complete
run took {minutes} minutes on
{machine}.
`python -m benchmarks.page --only cutting` updates one section, so sections may come from
different runs and different versions of the code.
"""


def machine() -> str:
    """Name the processor and the versions, and nothing that identifies the machine."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8").splitlines()
        model = next((line.split(":")[1].strip() for line in lines if "model name" in line), model)
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = os.cpu_count()
    return f"{cores} cores of {model}, with Python {platform.python_version()}, {packages}"


if __name__ == "__main__":
    sys.exit(main())
