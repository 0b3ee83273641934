import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from algorithms.errors import ContractError, IntegrityError, StorageError
from tasks.compute.store import LOCK, MemoryStore, ScratchStore, Store, scratch
from tests.compute.steps import SECRET
from tests.leaks import sentinels_in

ARRAYS = {
    "x": np.arange(6.0).reshape(2, 3),
    "by_columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "every_other": np.arange(6)[::2],
    "labels": np.array([1, 2], dtype=np.int32),
    "mask": np.array([True, False]),
    "text": np.array(["", "Zürich"]),
    "tokens": np.array([b"a\0", b"bc"], dtype="S16"),
    "days": np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"),
    "scalar": np.array(1.5),
    "empty": np.empty((0, 4)),
}


@pytest.fixture(params=["memory", "scratch"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
    else:
        with scratch(tmp_path / "scratch") as opened:
            yield opened


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[ScratchStore]:
    with scratch(tmp_path / "scratch") as opened:
        yield opened


def test_arrays_come_back_as_they_were(store: Store) -> None:
    store.write("a/1", {"p": ARRAYS, "q": {}, "r": {"x": np.zeros(0)}})
    found = store.read("a/1", "p")
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        assert found[name].flags.aligned
    assert found["by_columns"].flags.f_contiguous
    assert not found["by_columns"].flags.c_contiguous
    assert store.read("a/1", "q") == {}
    assert store.read("a/1", "r")["x"].shape == (0,)


def test_a_part_that_a_file_lacks_holds_no_arrays_and_a_missing_file_is_a_fault(
    store: Store,
) -> None:
    store.write("a", {})
    assert store.read("a", "none") == {}
    with pytest.raises(IntegrityError, match="'b' is not"):
        store.read("b", "none")


def test_arrays_that_were_read_cannot_be_written_to(store: Store) -> None:
    written = np.zeros(3)
    store.write("a", {"p": {"x": written}})
    with pytest.raises(ValueError, match="read-only"):
        store.read("a", "p")["x"][0] = 1.0
    assert written.flags.writeable


def test_files_are_replaced_listed_and_removed_by_the_start_of_their_names(store: Store) -> None:
    for name in ("a/1", "a/2", "b/1", "a/1"):
        store.write(name, {"p": {"x": np.ones(1)}})
    assert store.names() == ["a/1", "a/2", "b/1"]
    store.remove("a/")
    assert store.names() == ["b/1"]


@pytest.mark.parametrize("name", ["", "../a", ".a", "a b", "a=b", "/a"])
def test_names_of_files_are_plain(store: Store, name: str) -> None:
    with pytest.raises(ContractError, match="plain name"):
        store.write(name, {})


def test_python_objects_are_refused_on_disk(on_disk: ScratchStore) -> None:
    for array in (np.array([{}]), np.zeros(1, dtype=[("a", float)])):
        with pytest.raises(ContractError, match="'x' is not"):
            on_disk.write("a", {"p": {"x": array}})
    assert list(on_disk.folder.iterdir()) == [on_disk.folder / LOCK]


def test_files_are_encrypted_and_readable_by_their_owner_only(on_disk: ScratchStore) -> None:
    x = np.full(1000, SECRET)
    on_disk.write("a", {"a-part": {"x": x}})
    content = (on_disk.folder / "a").read_bytes()
    forms = {"double": [x[:1].tobytes()], "text": [repr(SECRET).encode(), b"a-part"]}
    assert sentinels_in(content, forms) == set()
    assert on_disk.folder.stat().st_mode & 0o777 == 0o700
    assert (on_disk.folder / "a").stat().st_mode & 0o777 == 0o600
    assert str(on_disk.key) not in repr(on_disk)


def test_the_same_arrays_are_never_the_same_bytes_twice(on_disk: ScratchStore) -> None:
    on_disk.write("a", {"p": ARRAYS})
    first = (on_disk.folder / "a").read_bytes()
    on_disk.write("a", {"p": ARRAYS})
    second = (on_disk.folder / "a").read_bytes()
    assert first[:64] != second[:64]


def test_a_copy_of_the_store_in_another_process_reads_and_writes_the_same(
    on_disk: ScratchStore,
) -> None:
    copy = pickle.loads(pickle.dumps(on_disk))
    copy.write("a", {"p": {"x": np.ones(2)}})
    assert on_disk.read("a", "p")["x"].sum() == 2.0


def test_every_altered_byte_is_noticed(on_disk: ScratchStore) -> None:
    on_disk.write("a", {"p": {"x": np.ones(2)}})
    path = on_disk.folder / "a"
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(IntegrityError, match="must be as this run wrote it"):
            on_disk.read("a", "p")
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(IntegrityError, match="must be as this run wrote it"):
            on_disk.read("a", "p")


def test_a_file_in_the_place_of_another_is_noticed(on_disk: ScratchStore) -> None:
    for name in "ab":
        on_disk.write(name, {"p": {"x": np.ones(2)}})
    (on_disk.folder / "b").replace(on_disk.folder / "a")
    with pytest.raises(IntegrityError, match="'a' is not"):
        on_disk.read("a", "p")


def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(
    on_disk: ScratchStore,
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"must have room .* it is full"):
            on_disk.write("a", {"p": {"x": np.zeros(1 << 16)}})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert on_disk.names() == []
    assert os.listdir(on_disk.folder) == [LOCK]  # noqa: PTH208 - hidden files too


def test_a_folder_that_is_gone_is_one_sentence(on_disk: ScratchStore) -> None:
    gone = ScratchStore(on_disk.folder / "none", on_disk.key)
    for call in (lambda: gone.write("a", {}), gone.names):
        with pytest.raises(StorageError, match=r"\(No such file or directory\)"):
            call()


def test_the_folder_of_a_run_ends_with_it(tmp_path: Path) -> None:
    with suppress(ContractError), scratch(tmp_path) as store:
        store.write("a", {})
        store.write("..", {})
    assert list(tmp_path.iterdir()) == []


def test_a_scratch_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StorageError, match=r"compute\.scratch_folder must be a folder"),
        scratch(tmp_path / "file"),
    ):
        pass


KILLED = """
import os, signal, sys
from pathlib import Path
from tasks.compute.store import scratch
with scratch(Path(sys.argv[1])) as store:
    store.write("a", {})
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_sweeps_what_killed_runs_left_and_nothing_of_living_ones(tmp_path: Path) -> None:
    with scratch(tmp_path) as living:
        living.write("a", {})
        end = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
        assert end.returncode == -signal.SIGKILL
        assert len(list(tmp_path.iterdir())) == 2
        (tmp_path / "mine").mkdir()
        with scratch(tmp_path) as other:
            names = {living.folder.name, other.folder.name, "mine"}
            assert {path.name for path in tmp_path.iterdir()} == names
        assert living.names() == ["a"]


def test_the_folder_of_another_host_is_swept_after_a_day_without_change(tmp_path: Path) -> None:
    left = tmp_path / "microrelease-0123"
    left.mkdir()
    (left / LOCK).write_text("another-host")
    with scratch(tmp_path):
        assert left.exists()
    os.utime(left, (0, 0))
    with scratch(tmp_path):
        assert not left.exists()
