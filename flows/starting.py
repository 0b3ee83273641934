"""What surrounds a flow that is started here: quiet, and faults of Prefect in words."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from algorithms.errors import ReleaseError


def quieten_prefect() -> None:
    """Keep Prefect's own messages off the terminal; its log in the database stays complete."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")


@contextmanager
def prefect_faults_in_words() -> Iterator[None]:
    """Report a failure of Prefect in one sentence; errors of the flow itself are outcomes."""
    try:
        yield
    except Exception as error:
        server = os.environ.get("PREFECT_API_URL")
        advice = f"is the server at {server} running?" if server else "see its log"
        raise ReleaseError(
            f"Prefect must be able to run the flow; it failed ({type(error).__name__}): {advice}"
        ) from None
