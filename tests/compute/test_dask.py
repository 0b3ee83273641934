import importlib.metadata
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from algorithms.blocks.running import in_order
from algorithms.errors import ContractError, IntegrityError, SpecError, StorageError
from expectations.request.sections.compute import ComputeSection
from tasks.compute import dask_cluster, nodes
from tasks.compute.computing import computing
from tasks.compute.engine import Engine, Job
from tasks.compute.local import LocalEngine
from tasks.compute.store import MemoryStore, ScratchStore
from tests.compute import steps
from tests.compute.cluster import ROOT, Cluster, running
from tests.leaks import sentinels_in
from tests.tools import PATIENCE

pytestmark = pytest.mark.operation


@pytest.fixture
def engine(cluster: Cluster, tmp_path: Path) -> Iterator[Engine]:
    # a test before may have lost workers, which start again
    end = time.monotonic() + PATIENCE
    compute = ComputeSection(**cluster.compute(tmp_path / "scratch"))
    while _workers(compute) < 2 and time.monotonic() < end:
        time.sleep(0.5)
    with computing(compute) as opened:
        assert opened.workers == 2
        yield opened


def _workers(compute: ComputeSection) -> int:
    try:
        with computing(compute) as opened:
            return opened.workers
    except StorageError:
        return 0


@pytest.fixture
def on_disk(engine: Engine) -> ScratchStore:
    assert isinstance(engine.store, ScratchStore)
    return engine.store


def test_a_cluster_gives_the_same_result_as_a_loop(engine: Engine) -> None:
    local = LocalEngine(MemoryStore())
    assert steps.two_steps(engine) == steps.two_steps(local)
    engine.store.remove("")
    blocks = [{"x": np.arange(3.0) + number} for number in range(7)]
    expected = in_order("scale", steps.scale, 0.1, blocks)
    found = engine.run("scale", steps.scale, 0.1, blocks)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one["x"], other["x"])
    assert engine.store.names() == []
    shares: list[float] = []
    jobs = [Job(number) for number in range(4)]
    engine.map("spread", steps.spread, 3, jobs, lambda _, share: shares.append(share))
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_a_worker_that_is_killed_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    expected = steps.two_steps(LocalEngine(MemoryStore()))
    assert steps.two_steps(engine, tmp_path) == expected
    assert (tmp_path / "gather").exists()


def test_a_job_that_kills_three_workers_is_one_sentence(engine: Engine) -> None:
    with pytest.raises(StorageError, match="link must end on every block; several workers"):
        engine.map("link", steps.die, None, [Job(number) for number in range(3)])


def test_a_full_scratch_folder_on_a_worker_is_one_sentence(engine: Engine) -> None:
    pids = set(engine.map("pid", steps.pid, None, [Job(number) for number in range(20)]))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 17, limits[1]))
    try:
        with pytest.raises(StorageError, match="it is full"):
            engine.map("fill", steps.fill, None, [Job(number) for number in range(8)])
    finally:
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def test_a_worker_notices_an_altered_segment(engine: Engine, on_disk: ScratchStore) -> None:
    on_disk.write("in", {"all": {"x": np.ones(3)}})
    path = on_disk.folder / "in"
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match="must be as this run wrote it"):
        engine.map("gather", steps.gather, None, [Job(0, (("in", "all"),))])


def test_a_failing_block_leaves_no_cell_anywhere(
    engine: Engine, on_disk: ScratchStore, cluster: Cluster
) -> None:
    x = np.full(1000, steps.SECRET)
    on_disk.write("in", {"all": {"x": x}})
    jobs = [Job(number, (("in", "all"),)) for number in range(3)]
    with pytest.raises(ContractError) as caught:
        engine.map("group", steps.fail, None, jobs)
    assert str(caught.value).startswith("group failed: ValueError at steps.py:")
    digits = repr(steps.SECRET).encode()
    forms = {"text": [digits, digits[:10]], "double": [x[:1].tobytes(), x[:1].byteswap().tobytes()]}
    folders = (cluster.folder, on_disk.folder)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert {"scheduler.log", "workers.log", "in"} <= {path.name for path in files}
    for path in files:
        assert sentinels_in(path.read_bytes(), forms) == set(), path
        assert on_disk.key not in path.read_bytes()
    assert "ValueError" not in cluster.log("workers")


def test_no_node_serves_a_page(engine: Engine, cluster: Cluster) -> None:
    assert isinstance(engine, dask_cluster.DaskEngine)
    info = engine._client.scheduler_info()
    ports = [info["services"]["dashboard"]]
    ports += [worker["services"]["dashboard"] for worker in info["workers"].values()]
    assert len(ports) == 3
    for port in ports:
        for page in ("info/main/logs.html", "status", "json/counts.json", "metrics"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}")


