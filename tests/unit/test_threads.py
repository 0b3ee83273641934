"""Work that is shared among threads."""

import threading
import time

import numba
import pytest

from algorithms.jit import in_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_each_piece_is_done_once(threads: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
    done: list[int] = []
    in_threads(done.append, range(count))
    assert sorted(done) == list(range(count))


def test_the_calling_thread_works_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)
    all_here = threading.Barrier(3, timeout=60.0)
    seen: set[int] = set()

    def meet(_: int) -> None:
        seen.add(threading.get_ident())
        all_here.wait()

    in_threads(meet, range(3))
    assert threading.get_ident() in seen
    assert len(seen) == 3


@pytest.mark.parametrize("failing", [0, 1])
def test_a_fault_in_any_thread_is_raised_once_all_have_ended(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    both_here = threading.Barrier(2, timeout=60.0)
    ended: list[int] = []

    def meet(_: int) -> None:
        both_here.wait()
        if (threading.current_thread() is threading.main_thread()) == (failing == 0):
            raise ValueError("a fault")
        time.sleep(0.05)
        ended.append(1)

    with pytest.raises(ValueError, match="a fault"):
        in_threads(meet, range(2))
    assert ended == [1]
