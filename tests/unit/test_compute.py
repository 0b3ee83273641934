"""The section on where the work is done, and the engine that it opens."""

import json
from pathlib import Path
from typing import Any

import pytest

from algorithms.errors import SpecError, StorageError
from expectations.request.sections.compute import ComputeSection
from tasks.compute import computing as opening
from tasks.compute.computing import computing
from tasks.compute.local import LocalEngine
from tasks.compute.processes import ProcessesEngine
from tasks.compute.store import MemoryStore, ScratchStore
from tests.conftest import Request

TLS = {"ca": "ca.pem", "cert": "run.pem", "key": "run.key"}
DASK = {
    "engine": "dask",
    "address": "tls://scheduler:8786",
    "tls": TLS,
    "scratch_folder": "scratch",
}


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in DASK.items() if key not in keys}


def test_a_spec_without_the_section_works_in_its_own_process(request_of: Request) -> None:
    compute = request_of.load().compute
    assert compute == ComputeSection()
    assert (compute.engine, compute.memory_rows) == ("local", 2_000_000)


def test_paths_of_the_section_start_from_the_folder_of_the_spec(request_of: Request) -> None:
    compute = request_of.load(compute=DASK).compute
    assert compute.scratch_folder == request_of.folder / "scratch"
    assert compute.tls.key == request_of.folder / "run.key"
    assert compute.cluster.address == "tls://scheduler:8786"
    assert (
        request_of.load(compute={**without("address", "tls"), "block": "site"}).compute.cluster
        is None
    )


@pytest.mark.parametrize(
    ("compute", "fault"),
    [
        ({"engine": "ray"}, "compute.engine: must be 'local', 'processes' or 'dask'; got 'ray'"),
        ({"workers": 2}, "compute: workers is about engine: processes; the engine is local: drop"),
        ({**DASK, "workers": 2}, "compute: workers is about engine: processes; the engine is dask"),
        ({"address": "tls://a:1"}, "compute: address is about engine: dask; the engine is local"),
        ({"engine": "processes", "block": "a"}, "block is about engine: dask; the engine is proc"),
        ({"engine": "processes", "workers": 0}, "compute.workers: must be greater than or equal"),
        (without("tls"), "compute: engine: dask needs address and tls, or block; something of it"),
        (without("address"), "compute: engine: dask needs address and tls, or block"),
        (without("scratch_folder"), "compute: engine: dask needs scratch_folder, which all worker"),
        ({**DASK, "block": "site"}, "compute: block stands for address and tls; both are given"),
        ({**DASK, "address": "tcp://a:1"}, "compute: address must begin with tls:// and end with"),
        ({**DASK, "address": "tls://a:1/?x"}, "compute: address must begin with tls://"),
        ({**DASK, "tls": {"ca": "a"}}, "compute.tls.cert: must be given; it is missing"),
        ({**DASK, "tls": "ca.pem"}, "compute.tls: "),
        ({"scratch_folder": "public/x"}, "compute.scratch_folder must lie outside public_folder"),
        ({"scratch_folder": "register"}, "compute.scratch_folder must lie outside register_folder"),
        ({"scratch_folder": ".public.staging"}, "must lie outside staging_folder; it lies inside"),
        ("dask", "compute: "),
    ],
)  # fmt: skip
def test_a_faulty_section_is_refused_in_one_sentence(
    request_of: Request, compute: Any, fault: str
) -> None:
    with pytest.raises(SpecError) as caught:
        request_of.load(compute=compute)
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value) or isinstance(compute, dict)


def test_the_spec_opens_its_engine_and_its_store(tmp_path: Path) -> None:
    with computing(ComputeSection()) as engine:
        assert isinstance(engine, LocalEngine)
        assert isinstance(engine.store, MemoryStore)
    compute = ComputeSection(engine="processes", workers=3, scratch_folder=tmp_path / "scratch")
    with computing(compute) as engine:
        assert isinstance(engine, ProcessesEngine)
        assert engine.workers == 3
        assert isinstance(engine.store, ScratchStore)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_the_file_of_a_site_takes_the_place_of_the_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "site.yaml"
    file.write_text("engine: processes\nscratch_folder: here\n")
    monkeypatch.setenv("MICRORELEASE_COMPUTE", str(file))
    chosen = opening.compute_of_site(ComputeSection(memory_rows=5))
    assert chosen == ComputeSection(engine="processes", scratch_folder=tmp_path / "here")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, r"must name a readable YAML file; .* is not \(No such file or directory\)"),
        (b"\xff", r"must name a readable YAML file; .* is not \(it is not text\)"),
        (b"engine: dask", "engine: dask needs address and tls.*; engine: dask needs scratch"),
        (b"- local", "must be a valid dictionary"),
        (b"nodes: 3", "nodes: no such key"),
        (b"a: b: c", "must be valid YAML"),
    ],
)
def test_a_faulty_file_of_a_site_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, fault: str
) -> None:
    file = tmp_path / "site.yaml"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("MICRORELEASE_COMPUTE", str(file))
    with pytest.raises(SpecError, match=f"MICRORELEASE_COMPUTE.* {fault}"):
        opening.compute_of_site(ComputeSection())


def in_block(text: str | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from pydantic import SecretStr

    asked: list[str] = []

    def read(name: str) -> SecretStr | None:
        asked.append(name)
        return None if text is None else SecretStr(text)

    monkeypatch.setattr(opening, "secret_block", read)
    return asked


def test_a_block_of_prefect_says_where_the_cluster_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = {**TLS, "ca": str(tmp_path / "ca.pem")}
    asked = in_block(json.dumps({"address": "tls://a:1", "tls": tls}), monkeypatch)
    compute = ComputeSection(engine="dask", block="site", scratch_folder=tmp_path / "scratch")
    with (
        pytest.raises(StorageError, match=r"compute\.tls .*ca\.pem' is not one"),
        computing(compute),
    ):
        pass
    assert asked == ["microrelease-compute-site"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "'microrelease-compute-site': it is not known: save it"),
        (
            "address: tcp://secret:1\ntls: {ca: a, cert: b, key: c}",
            "address must begin with tls://",
        ),
        ("address: tls://secret:1", "tls: must be given; it is missing"),
    ],
)
def test_a_block_without_a_safe_cluster_is_refused_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, fault: str
) -> None:
    in_block(text, monkeypatch)
    compute = ComputeSection(engine="dask", block="site", scratch_folder=tmp_path / "scratch")
    with pytest.raises(SpecError) as caught, computing(compute):
        pass
    assert fault in str(caught.value)
    assert "secret" not in str(caught.value).replace("Secret", "")
    assert list((tmp_path / "scratch").iterdir()) == []
