"""Names of states in Prefect."""

import re
from pathlib import Path

from algorithms import errors
from algorithms.errors import ReleaseError
from flows.states import ERRORS

SPEC_PAGE = Path(__file__).parents[2] / "docs" / "spec.md"


def test_every_error_has_a_state_and_an_exit_code_and_the_documentation_lists_both() -> None:
    kinds = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, ReleaseError)
    }
    assert set(ERRORS) == kinds
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", SPEC_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    stated = {(kind.exit_code, name) for kind, name in ERRORS.items() if kind is not ReleaseError}
    assert {(int(code), name) for code, name in rows} == stated
