"""Runs the benchmarks, prints their tables, and writes docs/benchmarks.md with its pictures.

``make bench`` runs it; it takes about a quarter of an hour. Each section is the function
``section`` of a module: it measures, prints on the way, leaves its pictures in the folder that it
is given and returns its part of the page. The benchmarks that write pages of their own,
``reproduction`` and ``maps``, do not belong here: they compare figures, not machines.
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
SECTIONS = ("mdav", "cold_start", "frontier", "methods", "cutting")
PACKAGES = ("numpy", "scipy", "numba", "llvmlite")


def main() -> int:
    """Write the page."""
    known = [name for name in SECTIONS if importlib.util.find_spec(f"benchmarks.{name}")]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=known, help="sections to renew on the page")
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
    """Put sections in the place of those with the same title, or at the end."""
    introduction, *parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    by_title = {part.splitlines()[0]: part for part in parts}
    for section in sections:
        by_title[section.splitlines()[0]] = section
    return "\n\n".join(part.strip() for part in (introduction, *by_title.values())) + "\n"


INTRODUCTION = """# Benchmarks

Written by `make bench`; no figure is typed in. Measured beside peers in the same run: only ratios
carry over to other machines, and none of these is a test. The last
run of all took {minutes} minutes on
{machine};
`python -m benchmarks.page --only cutting` renews one section, so that sections may be of
different runs, and of different states of the code.
"""


def machine() -> str:
    """Name the processor and the versions, and nothing that tells whose machine it is."""
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
