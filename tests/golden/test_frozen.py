"""An unchanged spec publishes the same bytes and the same claims for ever."""

import json
from pathlib import Path
from typing import Any

import pytest

from expectations.published.claims import claims_of
from tests.golden.frozen import FROZEN, cases, published

pytestmark = pytest.mark.reference

KEPT: dict[str, dict[str, Any]] = json.loads(FROZEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "sections"), [pytest.param(*case, id=case[0]) for case in cases()]
)
def test_a_spec_publishes_what_it_always_did(
    name: str, sections: dict[str, Any], tmp_path: Path
) -> None:
    package, kept = published(tmp_path, sections), KEPT[name]
    claims, kept_claims = (claims_of(json.dumps(one).encode()) for one in (package, kept))
    assert [r.sha256 for r in claims.resources] == [r.sha256 for r in kept_claims.resources]
    assert claims.same_release(kept_claims)
    assert set(kept_claims.measures) <= set(claims.measures)


def test_every_frozen_release_is_still_made() -> None:
    assert [name for name, _ in cases()] == list(KEPT)
