"""The decorator of all stages."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from algorithms.errors import ContractError, ReleaseError, StorageError
from tasks.listening import listener

if TYPE_CHECKING:
    # Prefect takes seconds to import, and a stage can be called without it
    from prefect import Task
    from prefect.futures import PrefectFuture

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

RELEASE_STAGES = (
    "ingest", "validate", "recall", "standardise", "order", "microaggregate", "round_integers",
    "evaluate", "profile", "bound", "judge", "seal", "decide", "publish",
)  # fmt: skip
"""The stages of a release in their order, as the Prefect UI and the command line name them."""
STAGES = (*RELEASE_STAGES, "try", "verify")
"""All stages: those of a release, of an exploration and of an audit."""


@dataclass(frozen=True)
class Stage(Generic[Parameters, Result]):
    """A function that handles microdata; called inside a flow, it is a Prefect task.

    Attributes
    ----------
    name : str
        One of `STAGES`, as shown in the UI.
    fn : callable
        The stage as a function, for use without Prefect.
    retries : int
        Number of retries if a file cannot be read or written.
    """

    name: str
    fn: Callable[Parameters, Result]
    retries: int

    @cached_property
    def task(self) -> Task[Parameters, Result]:
        """The Prefect task, created at the first call.

        By default Prefect hashes every input, and with one more setting it pickles microdata to
        disk.
        """
        from prefect import task
        from prefect.cache_policies import NO_CACHE

        return task(
            name=self.name,
            retries=self.retries,
            retry_delay_seconds=2,
            retry_condition_fn=_is_transient,
            persist_result=False,
            cache_policy=NO_CACHE,
            log_prints=False,
        )(self.fn)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Run the stage as a Prefect task."""
        return self.task(*args, **kwargs)

    def submit(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> PrefectFuture[Result]:
        """Run the stage as a Prefect task, and do not wait for its end."""
        return self.task.submit(*args, **kwargs)


def stage(
    name: str, *, retries: int = 0
) -> Callable[[Callable[Parameters, Result]], Stage[Parameters, Result]]:
    """Turn a function that handles microdata into a stage.

    Its arguments and results are never persisted or hashed. An exception that is not a
    `ReleaseError` is reduced to stage, type and place: its text may quote a cell, and Prefect
    writes the text of an exception to its database, its logs and the disk.

    Parameters
    ----------
    name : str
        One of `STAGES`, as shown in the UI.
    retries : int
        Number of retries if a file cannot be read or written. Nothing else is retried: a
        computation that failed once fails again.

    Raises
    ------
    ContractError
        If ``name`` is not in `STAGES`.
    """
    if name not in STAGES:
        raise ContractError(f"a stage must be listed in STAGES; {name!r} is not")

    def decorate(function: Callable[Parameters, Result]) -> Stage[Parameters, Result]:
        return Stage(name, guarded(name, announced(name, function)), retries)

    return decorate


def announced(name: str, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Report when a stage starts, and how long it took if it succeeded."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        started = time.monotonic()
        listener().stage_started(name)
        result = function(*args, **kwargs)
        _release_unused_memory()
        listener().stage_ended(name, time.monotonic() - started)
        return result

    return call


def _release_unused_memory() -> None:
    """Give back memory that Arrow keeps for later: the next stage may need it more."""
    # imported late: the help of a command must not wait for it
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def guarded(name: str, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Pass our own errors on, and reduce all others to the parts that may be shown."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # its text must not leave this function
            shown = reduced(name, error)
        raise shown

    return call


def reduced(name: str, error: Exception) -> ReleaseError:
    """Return our own error unchanged, and any other exception reduced to its type and place."""
    if isinstance(error, ReleaseError):
        # frames of its traceback and of its cause hold microdata
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
            f"{place}; fix this and run again"
        )
    return ContractError(f"{name} failed: {type(error).__name__} at {place}")


def _is_transient(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.result(raise_on_failure=False), StorageError)
