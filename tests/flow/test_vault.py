"""Releases in a row: each is compared with those before it."""

import json

import pytest

from algorithms.errors import IntegrityError
from flows.cli import main
from tasks.store.audit import audit
from tests.conftest import Request, faults_in
from tests.publishing import events
from tests.vaults import panel, write_period

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]


def test_each_release_is_compared_with_those_before_it(
    request_of: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    for i, period in enumerate(("2026-Q1", "2026-Q2")):
        write_period(request_of, period, panel(i, 30 + i), i + 1)
    release = {"period": "2026-Q1"}
    spec = request_of.write(release=release, source={"path": "table-{period}.csv"})

    assert main(["run", str(spec), "--dry-run"]) == 0
    assert not request_of.register.exists()
    for period in ("2026-Q1", "2026-Q2"):
        assert main(["run", str(spec), "--period", period]) == 0
    first, second = (
        json.loads(path.read_bytes())
        for path in sorted(request_of.register.glob("attempts/*/manifest.json"))
    )
    assert first["evaluation"]["measures"]["candidates_min"] == 3.0
    assert second["evaluation"]["measures"]["candidates_min"] < 3.0
    assert second["vault"]["against"] == [first["vault"]["sha256"]]
    found = audit(request_of.register)
    assert found.faults == found.incomplete == []

    # a repeated release is compared with what was there when it was published
    assert main(["run", str(spec), "--period", "2026-Q1"]) == 0
    assert events(request_of)[-1] == "unchanged"

    (request_of.register / "vault" / "small.key").unlink()
    capsys.readouterr()
    write_period(request_of, "2026-Q3", panel(2, 32), 3)
    for command in ("run", "check"):
        code = main([command, str(spec), "--period", "2026-Q3"])
        assert code == IntegrityError.exit_code
        (fault,) = faults_in(capsys.readouterr().err)
        assert "earlier releases about 'small' were written; it is missing" in fault
    assert events(request_of)[-1] == "failed"
