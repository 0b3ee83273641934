import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from algorithms.blocks.running import in_order
from algorithms.errors import ContractError, StorageError
from tasks.compute.engine import Engine, Job, Step
from tasks.compute.local import LocalEngine
from tasks.compute.processes import ProcessesEngine
from tasks.compute.store import MemoryStore, Store, scratch
from tests.compute import steps
from tests.tools import PATIENCE


class ShuffledEngine(Engine):
    """Does jobs in random order, and some of them twice, as a cluster may."""

    workers = 1

    def _each(self, step: Step, jobs: Sequence[Job], receive: Callable[[int, Any], None]) -> None:
        places = list(range(len(jobs)))
        random.shuffle(places)
        for place in places:
            for _ in range(random.randint(1, 2)):
                figures = step.perform(jobs[place], self.store)
            receive(place, figures)


@contextmanager
def engine_of(name: str, folder: Path) -> Iterator[Engine]:
    kind, _, place = name.partition(" in ")
    with ExitStack() as stack:
        store: Store = MemoryStore() if place == "memory" else stack.enter_context(scratch(folder))
        if kind.startswith("processes"):
            count = int(kind.split()[1])
            yield stack.enter_context(closing(ProcessesEngine(store, count)))
        else:
            yield {"local": LocalEngine, "shuffled": ShuffledEngine}[kind](store)


KINDS = [
    f"{kind} in {place}"
    for kind in ("local", "shuffled", "processes 1", "processes 2")
    for place in ("memory", "scratch")
]


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with engine_of(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture(params=["memory", "scratch"])
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProcessesEngine]:
    with engine_of(f"processes 2 in {request.param}", tmp_path / "scratch") as opened:
        assert isinstance(opened, ProcessesEngine)
        yield opened


def test_every_engine_gives_the_same_result_in_the_order_of_jobs(engine: Engine) -> None:
    shares: list[tuple[int, float]] = []
    assert steps.two_steps(engine) == steps.two_steps(LocalEngine(MemoryStore()))
    jobs = [Job(number) for number in range(4)]
    sums = engine.map("spread", steps.spread, 3, jobs, lambda *done: shares.append(done))
    assert sums == [45.0, 145.0, 245.0, 345.0]
    assert shares == [(1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)]
    assert engine.map("spread", steps.spread, 3, []) == []


def test_every_engine_runs_functions_on_blocks_as_a_loop_does(engine: Engine) -> None:
    blocks = [{"x": np.arange(3.0) + number} for number in range(5)]
    expected = in_order("scale", steps.scale, 0.1, blocks)
    for _ in range(2):
        found = engine.run("scale", steps.scale, 0.1, blocks)
        assert [list(each) for each in found] == [["x", "rows"]] * 5
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one["x"], other["x"])
            np.testing.assert_array_equal(one["rows"], other["rows"])
    assert engine.store.names() == []
    assert engine.run("scale", steps.scale, 0.1, []) == []


def test_a_block_that_fails_shows_its_step_and_place_and_no_cell(engine: Engine) -> None:
    engine.store.write("in", {"all": {"x": np.full(3, steps.SECRET)}})
    jobs = [Job(number, (("in", "all"),)) for number in range(3)]
    with pytest.raises(ContractError) as caught:
        engine.map("group", steps.fail, None, jobs)
    assert str(caught.value).startswith("group failed: ValueError at steps.py:")
    assert caught.value.__cause__ is caught.value.__context__ is None
    # and the engine can be used after that
    assert engine.map("spread", steps.spread, 3, [Job(1)]) == [145.0]


def test_no_function_may_change_its_input(engine: Engine) -> None:
    with pytest.raises(ContractError, match="spoil failed: ValueError"):
        engine.run("spoil", steps.spoil, None, [{"x": np.ones(2)}])
    assert engine.store.names() == []


def test_a_process_that_dies_is_replaced_and_its_job_done_again(
    processes: ProcessesEngine, tmp_path: Path
) -> None:
    expected = steps.two_steps(LocalEngine(MemoryStore()))
    assert steps.two_steps(processes, tmp_path) == expected
    assert (tmp_path / "gather").exists()


def test_a_job_whose_process_dies_three_times_is_one_sentence_and_no_process_is_left(
    processes: ProcessesEngine,
) -> None:
    pids = processes.map("pid", steps.pid, None, [Job(number) for number in range(4)])
    with pytest.raises(StorageError, match="link must end on every block; its process was lost 3"):
        processes.map("link", steps.die, None, [Job(number) for number in range(4)])
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert len(processes.map("pid", steps.pid, None, [Job(0)])) == 1


def test_a_process_that_died_between_two_steps_is_replaced(processes: ProcessesEngine) -> None:
    first = processes.map("pid", steps.pid, None, [Job(number) for number in range(8)])
    for pid in set(first):
        os.kill(pid, 9)
    second = processes.map("pid", steps.pid, None, [Job(number) for number in range(8)])
    assert not set(first) & set(second)


def test_processes_have_one_thread_leave_no_core_dump_and_end_with_the_engine(
    tmp_path: Path,
) -> None:
    with engine_of("processes 2 in memory", tmp_path) as engine:
        jobs = [Job(number) for number in range(2)]
        assert engine.map("environment", steps.environment, None, jobs) == [("1", 1, (0, 0))] * 2
        (pid, _) = engine.map("pid", steps.pid, None, jobs)
        assert Path(f"/proc/{pid}").exists()
        assert "NUMBA_NUM_THREADS" not in os.environ
    assert not Path(f"/proc/{pid}").exists()


def test_there_is_a_process_for_each_core_unless_the_spec_says_otherwise() -> None:
    assert ProcessesEngine(MemoryStore()).workers == len(os.sched_getaffinity(0))


def test_a_full_disk_in_a_worker_is_one_sentence(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with engine_of("processes 2 in scratch", tmp_path) as engine:
        # processes inherit the limit
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
        try:
            with pytest.raises(StorageError, match="it is full"):
                engine.map("fill", steps.fill, None, [Job(0), Job(1)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert engine.store.names() == []


KILLED = """
import os, signal
from tasks.compute.engine import Job
from tasks.compute.processes import ProcessesEngine
from tasks.compute.store import MemoryStore
from tests.compute import steps
from tests.tools import PATIENCE
engine = ProcessesEngine(MemoryStore(), 2)
jobs = [Job(number) for number in range(8)]
print(*set(engine.map("pid", steps.pid, None, jobs)), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_when_the_run_that_started_them_is_killed(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert ended.returncode == -signal.SIGKILL
    end = time.monotonic() + PATIENCE
    for pid in ended.stdout.split():
        while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
            assert time.monotonic() < end
            time.sleep(0.1)
