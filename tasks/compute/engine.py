"""Runs the same function for many blocks, and keeps the order of the results."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from algorithms.blocks.running import Arrays, Function
from algorithms.types import Watch
from tasks.compute.store import Store
from tasks.stage import guarded

BLOCK, RESULT = "block", "result"
"""The only part of the files in which blocks, and their results, are handed over."""


@dataclass(frozen=True)
class Job:
    """One call of a step: its number, and the addresses of the arrays that it needs.

    Attributes
    ----------
    number : int
        Tells the function which block it works on.
    reads : tuple of (str, str)
        File and part in the store, in the order in which the function is given them.
    """

    number: int
    reads: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Output:
    """Result of one call of a step.

    Attributes
    ----------
    figures : object
        A few numbers for the caller, which are small and are never written to disk.
    files : mapping
        Files with their parts, for later steps. No other job may write a file of the same name.
    """

    figures: Any = None
    files: Mapping[str, Mapping[str, Arrays]] = field(default_factory=dict)


StepFunction = Callable[[Any, int, tuple[Arrays, ...]], Output]
"""A pure function of choices that all jobs share, of the number of a job, and of its arrays.

It is defined in a module, so that another process can import it. A job may be run again after its
worker was lost, so that the same arguments must give the same output.
"""


@dataclass(frozen=True)
class Step:
    """A function with the choices that all of its jobs share; ``name`` is shown if it fails."""

    name: str
    function: StepFunction
    given: Any = field(repr=False)

    def output(self, number: int, inputs: tuple[Arrays, ...]) -> Output:
        """Call the function; an error shows no cell."""
        return guarded(self.name, self.function)(self.given, number, inputs)

    def perform(self, job: Job, store: Store) -> Any:
        """Do a job with the files of a store, and return its figures; an error shows no cell."""
        return guarded(self.name, self._perform)(job, store)

    def _perform(self, job: Job, store: Store) -> Any:
        output = self.function(self.given, job.number, inputs_of(job, store))
        keep(output, store)
        return output.figures


def inputs_of(job: Job, store: Store) -> tuple[Arrays, ...]:
    """Read the arrays that a job needs."""
    return tuple(store.read(file, part) for file, part in job.reads)


def keep(output: Output, store: Store) -> None:
    """Write the files of an output."""
    for file, parts in output.files.items():
        store.write(file, parts)


class Engine(ABC):
    """Does jobs, wherever that may be; results are the same everywhere.

    Attributes
    ----------
    store : Store
        The files that jobs read and write.
    workers : int
        Number of jobs that are done at the same time, as far as is known.
    """

    store: Store
    workers: int

    def __init__(self, store: Store) -> None:
        self.store = store
        self._runs = itertools.count()

    def map(
        self,
        name: str,
        function: StepFunction,
        given: Any,
        jobs: Sequence[Job],
        watch: Watch | None = None,
    ) -> list[Any]:
        """Do all jobs of a step, and return their figures in the order of the jobs.

        Parameters
        ----------
        name : str
            Name of the step, shown if it fails.
        function : callable
            As `StepFunction` tells.
        given : object
            Choices that all jobs share; sent with every job, so keep it below some megabytes.
        jobs : sequence of Job
            They must not depend on each other.
        watch : callable, optional
            Called after each job with the number of jobs that are done, and their share.

        Raises
        ------
        ReleaseError
            If a job fails, or its worker is lost several times.
        """
        figures: list[Any] = [None] * len(jobs)
        received = 0

        def receive(place: int, result: Any) -> None:
            nonlocal received
            figures[place] = result
            received += 1
            if watch is not None:
                watch(received, received / len(jobs))

        self._each(Step(name, function, given), jobs, receive)
        return figures

    @abstractmethod
    def _each(self, step: Step, jobs: Sequence[Job], receive: Callable[[int, Any], None]) -> None:
        """Do all jobs, and hand over the place of each among the jobs, and its figures."""

    def run(
        self,
        name: str,
        function: Function,
        given: Any,
        blocks: Sequence[Arrays],
        watch: Watch | None = None,
    ) -> list[Arrays]:
        """Run a function on many blocks, as `algorithms.blocks.running.Run` tells."""
        place = f"run-{next(self._runs)}"
        jobs = []
        try:
            for number, block in enumerate(blocks):
                file = f"{place}/{BLOCK}-{number}"
                self.store.write(file, {BLOCK: block})
                jobs.append(Job(number, ((file, BLOCK),)))
            self.map(name, _run_block, (function, given, place), jobs, watch)
            return [self.store.read(_result(place, job.number), RESULT) for job in jobs]
        finally:
            self.store.remove(f"{place}/")


def _run_block(given: Any, number: int, inputs: tuple[Arrays, ...]) -> Output:
    function, choices, place = given
    (block,) = inputs
    return Output(files={_result(place, number): {RESULT: function(choices, block)}})


def _result(place: str, number: int) -> str:
    return f"{place}/{RESULT}-{number}"
