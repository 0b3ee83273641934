"""Does jobs in several processes of this machine."""

import os
from collections import Counter, deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

from algorithms.blocks.running import Arrays
from algorithms.errors import ReleaseError, StorageError
from tasks.compute.children import Child
from tasks.compute.engine import Engine, Job, Step, inputs_of, keep
from tasks.compute.store import MemoryStore, Store, read_only
from tasks.stage import guarded

DEATHS = 3
"""A job whose process ended so many times is given up."""


class ProcessesEngine(Engine):
    """A few processes, each of which does one job at a time.

    Where files are in memory, arrays travel through a pipe; where they are in a scratch folder, a
    process reads and writes them itself. Nothing else is on any disk, and no port is opened.
    """

    def __init__(self, store: Store, workers: int | None = None) -> None:
        super().__init__(store)
        self.workers = workers or len(os.sched_getaffinity(0))
        self._children: list[Child] = []

    def close(self) -> None:
        """End all processes."""
        while self._children:
            self._children.pop().stop()

    def _each(self, step: Step, jobs: Sequence[Job], receive: Callable[[int, Any], None]) -> None:
        waiting = deque(range(len(jobs)))
        deaths: Counter[int] = Counter()
        while len(self._children) < min(self.workers, len(jobs)):
            self._children.append(Child(_serve))
        idle = list(self._children)
        busy: dict[Any, tuple[Child, int]] = {}

        def lost(child: Child, place: int) -> None:
            """Replace a process that has ended; its job is done by another."""
            deaths[place] += 1
            self._children.remove(child)
            child.stop()
            if deaths[place] == DEATHS:
                raise _gave_up(step.name)
            self._children.append(Child(_serve))
            idle.append(self._children[-1])
            waiting.appendleft(place)

        try:
            while waiting or busy:
                while waiting and idle:
                    child, place = idle.pop(), waiting.popleft()
                    try:
                        child.connection.send(self._message(step, jobs[place]))
                    except OSError:
                        lost(child, place)
                    else:
                        busy[child.connection] = child, place
                for connection in wait(list(busy)):
                    child, place = busy.pop(connection)
                    try:
                        reply = child.connection.recv()
                    except (EOFError, OSError):
                        lost(child, place)
                        continue
                    idle.append(child)
                    receive(place, self._figures(reply))
        except BaseException:
            # those that are busy would answer a question of the next step with the last one
            self.close()
            raise

    def _message(self, step: Step, job: Job) -> "Message":
        """Say what to do; a store in memory is here only, so that its arrays are sent along."""
        if isinstance(self.store, MemoryStore):
            return step, job, inputs_of(job, self.store)
        return step, job, self.store

    def _figures(self, reply: Any) -> Any:
        """Take the figures from a reply, and keep the files that came with it."""
        if isinstance(reply, ReleaseError):
            raise reply
        if not isinstance(self.store, MemoryStore):
            return reply
        keep(reply, self.store)
        return reply.figures


Message = tuple[Step, Job, Store | tuple[Arrays, ...]]


def _serve(connection: Connection) -> None:
    """Do jobs until the pipe closes."""
    while True:
        try:
            message = connection.recv_bytes()
            connection.send_bytes(_reply(message))
        except (EOFError, OSError):
            return


def _reply(message: bytes) -> bytes | memoryview:
    try:
        return guarded("compute", _done)(message)
    except ReleaseError as error:
        return ForkingPickler.dumps(error)


def _done(message: bytes) -> bytes | memoryview:
    step, job, inputs = ForkingPickler.loads(message)
    if isinstance(inputs, Store):
        return ForkingPickler.dumps(step.perform(job, inputs))
    # arrays that came through a pipe could be written to
    blocks = tuple({name: read_only(array) for name, array in each.items()} for each in inputs)
    return ForkingPickler.dumps(step.output(job.number, blocks))


def _gave_up(name: str) -> StorageError:
    return StorageError(
        f"{name} must end on every block; its process was lost {DEATHS} times on the same block, "
        "perhaps because memory ran out: use fewer workers or smaller blocks, and run again"
    )
