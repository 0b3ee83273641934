"""Faults of Prefect in words."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from algorithms.errors import ReleaseError


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
