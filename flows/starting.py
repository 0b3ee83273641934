"""What surrounds a flow that is started here: a server that records it, and faults in words."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from algorithms.errors import ReleaseError


def quieten_prefect() -> None:
    """Keep Prefect's own messages off the terminal; its log in the database stays complete."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")


@contextmanager
def recorded(*modules: str) -> Iterator[None]:
    """Choose or start the server that records a run; import modules while it starts.

    A failure of Prefect is reported in one sentence; errors of the flow itself are outcomes.
    """
    from flows.operation.installation import adopt_running
    from tasks.store.home import default_home

    adopt_running(default_home())
    quieten_prefect()
    from flows.operation.temporary import start_temporary_server

    try:
        start_temporary_server(*modules)
        yield
    except ReleaseError:
        raise
    except Exception as error:
        server = os.environ.get("PREFECT_API_URL")
        advice = f"is the server at {server} running?" if server else "see its log"
        raise ReleaseError(
            f"Prefect must be able to run the flow; it failed ({type(error).__name__}): {advice}"
        ) from None
