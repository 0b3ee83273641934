"""Whole releases with every engine: the same bytes, and nothing confidential anywhere."""

import hashlib
import resource
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.csv
import pyarrow.parquet
import pytest

from algorithms.blocks.running import Arrays, Function
from algorithms.types import Watch
from flows.cli import main
from tasks.compute.engine import Engine
from tasks.compute.processes import ProcessesEngine
from tests.compute import steps
from tests.compute.cluster import Cluster, running
from tests.conftest import Request
from tests.leaks import sentinels_in
from tests.tools import PATIENCE

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

ROWS = 600
BLOCKS = {
    "method": "mdav",
    "k": 3,
    "refine": {"iterations": 0},
    "blocks": {"rows": 100, "seams": 1},
}


@pytest.fixture
def long(request_of: Request) -> Request:
    """Write a table of some blocks."""
    random = np.random.default_rng(17)
    staff = random.integers(1, 500, ROWS)
    sales = np.exp(random.normal(3.0, 1.5, ROWS)).round(2)
    lines = [f"r{i},z,{a},{b},{i % 7}" for i, (a, b) in enumerate(zip(staff, sales, strict=True))]
    text = "\n".join(["id,zone,staff,sales,score", *lines, ""])
    request_of.source.write_text(text, encoding="utf-8")
    return request_of


def released(request_of: Request, name: str, compute: dict[str, Any]) -> dict[str, str]:
    """Release the table with an engine into folders of its own, and fingerprint the public data."""
    places = {"public_folder": f"public-{name}", "register_folder": f"register-{name}"}
    spec = request_of.write(microaggregation=BLOCKS, publication=places, compute=compute)
    assert main(["run", str(spec)]) == 0
    files = request_of.folder.joinpath(f"public-{name}").rglob("data.*")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_local_and_processes_publish_the_same_bytes(long: Request) -> None:
    expected = released(long, "local", {})
    assert set(expected) == {"data.csv", "data.parquet"}
    for number in (1, 2):
        compute = {"engine": "processes", "workers": number}
        assert released(long, f"processes-{number}", compute) == expected
    compute = {"engine": "processes", "workers": 2, "scratch_folder": "scratch"}
    assert released(long, "scratch", compute) == expected
    assert list((long.folder / "scratch").iterdir()) == []


def kill_workers(cluster: Cluster, scratch: Path, killed: list[int]) -> None:
    """Kill a worker when the first result of each step appears."""
    steps_seen: set[str] = set()
    end = time.monotonic() + PATIENCE
    while len(steps_seen) < 2 and time.monotonic() < end:
        for path in scratch.glob("microrelease-*/run-*=result-*"):
            step = path.name.partition("=")[0]
            if step not in steps_seen:
                steps_seen.add(step)
                nannies = psutil.Process(cluster.processes["workers"].pid)
                workers = [
                    each
                    for each in nannies.children(recursive=True)
                    if "spawn_main" in " ".join(each.cmdline())
                ]
                workers[0].kill()
                killed.append(workers[0].pid)
        time.sleep(0.001)


def test_a_cluster_publishes_the_same_bytes_even_if_a_worker_dies_in_each_step(
    long: Request, cluster: Cluster
) -> None:
    expected = released(long, "local", {})
    scratch = long.folder / "scratch"
    assert released(long, "dask", cluster.compute(scratch)) == expected
    killed: list[int] = []
    thread = threading.Thread(target=kill_workers, args=(cluster, scratch, killed), daemon=True)
    thread.start()
    assert released(long, "killed", cluster.compute(scratch)) == expected
    thread.join()
    assert len(set(killed)) == 2
    assert list(scratch.iterdir()) == []


