"""Six quarters that were released once, and are as new for each test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from expectations.request.named import SPECS
from tests.desk.desk import desk_with_users, logged_in
from tests.desk.quarters import Quarters, six_quarters


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release six quarters; the folder beside them is a copy."""
    folder = tmp_path_factory.mktemp("desk") / "installation"
    (folder / "specs").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MICRORELEASE_HOME", str(folder / "home"))
        six_quarters(folder / "specs")
    shutil.copytree(folder, folder.with_name("copy"))
    return folder


@pytest.fixture
def quarters(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Quarters:
    """Put the six quarters where they were released: manifests name their folders."""
    shutil.rmtree(kept)
    shutil.copytree(kept.with_name("copy"), kept)
    monkeypatch.setenv("MICRORELEASE_HOME", str(kept / "home"))
    monkeypatch.setenv(SPECS, str(kept / "specs"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return Quarters(kept / "specs")


@pytest.fixture
def desk(quarters: Quarters) -> Iterator[FastAPI]:
    """Give the desk of the six quarters, with a user of each role."""
    app = desk_with_users(Path(os.environ["MICRORELEASE_HOME"]))
    yield app
    app.state.desk.close()


@pytest.fixture
def auditor(desk: FastAPI) -> TestClient:
    return logged_in(desk, "auditor")
