"""Does jobs in this process, one after the other."""

from collections.abc import Callable, Sequence
from typing import Any

from algorithms.blocks.running import Arrays, Function
from algorithms.types import Watch
from tasks.compute.engine import Engine, Job, Step
from tasks.compute.store import read_only
from tasks.stage import guarded


class LocalEngine(Engine):
    """A loop."""

    workers = 1

    def _each(self, step: Step, jobs: Sequence[Job], receive: Callable[[int, Any], None]) -> None:
        for place, job in enumerate(jobs):
            receive(place, step.perform(job, self.store))

    def run(
        self,
        name: str,
        function: Function,
        given: Any,
        blocks: Sequence[Arrays],
        watch: Watch | None = None,
    ) -> list[Arrays]:
        """Run a function on many blocks; nothing is written to a scratch folder."""
        results = []
        for done, block in enumerate(blocks, start=1):
            arrays = {key: read_only(array) for key, array in block.items()}
            results.append(guarded(name, function)(given, arrays))
            if watch is not None:
                watch(done, done / len(blocks))
        return results
