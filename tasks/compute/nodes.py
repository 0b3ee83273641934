"""Checks that run on the scheduler and the workers of a Dask cluster.

The functions say what is wrong with their own node, in words and without a value of any record.
"""

import functools
import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np

from algorithms.errors import ReleaseError
from tasks.compute.store import ScratchStore
from tasks.store import provenance

PAGES = ("/", "/status", "/info", "/info/main/workers.html", "/health", "/metrics", "/jupyter")
"""Pages that a node serves unless its ``http.routes`` are empty."""
LIST = "/sitemap.json"
"""The list of all pages, which cannot be turned off."""
ONLY_LIST = b'{"paths": ["/sitemap.json"]}'
SECONDS = 10.0
NOT_FOUND = 404


@functools.cache
def installation() -> dict[str, str]:
    """Identify the code and the packages by which this process computes."""
    packages = {key: text for key, text in provenance.environment().items() if key != "platform"}
    return {"sources": provenance.sources_digest(), **packages}


def difference(expected: dict[str, str]) -> str:
    """Name what is installed differently here; nothing if all is the same."""
    own = installation()
    names = [name for name in expected if own.get(name) != expected[name]]
    if "sources" in names:
        names = ["microrelease", *(name for name in names if name != "sources")]
    return ", ".join(names)


async def check_scheduler(expected: dict[str, str], dask_scheduler: Any = None) -> list[str]:
    """Find what is wrong with a scheduler."""
    found = list(_faults(dask_scheduler, expected))
    return [*found, *await _pages(dask_scheduler)]


async def check_worker(
    expected: dict[str, str], store: ScratchStore, token: str, dask_worker: Any = None
) -> list[str]:
    """Find what is wrong with a worker."""
    found = list(worker_faults(dask_worker, expected))
    return [*found, *await _pages(dask_worker), *_sees(store, token)]


def worker_faults(worker: Any, expected: dict[str, str]) -> Iterator[str]:
    """Find what is wrong with a worker, except for its pages and the scratch folder."""
    yield from _faults(worker, expected)
    # whatever the settings say, this is the place of results
    if type(worker.data) is not dict:
        yield (
            "must not spill to disk; it does: set distributed.worker.memory.target and .spill to "
            "false"
        )
    if worker.state.nthreads != 1:
        yield "must have one thread; it has several: start it with --nthreads 1"


def _faults(node: Any, expected: dict[str, str]) -> Iterator[str]:
    different = difference(expected)
    if different:
        yield (
            "must have the same code and packages as this run; it has others of "
            f"{different}: install the same versions everywhere"
        )
    if not node.security.require_encryption:
        yield (
            "must refuse connections without TLS; it does not: set "
            "distributed.comm.require-encryption to true"
        )
    if not all(each.listen_address.startswith("tls://") for each in node.listeners):
        yield "must listen with TLS only; it also listens without: start it with --protocol tls"


async def _pages(node: Any) -> list[str]:
    """Ask the HTTP server of this node for pages: settings alone do not tell what it serves."""
    from tornado.httpclient import AsyncHTTPClient

    server = getattr(node, "http_server", None)
    if server is None:
        return []
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(server.address, server.address)
    client = AsyncHTTPClient(force_instance=True)
    try:
        for page in (*PAGES, LIST):
            answer = await client.fetch(
                f"http://{host}:{server.port}{page}",
                raise_error=False,
                request_timeout=SECONDS,
                follow_redirects=False,
            )
            lists_nothing = page == LIST and answer.body == ONLY_LIST
            if answer.code != NOT_FOUND and not lists_nothing:
                return [
                    "must serve no web pages; it does: set distributed.scheduler.http.routes and "
                    "distributed.worker.http.routes to [], and start it with --no-dashboard"
                ]
    finally:
        client.close()
    return []


def _sees(store: ScratchStore, token: str) -> list[str]:
    """Check that this node reads what the run wrote to the scratch folder, and writes there."""
    try:
        found = store.read("token", "run")["token"].tobytes() == token.encode()
        name = f"token-{secrets.token_hex(8)}"
        store.write(name, {"worker": {"token": np.frombuffer(token.encode(), dtype=np.uint8)}})
    except ReleaseError:
        found = False
    if found:
        return []
    return [
        "must see compute.scratch_folder under the same path, with the rights of the same account; "
        "it does not: mount it there"
    ]
