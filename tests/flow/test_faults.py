"""One faulty spec or register does not hide the others."""

from pathlib import Path

import pytest

from expectations.request.named import SPECS
from flows.audit import audit
from tests.conftest import Request
from tests.publishing import folder_of

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]


def test_an_audit_verifies_the_others_and_then_names_a_faulty_spec(
    published: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    published.write()
    monkeypatch.setenv(SPECS, str(published.folder))
    (published.folder / "broken.yaml").write_text("release: [", encoding="utf-8")
    state = audit(return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "Misspecified")
    assert (state.message or "").startswith("broken.yaml must be a valid spec; it is not: ")
    readme = folder_of(published) / "README.md"
    readme.write_bytes(readme.read_bytes() + b" ")
    state = audit(return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "Corrupt")
    assert "broken.yaml" in (state.message or "")
    assert "altered README.md" in (state.message or "")


def test_an_audit_names_a_register_that_cannot_be_read_and_verifies_the_others(
    published: Request, tmp_path: Path
) -> None:
    unreadable = tmp_path / "unreadable"
    (unreadable / "register.jsonl").mkdir(parents=True)
    (unreadable / "attempts").mkdir()
    state = audit([unreadable, published.register], return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "Inaccessible")
    assert "unreadable: verify could not read" in (state.message or "")
    assert str(published.register) not in (state.message or "")
    readme = folder_of(published) / "README.md"
    readme.write_bytes(readme.read_bytes() + b" ")
    state = audit([unreadable, published.register], return_state=True)
    assert state.name == "Corrupt"
    assert "unreadable: verify could not read" in (state.message or "")
    assert "altered README.md" in (state.message or "")
