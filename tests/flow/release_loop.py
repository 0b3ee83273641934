"""Releases one period after another, until the process is killed; see test_killed.py."""

from itertools import count
from pathlib import Path

import great_expectations  # noqa: F401 - imported before the fork, so that the loop starts at once

import expectations.input_suite
import expectations.output_suite  # noqa: F401
from expectations.spec_file import load
from flows.release import release


def run_for_ever(spec: Path, first: int) -> None:
    one = load(spec)
    for number in count(first):
        # a dataset of its own: the server frees that of a killed run after a minute only
        named = {"name": f"small-{first}", "period": f"P{number}"}
        changed = one.release.model_copy(update=named)
        release(one.model_copy(update={"release": changed}), return_state=True)
