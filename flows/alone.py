"""Locks: releases of one dataset never overlap, and a run ends with its worker."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectAlreadyExists

from algorithms.errors import RefusedError
from flows.operation.temporary import has_lasting_server
from tasks.store.disk import make_folder, try_lock
from tasks.store.register import Register

PATIENCE = 60.0
"""Seconds that a run waits for another run of the same dataset."""
LEASE = 60.0
"""Seconds after which the server takes back the slot of a run that no longer renews it."""


@contextmanager
def alone(dataset: str, register: Path) -> Iterator[None]:
    """Lock a dataset against other releases of it, until this one is published or sealed.

    A run that waits for its reviewer locks only its candidate, see `candidates.deciding`.

    A lock file beside the register excludes all processes on the same file system, with or without
    a Prefect server; it is released when the process ends. A concurrency limit on the server
    excludes other hosts.

    Raises
    ------
    RefusedError
        If another release does not end in time.
    """
    locks = Register(register).locks
    make_folder(locks, "register_folder")
    with ExitStack() as locked:
        if not locked.enter_context(try_lock(locks / dataset, PATIENCE)):
            raise _under_way(dataset)
        if has_lasting_server():
            limit = f"release-{dataset}"
            # another host may have created it in the meantime
            with suppress(ObjectAlreadyExists), get_client(sync_client=True) as client:
                client.upsert_global_concurrency_limit_by_name(limit, 1)
            try:
                locked.enter_context(
                    concurrency(
                        limit,
                        timeout_seconds=LEASE + PATIENCE,
                        lease_duration=LEASE,
                        strict=True,
                        # the file lock still holds, and a release must not be aborted half way
                        raise_on_lease_renewal_failure=False,
                    )
                )
            except TimeoutError:
                raise _under_way(dataset) from None
        yield


def _under_way(dataset: str) -> RefusedError:
    return RefusedError(
        f"two releases of {dataset} must not overlap; another release is running: wait for it to "
        "end, then run again"
    )


def end_with_worker() -> None:
    """End this process when the worker that started it has died.

    Nobody could see or stop a run that outlives its worker.
    """
    if "PREFECT__FLOW_RUN_ID" not in os.environ:
        return
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True, name="end-with-worker").start()