def test_a_block_that_fails_on_a_worker_leaves_no_cell_in_any_log_page_or_database(
    long: Request,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from prefect.settings import get_current_settings

    cells: list[float] = []
    plain = Engine.run

    def failing(
        self: Engine,
        name: str,
        function: Function,
        given: Any,
        blocks: Sequence[Arrays],
        watch: Watch | None = None,
    ) -> list[Arrays]:
        cells.extend(np.concatenate([block["x"] for block in blocks]).ravel().tolist())
        return plain(self, name, steps.fail_block, given, blocks, watch)

    monkeypatch.setattr(Engine, "run", failing)
    spec = long.write(microaggregation=BLOCKS, compute=cluster.compute(long.folder / "scratch"))
    assert main(["run", str(spec)]) == 70
    shown = capfd.readouterr()
    assert "failed: ValueError at steps.py:" in "".join(shown)
    assert len(cells) == 2 * ROWS
    # cells as texts and as doubles; short numbers would be found anywhere
    odd = [cell for cell in cells if len(repr(cell)) > 12]
    forms = {
        "text": [b"SENTINELTEXT", *(repr(cell).encode() for cell in odd)],
        "double": [np.float64(cell).tobytes() for cell in odd],
    }
    url = get_current_settings().server.database.connection_url
    assert url is not None
    database = Path(url.get_secret_value().partition("///")[2])
    assert database.is_file()
    assert not long.public.exists()
    assert sentinels_in("".join(shown).encode(), forms) == set()
    for folder in (database.parent, cluster.folder, long.register, long.folder / "scratch"):
        for path in folder.rglob("*"):
            if path.is_file():
                assert sentinels_in(path.read_bytes(), forms) == set(), path


def test_an_unsafe_cluster_is_refused_before_the_source_is_opened(
    long: Request, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    # a source that cannot be read would be the fault, if it were opened
    long.source.write_bytes(b"\xff")
    spilling = {"distributed.worker.memory.target": 0.6}
    with running(tmp_path_factory.mktemp("unsafe"), 1, worker_settings=spilling) as cluster:
        compute = cluster.compute(long.folder / "scratch")
        assert main(["run", str(long.write(microaggregation=BLOCKS, compute=compute))]) == 10
    assert "every worker of the cluster must not spill to disk" in capsys.readouterr().err.replace(
        "\n", " "
    )
    assert not long.public.exists()


def test_the_file_of_a_site_changes_no_result(
    long: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = released(long, "local", {})
    site = long.folder / "site.yaml"
    site.write_text("engine: processes\nworkers: 2\n")
    monkeypatch.setenv("MICRORELEASE_COMPUTE", str(site))
    assert released(long, "site", {}) == expected


STREAMED = {"scratch_folder": "scratch", "memory_rows": 10}
"""Has a table of this size worked on in parts."""


@pytest.fixture
def in_parts(long: Request, monkeypatch: pytest.MonkeyPatch) -> Request:
    """Give the table as a Parquet file of some chunks."""
    monkeypatch.setattr("tasks.streamed.source.CHUNK", 200)
    table = pyarrow.csv.read_csv(long.source)
    pyarrow.parquet.write_table(table, long.folder / "table.parquet")
    long.content["source"] = {"path": "table.parquet"}
    return long


def test_a_table_in_parts_is_published_with_the_same_bytes_by_every_engine(
    in_parts: Request, cluster: Cluster
) -> None:
    expected = released(in_parts, "memory", {})
    assert set(expected) == {"data.csv", "data.parquet"}
    assert released(in_parts, "local", STREAMED) == expected
    for number in (1, 2):
        compute = {"engine": "processes", "workers": number, **STREAMED}
        assert released(in_parts, f"processes-{number}", compute) == expected
    scratch = in_parts.folder / "scratch"
    compute = {**cluster.compute(scratch), "memory_rows": 10}
    assert released(in_parts, "dask", compute) == expected
    assert list(scratch.iterdir()) == []


def test_a_table_in_parts_survives_a_worker_that_dies_in_each_step(
    in_parts: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = released(in_parts, "memory", {})
    killed: set[str] = set()
    plain = ProcessesEngine.map

    def killing(self: ProcessesEngine, name: str, *arguments: Any, **options: Any) -> list[Any]:
        function = arguments[0].__name__
        children = psutil.Process().children()
        alive = [each for each in children if each.status() != psutil.STATUS_ZOMBIE]
        workers = [each for each in alive if "spawn_main" in " ".join(each.cmdline())]
        # they start with the first jobs
        if workers and function not in killed:
            killed.add(function)
            workers[0].kill()
        return plain(self, name, *arguments, **options)

    monkeypatch.setattr(ProcessesEngine, "map", killing)
    compute = {"engine": "processes", "workers": 2, **STREAMED}
    assert released(in_parts, "killed", compute) == expected
    assert {"count_repeated", "spread_chunk", "group_part", "link_part", "sort_range"} <= killed
    assert list((in_parts.folder / "scratch").iterdir()) == []


def test_a_scratch_folder_that_is_full_ends_the_release_in_one_sentence(
    in_parts: Request, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = in_parts.write(microaggregation=BLOCKS, compute=STREAMED)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
    try:
        code = main(["run", str(spec), "--dry-run"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert code == 14
    assert "scratch" in capsys.readouterr().err
    assert not in_parts.public.exists()
    assert list((in_parts.folder / "scratch").iterdir()) == []
