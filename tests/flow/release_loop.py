"""Releases one period after another, until the process is killed; see test_killed.py."""

from itertools import count
from pathlib import Path

import expectations.suites.great  # noqa: F401 - before the fork, so that the loop starts at once
from expectations.request.named import Changes
from tests.publishing import run_release


def run_for_ever(spec: Path, first: int) -> None:
    # a dataset of its own: the server frees that of a killed run after a minute only
    own = spec.with_name(f"small-{first}.yaml")
    text = spec.read_text(encoding="utf-8")
    own.write_text(text.replace("name: small", f"name: small-{first}"), encoding="utf-8")
    for number in count(first):
        run_release(own, Changes(period=f"P{number}"))
