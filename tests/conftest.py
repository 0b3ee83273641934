"""A Prefect test server started once, the Hypothesis profile, and a small release to work on."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, settings

import expectations  # noqa: F401 - sets what must be set before Prefect is imported
from tests.tools import PATIENCE, skip_without_tools

# the test harness isolates the database, not the folder that results would be written to
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="microrelease-tests-")
atexit.register(shutil.rmtree, os.environ["PREFECT_HOME"], ignore_errors=True)
# a server that the developer has started must record no run of a test
os.environ["MICRORELEASE_HOME"] = os.environ["PREFECT_HOME"] + "/no-installation"
os.environ["PREFECT_LOGGING_LEVEL"] = "ERROR"
os.environ["PREFECT_SERVER_LOGGING_LEVEL"] = "CRITICAL"
# its console handler would keep the stream of the test that was the first to log
os.environ["PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"] = "CRITICAL"

settings.register_profile(
    "microrelease",
    deadline=None,  # the first example compiles kernels
    derandomize=True,
    # kernels as plain Python, for coverage, are hundreds of times slower
    max_examples=10 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("microrelease")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the longest tests, so that no worker ends long after the others."""
    for name in ("flow", "operation"):
        items.sort(key=lambda item, name=name: item.get_closest_marker(name) is None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    skip_without_tools(item)


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[str]:
    from prefect.settings import get_current_settings
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=int(PATIENCE)):
        url = get_current_settings().api.url
        assert url is not None
        yield url


ROWS = """\
id,zone,staff,sales,score
a,007,1,10.5,1
b,008,2,11.5,2
c,007,1,10.0,3
d,008,40,90.0,4
e,007,42,91.0,
f,008,44,95.0,6
g,007,90,9.0,7
"""


@pytest.fixture
def request_of(tmp_path: Path) -> "Request":
    return Request(tmp_path)


@pytest.fixture
def published(request_of: "Request") -> "Request":
    """Publish the small release."""
    from tasks.publish import publish
    from tests.publishing import candidate

    publish.fn(*candidate(request_of))
    return request_of


class Request:
    """A small release on disk, to be spoiled by tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "spec.yaml"
        self.public = folder / "public"
        self.register = folder / "register"
        self.source = folder / "table.csv"
        self.source.write_text(ROWS, encoding="utf-8")
        self.content: dict[str, Any] = {
            "release": {
                "name": "small",
                "period": "2026-Q3",
                "title": "A small table",
                "licence": "CC0-1.0",
            },
            "source": {"path": "table.csv"},
            "columns": {
                "identifiers": ["id"],
                "quasi_identifiers": ["staff", "sales"],
                "confidential": ["zone", "score"],
                "integers": ["staff"],
            },
            "microaggregation": {"method": "mdav", "k": 3},
            "gate": {"ceilings": {"il": 100.0, "dld": 100.0}},
            "publication": {"public_folder": "public", "register_folder": "register"},
        }

    def write(self, **sections: Any) -> Path:
        """Write the spec, with some sections changed or, where None, left out."""
        content = {
            key: {**value, **(sections.get(key) or {})}
            for key, value in self.content.items()
            if sections.get(key, ()) is not None
        }
        extra = {key: value for key, value in sections.items() if key not in self.content}
        self.path.write_text(yaml.safe_dump(content | extra), encoding="utf-8")
        return self.path

    def load(self, **sections: Any) -> Any:
        from expectations.request.spec_file import load

        return load(self.write(**sections))


def faults_in(shown: str) -> list[str]:
    """Take the lines that tell of faults from what a command showed, without its warnings."""
    return [line for line in shown.splitlines() if not line.startswith("warning: ")]