def test_a_certificate_of_another_authority_is_not_accepted(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.compute.cluster import Authority

    other = Authority(tmp_path)
    other.sign("run")
    monkeypatch.setattr(dask_cluster, "SECONDS_TO_CONNECT", 3.0)
    tls = {**other.tls("run"), "ca": cluster.authority.tls("run")["ca"]}
    compute = ComputeSection(**cluster.compute(tmp_path / "scratch", tls=tls))
    with (
        pytest.raises(StorageError, match=r"accepts the certificates .* within 3 seconds"),
        computing(compute),
    ):
        pass
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_certificate_that_is_missing_is_named(cluster: Cluster, tmp_path: Path) -> None:
    tls = {**cluster.authority.tls("run"), "key": str(tmp_path / "none.key")}
    compute = ComputeSection(**cluster.compute(tmp_path / "scratch", tls=tls))
    with pytest.raises(StorageError, match=r"'.*none\.key' is not one"), computing(compute):
        pass


UNSAFE = {
    "distributed.comm.require-encryption": False,
    "distributed.worker.memory.spill": 0.7,
    "distributed.worker.http.routes": [
        "distributed.http.worker.prometheus",
        "distributed.http.health",
    ],
    "distributed.scheduler.http.routes": ["distributed.http.scheduler.info"],
}


def test_an_unsafe_cluster_is_refused_with_all_its_faults(tmp_path: Path) -> None:
    copy = tmp_path / "other-code"
    for floor in ("algorithms", "expectations", "tasks", "flows", "tests"):
        shutil.copytree(ROOT / floor, copy / floor, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "algorithms" / "__init__.py").write_text('"""Other code."""\n')
    with running(
        tmp_path,
        1,
        scheduler_settings=UNSAFE,
        worker_settings=UNSAFE,
        threads=2,
        PYTHONPATH=str(copy),
    ) as cluster:
        scratch = tmp_path / "scratch"
        with (
            pytest.raises(SpecError) as caught,
            computing(ComputeSection(**cluster.compute(scratch))),
        ):
            pass
        assert list(scratch.iterdir()) == []
    lines = str(caught.value).splitlines()
    starts = [line.partition(";")[0] for line in lines]
    assert starts == [
        "the scheduler of the cluster must refuse connections without TLS",
        "the scheduler of the cluster must serve no web pages",
        "every worker of the cluster must have the same code and packages as this run",
        "every worker of the cluster must refuse connections without TLS",
        "every worker of the cluster must not spill to disk",
        "every worker of the cluster must have one thread",
        "every worker of the cluster must serve no web pages",
    ]
    assert "it has others of microrelease: install" in lines[2]
    assert all(line.endswith("(1 of 1 workers)") for line in lines[2:])


def test_a_worker_without_microrelease_is_one_sentence(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "tasks.py").touch()
    with running(tmp_path, 1, PYTHONPATH=str(elsewhere)) as cluster:
        compute = ComputeSection(**cluster.compute(tmp_path / "scratch"))
        with (
            pytest.raises(SpecError, match="this version of microrelease"),
            computing(compute),
        ):
            pass


def test_a_cluster_may_get_worse_or_end_during_a_run(tmp_path: Path) -> None:
    with running(tmp_path, 0) as cluster:
        compute = ComputeSection(**cluster.compute(tmp_path / "scratch"))
        with (
            pytest.raises(StorageError, match="must have workers; it has none"),
            computing(compute),
        ):
            pass
        settings = tmp_path / "scheduler.yaml"
        start = ("worker", cluster.address, "--protocol", "tls", "--host", "127.0.0.1")
        place = ("--no-dashboard", "--local-directory", str(tmp_path / "local"))

        safe = yaml.safe_load(settings.read_text())
        cluster.start("first", safe, *start, *place, "--nthreads", "1")
        cluster.wait_for("scheduler", "Register worker")
        with computing(compute) as engine:
            assert steps.two_steps(engine) == steps.two_steps(LocalEngine(MemoryStore()))
            cluster.start("late", safe, *start, *place, "--nthreads", "2")
            cluster.wait_for("scheduler", "Register worker", 2)
            with pytest.raises(SpecError, match=r"every worker .* must have one thread"):
                engine.map("pid", steps.pid, None, [Job(number) for number in range(30)])
            late = cluster.processes["late"]
            late.terminate()
            late.wait()
            scheduler = cluster.processes["scheduler"]
            threading.Timer(1.0, scheduler.send_signal, (signal.SIGKILL,)).start()
            jobs = [Job(number) for number in range(4)]
            with pytest.raises(StorageError, match="the connection was lost during wait"):
                engine.map("wait", steps.wait, 5.0, jobs)
            with pytest.raises(StorageError, match="the connection was lost during pid"):
                engine.map("pid", steps.pid, None, jobs)
        assert list((tmp_path / "scratch").iterdir()) == []


def test_a_worker_that_does_not_see_the_scratch_folder_says_so(tmp_path: Path) -> None:
    store = ScratchStore.new(tmp_path / "none")
    (fault,) = nodes._sees(store, "token")
    assert fault.startswith("must see compute.scratch_folder under the same path")


def test_all_workers_lost_for_good_is_one_sentence(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(engine, dask_cluster.DaskEngine)
    for name in ("POLL", "PATIENCE"):
        monkeypatch.setattr(dask_cluster, name, 0.1)
    monkeypatch.setattr(engine._client, "nthreads", dict)
    with pytest.raises(StorageError, match="all were lost"):
        engine.map("wait", steps.wait, 2.0, [Job(0)])


WITHOUT_DASK = """
import sys
sys.modules["distributed"] = None
from expectations.request.sections.compute import ComputeSection
from tasks.compute.computing import computing
tls = dict.fromkeys(("ca", "cert", "key"), "x.pem")
compute = ComputeSection(
    engine="dask", address="tls://localhost:1", tls=tls, scratch_folder=sys.argv[1]
)
try:
    with computing(compute):
        pass
except Exception as error:
    print(type(error).__name__, error)
"""


def test_without_dask_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", WITHOUT_DASK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ).stdout
    assert shown.startswith("SpecError compute.engine: dask needs the packages")
    assert "install microrelease[dask]" in shown


def test_the_extra_is_the_version_that_tests_use() -> None:
    assert importlib.metadata.version("distributed") >= "2026.8"
