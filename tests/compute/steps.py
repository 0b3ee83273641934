"""Functions of blocks that tests run on any engine; workers import them from here."""

import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.blocks.running import Arrays
from tasks.compute.engine import Engine, Job, Output

SECRET = 7_919_350_117.0625
"""A value that no file or log may hold, as text, as a double, or within base64."""


def scale(given: float, block: Arrays) -> Arrays:
    return {"x": given * block["x"], "rows": np.arange(len(block["x"]))}


def spoil(_given: None, block: Arrays) -> Arrays:
    block["x"][...] = 0.0
    return block


def spread(given: int, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Cut numbers into parts by their remainder."""
    rows = inputs[0]["x"] if inputs else np.arange(number * 10, number * 10 + 10, dtype=float)
    parts = {str(part): {"x": rows[rows % given == part]} for part in range(given)}
    return Output(float(rows.sum()), {f"spread/{number}": parts})


def gather(given: Path | None, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Join the parts of one block; killed once if ``given`` names a file that is not there yet."""
    if given is not None and number == 1:
        die_once(given)
    joined = np.concatenate([each["x"] for each in inputs])
    return Output(joined.tolist(), {f"gather/{number}": {"all": {"x": joined}}})


def die_once(mark: Path) -> None:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def die(_given: object, number: int, _inputs: tuple[Arrays, ...]) -> Output:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return Output(number)


def fail(_given: object, number: int, inputs: tuple[Arrays, ...]) -> Output:
    """Quote a cell in an exception, as a library might."""
    cell = inputs[0]["x"][0]
    if number == 1:
        raise ValueError(f"cannot convert {cell!r} of {inputs!r}")
    return Output()


def fail_block(_given: object, block: Arrays) -> Arrays:
    """Quote the whole block."""
    raise ValueError(f"SENTINELTEXT {block['x'].tolist()}")


def fill(_given: object, number: int, _inputs: tuple[Arrays, ...]) -> Output:
    return Output(files={f"large/{number}": {"all": {"x": np.zeros(1 << 17)}}})


def pid(_given: object, _number: int, _inputs: tuple[Arrays, ...]) -> Output:
    return Output(os.getpid())


def environment(_given: object, _number: int, _inputs: tuple[Arrays, ...]) -> Output:
    import numba

    core = resource.getrlimit(resource.RLIMIT_CORE)
    return Output((os.environ["OPENBLAS_NUM_THREADS"], numba.config.NUMBA_NUM_THREADS, core))


def two_steps(engine: Engine, marks: Path | None = None) -> Any:
    """Spread numbers over blocks, and gather each block; the result must be the same anywhere."""
    step = None if marks is None else marks / "gather"
    sums = engine.map("spread", spread, 3, [Job(number) for number in range(5)])
    reads = [tuple((f"spread/{n}", str(part)) for n in range(5)) for part in range(3)]
    jobs = [Job(number, each) for number, each in enumerate(reads)]
    joined = engine.map("gather", gather, step, jobs)
    kept = [engine.store.read(f"gather/{number}", "all")["x"].tolist() for number in range(3)]
    engine.store.remove("spread/")
    assert engine.store.names() == ["gather/0", "gather/1", "gather/2"]
    assert joined == kept
    return sums, joined


def wait(given: float, _number: int, _inputs: tuple[Arrays, ...]) -> Output:
    time.sleep(given)
    return Output()
