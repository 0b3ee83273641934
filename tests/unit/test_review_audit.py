"""An audit finds reviews that the lines of the register, or the spec, contradict."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from algorithms.errors import RefusedError
from expectations.review import DESK, Decision
from expectations.signatures import public_part
from tasks.publish import decide, seal
from tasks.store.audit import audit
from tests.conftest import Request
from tests.forgeries import relink
from tests.publishing import candidate

CHECKED = {"reviewers": 2, "claimed_names": False}
NAME = "000001-small-2026-Q3"


@pytest.fixture
def reviewed(tmp_path: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch) -> Request:
    """Publish a release that two reviewers approved at the desk."""
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    gate = {"ceilings": {"il": 100.0, "dld": 100.0}, "review": CHECKED}
    seal.fn(*candidate(request_of, gate=gate))
    for name in ("Bea", "Carl"):
        decide.fn(request_of.register, NAME, Decision(True, name, channel=DESK))
    assert audit(request_of.register).faults == []
    return request_of


def on_decision_of(name: str, **parts: Any) -> Callable[[dict[str, Any]], None]:
    """Change the line with the decision of a reviewer."""

    def change(line: dict[str, Any]) -> None:
        if line.get("reviewer") == name:
            line.update(parts)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (on_decision_of("Carl", approved=False), "2 decided, one of them to reject"),
        (on_decision_of("Carl", reviewer="Bea"), "2 reviewers must approve, and 1 decided"),
        (on_decision_of("Carl", reviewer=" ANA"), "' ANA' started the run"),
        (on_decision_of("Carl", reason="another one"), "it names other decisions"),
        (on_decision_of("Carl", channel="Prefect UI"), "the name of 'Carl' was not checked"),
        (on_decision_of("Carl", reviewer_key="no key"), "'Carl' did not sign it"),
        (
            on_decision_of(
                "Carl", reviewer_key=public_part(Ed25519PrivateKey.generate()).text,
                reviewer_signature="AAAA",
            ),
            "'Carl' did not sign it",
        ),
    ],
    ids=["rejected", "once", "starter", "reason", "claimed", "no key", "not signed"],
)  # fmt: skip
def test_a_review_that_was_written_again_is_found(
    reviewed: Request, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    relink(reviewed, change, Ed25519PrivateKey.generate())
    assert words in "; ".join(audit(reviewed.register).faults)


def test_a_key_that_is_none_is_refused_in_words(
    tmp_path: Path, request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRORELEASE_HOME", str(tmp_path / "home"))
    seal.fn(*candidate(request_of))
    decision = Decision(True, "Bea", channel=DESK, key="no key", signature="AAAA")
    with pytest.raises(RefusedError, match="signed with the reviewer's own key"):
        decide.fn(request_of.register, NAME, decision)
