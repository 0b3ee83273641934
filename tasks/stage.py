"""The decorator every stage wears."""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE

from algorithms.errors import ContractError, ReleaseError, StorageError
from tasks.listening import listener

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

RELEASE_STAGES = (
    "ingest", "validate", "standardise", "order", "microaggregate", "round_integers", "evaluate",
    "profile", "judge", "seal", "decide", "publish",
)  # fmt: skip
"""The stages of a release in their order, as the Prefect UI and the command line name them."""
STAGES = (*RELEASE_STAGES, "try", "verify")
"""All stages: those of a release, of an exploration and of an audit."""

# By default Prefect hashes every input, and one setting more would pickle microdata to disk.
CONFIDENTIAL: dict[str, Any] = {
    "persist_result": False,
    "cache_policy": NO_CACHE,
    "log_prints": False,
}


def stage(
    name: str, *, retries: int = 0
) -> Callable[[Callable[Parameters, Result]], Task[Parameters, Result]]:
    """Make a Prefect task of a function that handles microdata.

    Nothing it takes or returns is persisted or hashed. An exception that is not one of ours is
    reduced to stage, type and place, for its text may quote a cell, and Prefect writes the text of
    an exception to its database, its logs and the disk.

    Parameters
    ----------
    name : str
        One of `STAGES`, as shown in the UI.
    retries : int
        How often to try again when a file could not be read or written. Nothing else is retried:
        arithmetic that failed once fails again.

    Raises
    ------
    ContractError
        If there is no such stage.
    """
    if name not in STAGES:
        raise ContractError(f"a stage must be listed in STAGES; {name!r} is not")

    def decorate(function: Callable[Parameters, Result]) -> Task[Parameters, Result]:
        return task(
            name=name,
            retries=retries,
            retry_delay_seconds=2,
            retry_condition_fn=_is_transient,
            **CONFIDENTIAL,
        )(guarded(name, announced(name, function)))

    return decorate


def announced(name: str, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Report when a stage starts, and how long it took if it succeeded."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        started = time.monotonic()
        listener().stage_started(name)
        result = function(*args, **kwargs)
        listener().stage_ended(name, time.monotonic() - started)
        return result

    return call


def guarded(name: str, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let our own errors through and reduce all others to what may be shown."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # whatever it is, its text must not escape
            shown = reduced(name, error)
        raise shown

    return call


def reduced(name: str, error: Exception) -> ReleaseError:
    """Give our own error as it is, and of any other exception its type and place only."""
    if isinstance(error, ReleaseError):
        # its traceback and the exception that it was raised from hold frames full of microdata
        error.__cause__ = error.__context__ = None
        return error.with_traceback(None)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = (
        f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "unknown"
    )
    if isinstance(error, OSError):
        return StorageError(
            f"{name} could not read or write a file: {error.strerror or type(error).__name__} at "
            f"{place}; fix that and run again"
        )
    return ContractError(f"{name} failed: {type(error).__name__} at {place}")


def _is_transient(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.result(raise_on_failure=False), StorageError)
