"""Waits for a source that is not there yet."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prefect import get_run_logger, runtime
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import Pause
from prefect.states import Running, Scheduled

from algorithms.errors import DataError, ReleaseError, StorageError
from expectations.request.sections.source import SourceSection
from expectations.request.spec import ReleaseSpec
from flows.states import WAITING_FOR_SOURCE
from tasks.listening import listener

QUIET_SECONDS = 10.0
"""A file whose size has not changed for this long is complete."""
POLL_SECONDS = 30.0
"""Time between two looks of a run that somebody started by hand."""
AGAIN_SECONDS = 300.0
"""Time between two looks of a run that a worker started: each of them is a new process."""


def wait_for_source(spec: ReleaseSpec, due: datetime) -> str:
    """Wait until the source is there, as long as the spec allows.

    A run that a worker started does not stay in memory: it is scheduled again, under a name that
    says what it waits for, and its process ends.

    Parameters
    ----------
    spec : ReleaseSpec
        With its period.
    due : datetime
        When the run was due; the wait is counted from then.

    Returns
    -------
    str
        Why the source still is not there when the time is over; empty if it is there, or if the
        spec does not wait.
    """
    wait = spec.source.wait
    if wait is None:
        return ""
    # Prefect's own type of time cannot be moved to another zone and then be added to
    end = datetime.fromtimestamp(due.timestamp(), UTC) + timedelta(hours=wait.hours)
    waits = False
    while absence := what_is_missing(spec):
        left = (end - datetime.now(UTC)).total_seconds()
        if left <= 0:
            hours = f"{wait.hours:g} hour{'' if wait.hours == 1 else 's'}"
            return (
                f"{absence}, although the run waited until {end:%Y-%m-%d %H:%M} UTC, {hours} after "
                "it was due (source.wait): run again when the source is there"
            )
        words = f"{absence}; the run waits until {end:%Y-%m-%d %H:%M} UTC"
        if "PREFECT__FLOW_RUN_ID" in os.environ:
            _come_back(min(AGAIN_SECONDS, left), words)
        if not waits:
            waits = True
            get_run_logger().info("%s", words)
            listener().waiting(words)
            _show(Running(name=WAITING_FOR_SOURCE, message=words))
        time.sleep(min(POLL_SECONDS, left))
    if waits:
        _show(Running())
    return ""


def check_present(absence: str) -> None:
    """Check, where the register records it, that a wait has ended well.

    Raises
    ------
    DataError
        If the source still is not there.
    """
    if absence:
        raise DataError(absence)


def what_is_missing(spec: ReleaseSpec) -> str:
    """Look for the source once; say what is missing, or nothing if it is there.

    Faults that no wait mends count as there: the run then reports them.
    """
    if isinstance(spec.source, SourceSection):
        return _incomplete(spec.source.path)
    from tasks.sources.databases.table import read_database

    least = (spec.source.wait and spec.source.wait.rows) or 1
    try:
        table, _ = read_database(spec)
    except StorageError as error:
        return str(error)
    except ReleaseError:
        return ""
    if table.num_rows >= least:
        return ""
    return f"the query must give at least {least} rows; it gives {table.num_rows}"


def _incomplete(path: Path) -> str:
    before = _size(path)
    if before is None:
        return f"source.path must be a file; {str(path)!r} is not there"
    time.sleep(QUIET_SECONDS)
    if _size(path) != before:
        return f"source.path must be complete; {str(path)!r} is still being written"
    return ""


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _come_back(seconds: float, words: str) -> None:
    """End this process; the worker starts the run again after some time."""
    get_run_logger().info("%s", words)
    time_of_return = datetime.now(UTC) + timedelta(seconds=seconds)
    state: State[Any] = Scheduled(
        scheduled_time=time_of_return, name=WAITING_FOR_SOURCE, message=words
    )
    _show(state)
    raise Pause(state=state)


def _show(state: State[Any]) -> None:
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(runtime.flow_run.id, state, force=True)
