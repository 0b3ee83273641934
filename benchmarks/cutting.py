"""Times the cutting of millions of sorted whole numbers, and compares it with peers.

The peers are ``calculate_sse_dynamic`` of the package ``microaggregation``, the C++ of the author
of IMHMI (``pip install microaggregation``; left out if it is not installed), and the recurrence of
our own kernel in C++, compiled here with ``-O3 -march=native``. All get sorted values. Times are
the shortest of several rounds, in which all run in turn; ours cover everything from the values to
the labels. Run it with ``python -m benchmarks.cutting``; it takes about a minute.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from algorithms.cutting import _columns_after_padding, cut_lanes, cut_path, cut_whole, follow
from benchmarks.printing import printed_by

SOURCE = Path(__file__).with_suffix(".cpp")
GROUP_SIZES = (2, 3, 5, 10)
MEMORY_MILLIONS = 20
MEMORY_K = 10
GIBIBYTE = 2**30

Call = Callable[[], object]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cutting", description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 5], help="records to cut")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the least time counts")
    parser.add_argument("--memory", action="store_true", help="only sort and cut 20 million")
    options = parser.parse_args()
    if options.memory:
        _memory()
        return 0
    peer = _peer()
    with tempfile.TemporaryDirectory() as folder:
        compiled = _compiled(Path(folder))
        for millions in options.millions:
            _table(millions, options.rounds, peer, compiled)
    # in a separate process, because the peak memory of a process never falls
    subprocess.run([sys.executable, "-m", "benchmarks.cutting", "--memory"], check=True)
    return 0


def section(pictures: Path) -> str:  # noqa: ARG001 - it draws none
    """Measure and print, and return the section of the page."""
    return f"## Cutting\n\n{_PROSE}\n\n```\n{printed_by('benchmarks.cutting')}\n```\n"


_PROSE = """`python -m benchmarks.cutting` cuts sorted integers, uniform in [-*n*/2, *n*/2].
`imhmi` and `mhm` are our complete code, from values to labels; `kernel` and `C++ -O3` are the same
recurrence from padded values to labels, compiled by numba and by a C++ compiler with
`-O3 -march=native`; `package` is `calculate_sse_dynamic` of the package `microaggregation` 0.1.9 by
the author of IMHMI, which gives a sum and no labels. The last columns are the loss with real
averages, ours and that of the package; where they differ, the package is wrong."""


def _table(
    millions: int, rounds: int, peer: Callable[..., float] | None, compiled: ctypes.CDLL | None
) -> None:
    n = millions * 1_000_000
    unsorted = np.random.default_rng(1).integers(-n // 2, n // 2, n)
    (sorting,) = _least([lambda: unsorted[np.argsort(unsorted, kind="stable")]], 2)
    column = np.sort(unsorted).reshape(-1, 1)
    real = column.astype(np.float64)
    _say(f"\n{millions} million sorted integers; nanoseconds per record")
    _say(f"sorting them (stable, with their rows): {sorting / n:.1f}")
    _say(
        f"{'k':>3} {'imhmi':>8} {'mhm':>8} {'kernel':>8} {'C++ -O3':>8} {'kernel/C++':>11} "
        f"{'package':>8} {'package/imhmi':>14} {'package/mhm':>12}  loss: mhm, package"
    )
    for k in GROUP_SIZES:
        calls: list[Call] = [
            lambda k=k: cut_whole(column, k),  # type: ignore[misc]
            lambda k=k: cut_path(real, k),  # type: ignore[misc]
            _kernel(column, k),
        ]
        if compiled is not None:
            calls.append(_in_cpp(compiled, column, k))
        if peer is not None:
            calls.append(lambda k=k: peer(real, k))  # type: ignore[misc]
        times = [t / n for t in _least(calls, rounds)]
        whole, reals, kernel = times[:3]
        cpp = times[3] if compiled is not None else float("nan")
        package = times[-1] if peer is not None else float("nan")
        peer_loss = f"{peer(real, k):,.0f}" if peer is not None else "not installed"
        _say(
            f"{k:>3} {whole:>8.1f} {reals:>8.1f} {kernel:>8.1f} {cpp:>8.1f} {kernel / cpp:>11.2f} "
            f"{package:>8.1f} {package / whole:>14.1f} {package / reals:>12.1f}  "
            f"{cut_path(real, k)[1]:,.0f}, {peer_loss}"
        )


def _kernel(column: NDArray[np.int64], k: int) -> Call:
    """Run the same steps as the C++ code: from padded values to labels."""
    padded = _columns_after_padding(column, k)
    sizes = np.zeros(len(column) + 1, dtype=np.uint8)

    def call() -> object:
        return cut_lanes(padded, k, sizes).sum(), follow(sizes)

    return call


def _in_cpp(compiled: ctypes.CDLL, column: NDArray[np.int64], k: int) -> Call:
    padded = _columns_after_padding(column, k)
    sizes = np.zeros(len(column) + 1, dtype=np.uint8)
    expected, loss = cut_whole(column, k)

    def call() -> object:
        labels = np.empty(len(column), dtype=np.int64)
        found = compiled.cut(
            padded.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int(len(padded)),
            ctypes.c_int64(len(column)),
            ctypes.c_int(k),
            sizes.ctypes.data_as(ctypes.c_void_p),
            labels.ctypes.data_as(ctypes.c_void_p),
        )
        return found, labels

    found, labels = call()  # type: ignore[misc]
    if found != loss or not np.array_equal(labels, expected):
        raise SystemExit("the C++ does not give the same cut")
    return call


def _least(calls: list[Call], rounds: int) -> list[float]:
    """Time calls in turn, after a first call that may compile; the fewest nanoseconds count."""
    for call in calls:
        call()
    times = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            started = time.perf_counter_ns()
            call()
            times[i] = min(times[i], time.perf_counter_ns() - started)
    return times


def _peer() -> Callable[..., float] | None:
    try:
        from microaggregation import calculate_sse_dynamic
    except ImportError:
        _say("the package microaggregation is not installed; its columns are left out")
        return None
    found: Callable[..., float] = calculate_sse_dynamic
    return found


def _compiled(folder: Path) -> ctypes.CDLL | None:
    library = folder / "cutting.so"
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", library, SOURCE]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError):
        _say(f"{compiler} does not compile {SOURCE.name}; its columns are left out")
        return None
    compiled = ctypes.CDLL(str(library))
    compiled.cut.restype = ctypes.c_double
    return compiled


def _memory() -> None:
    n = MEMORY_MILLIONS * 1_000_000
    cut_whole(np.arange(1000).reshape(-1, 1), MEMORY_K)  # compiles
    before = _peak()
    column = np.random.default_rng(1).integers(-n // 2, n // 2, n)
    drawn = _peak()
    started = time.perf_counter_ns()
    order = np.argsort(column, kind="stable")
    column = column[order].reshape(-1, 1)
    sorted_at, sorted_peak = time.perf_counter_ns(), _peak()
    labels, loss = cut_whole(column, MEMORY_K)
    ended, peak = time.perf_counter_ns(), _peak()
    _say(
        f"\n{MEMORY_MILLIONS} million integers, k = {MEMORY_K}, sorted and cut in one process: "
        f"{int(labels[-1]) + 1} groups, loss {loss}\n"
        "                  ns per record   more bytes per record\n"
        f"sorting {(sorted_at - started) / n:>23.1f} {(sorted_peak - drawn) / n:>23.1f}\n"
        f"cutting {(ended - sorted_at) / n:>23.1f} {(peak - sorted_peak) / n:>23.1f}\n"
        f"in all   {peak / GIBIBYTE:.2f} GiB at most, {before / GIBIBYTE:.2f} of them before the "
        "first record"
    )


def _peak() -> int:
    """Return the peak memory of this process in bytes, without that of its parent."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this system does not report the peak memory of a process")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
