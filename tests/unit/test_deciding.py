"""Who may decide on which candidate while runs wait for their reviewers."""

from pathlib import Path

import pytest

from algorithms.errors import RefusedError
from tasks.store.candidates import deciding

FIRST, SECOND = "000001-small-2026-Q3", "000002-small-2026-Q4"


def test_a_candidate_is_decided_on_in_one_place_and_others_meanwhile(tmp_path: Path) -> None:
    with deciding(tmp_path, FIRST):
        with (
            pytest.raises(RefusedError, match=f"{FIRST} waits for its reviewer: decide in the"),
            deciding(tmp_path, FIRST),
        ):
            pass
        with deciding(tmp_path, SECOND):
            pass
    with deciding(tmp_path, FIRST):
        pass
