"""Does jobs on the workers of a Dask cluster.

Dask is used as a queue of calls, and nothing else: arrays are in the scratch folder, encrypted, and
what travels through the scheduler are the choices of a step, addresses, figures and the key.
"""

import contextlib
import logging
import pickle
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from algorithms.errors import ReleaseError, SpecError, StorageError
from expectations.request.sections.compute import ClusterSection
from tasks.compute import nodes
from tasks.compute.engine import Engine, Job, Step
from tasks.compute.store import ScratchStore
from tasks.stage import guarded, reduced

if TYPE_CHECKING:
    from distributed import Client, Future

SECONDS_TO_CONNECT = 30.0
PATIENCE = 600.0
"""Seconds that a run waits for the first worker to come back if all are lost."""
POLL = 10.0
JOBS_PER_WORKER = 2
"""Jobs that are sent to a worker before it has done them: one to do, and one to go on with."""


@dataclass(frozen=True)
class Parcel:
    """A job as it travels; Dask may write its arguments to a log, and must find nothing in them."""

    content: bytes = field(repr=False)


class DaskEngine(Engine):
    """A queue of jobs in front of the workers of a cluster.

    Workers that are lost are replaced by others, as far as there are any; Dask gives a job up when
    several workers in a row were lost with it.
    """

    store: ScratchStore

    def __init__(self, store: ScratchStore, client: "Client") -> None:
        super().__init__(store)
        self._client = client
        self.workers = len(client.nthreads())

    def _each(self, step: Step, jobs: Sequence[Job], receive: Callable[[int, Any], None]) -> None:
        waiting = deque(range(len(jobs)))
        in_flight: dict[Future[Any], int] = {}
        try:
            with _lost(self._client, step.name):
                room = JOBS_PER_WORKER * max(len(self._client.nthreads()), 1)
                while waiting or in_flight:
                    while waiting and len(in_flight) < room:
                        place = waiting.popleft()
                        in_flight[self._submit(step, jobs[place])] = place
                    for future in self._finished(in_flight):
                        receive(in_flight.pop(future), _figures(step.name, future))
        finally:
            for future in in_flight:
                with contextlib.suppress(Exception):
                    future.cancel()

    def _submit(self, step: Step, job: Job) -> "Future[Any]":
        content = pickle.dumps((step, job, self.store, nodes.installation()))
        # the name of the step only, for the log of a worker
        key = f"{step.name}-{job.number}-{secrets.token_hex(8)}"
        return self._client.submit(_do, Parcel(content), key=key, pure=False)

    def _finished(self, in_flight: dict["Future[Any]", int]) -> set["Future[Any]"]:
        """Wait until at least one job is done, as long as there are workers or may be again."""
        from distributed import wait

        end = time.monotonic() + PATIENCE
        while True:
            try:
                with self._client.as_current():
                    done = wait(list(in_flight), timeout=POLL, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                if self._client.nthreads():
                    end = time.monotonic() + PATIENCE
                elif time.monotonic() > end:
                    raise StorageError(
                        f"the cluster must have workers; all were lost, and none came back within "
                        f"{PATIENCE / 60:.0f} minutes: start workers, and run again"
                    ) from None
            else:
                return set(done)


def _figures(name: str, future: "Future[Any]") -> Any:
    from distributed import KilledWorker

    try:
        result = future.result()
    except KilledWorker:
        raise StorageError(
            f"{name} must end on every block; several workers in a row were lost on the same "
            "block, perhaps because memory ran out: give workers more memory or use smaller "
            "blocks, and run again"
        ) from None
    finally:
        # the traceback of an error keeps the future alive, and Dask its job
        future.release()
    if isinstance(result, ReleaseError):
        raise result
    return result


def _do(parcel: Parcel) -> Any:
    """Do a job on a worker; an error is a result, because Dask logs those that are raised."""
    try:
        return guarded("compute", _opened)(parcel)
    except ReleaseError as error:
        return error


def _opened(parcel: Parcel) -> Any:
    from distributed import get_worker

    step, job, store, expected = pickle.loads(parcel.content)
    # a worker may have joined the cluster after it was checked
    for fault in nodes.worker_faults(get_worker(), expected):
        raise SpecError(f"every worker of the cluster {fault}")
    return step.perform(job, store)


@contextmanager
def cluster_engine(store: ScratchStore, cluster: ClusterSection) -> Iterator[DaskEngine]:
    """Connect to a cluster, check that it may handle confidential data, and disconnect at the end.

    Raises
    ------
    SpecError
        If Dask is not installed, or the cluster is not safe; the message names every fault.
    StorageError
        If the cluster does not answer, or has no workers.
    """
    with _connected(cluster) as client:
        with _lost(client, "the check of the cluster"):
            _check(client, store)
        yield DaskEngine(store, client)


@contextmanager
def _connected(cluster: ClusterSection) -> Iterator["Client"]:
    try:
        import dask
        import distributed
    except ImportError:
        raise SpecError(
            "compute.engine: dask needs the packages dask and distributed; they are not installed: "
            "install microrelease[dask], here and on every worker"
        ) from None
    # the faults that matter are told in sentences; children have levels of their own
    for name in [
        name for name in logging.root.manager.loggerDict if name.startswith("distributed")
    ]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    tls = cluster.tls
    for file in (tls.ca, tls.cert, tls.key):
        if not file.is_file():
            raise StorageError(f"compute.tls must name readable files; {str(file)!r} is not one")
    with dask.config.set({"distributed.comm.require-encryption": True}):
        try:
            security = distributed.Security(
                require_encryption=True,
                tls_ca_file=str(tls.ca),
                tls_client_cert=str(tls.cert),
                tls_client_key=str(tls.key),
            )
            client = distributed.Client(
                cluster.address,
                security=security,
                timeout=SECONDS_TO_CONNECT,
                set_as_default=False,
            )
        except (OSError, ValueError):
            raise StorageError(
                f"compute.address must be that of a scheduler which accepts the certificates of "
                f"this run; {cluster.address} did not within {SECONDS_TO_CONNECT:.0f} seconds: "
                "start it, or check the certificates"
            ) from None
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):
                client.close(timeout=SECONDS_TO_CONNECT)


def _check(client: "Client", store: ScratchStore) -> None:
    """Check every node, before anything confidential is sent to it."""
    if not client.nthreads():
        raise StorageError("the cluster must have workers; it has none: start some, and run again")
    expected = nodes.installation()
    token = secrets.token_hex(16)
    store.write("token", {"run": {"token": np.frombuffer(token.encode(), dtype=np.uint8)}})
    try:
        faults = list(client.run_on_scheduler(nodes.check_scheduler, expected))
        answers = client.run(nodes.check_worker, expected, store, token)
        tokens = [name for name in store.names() if name.startswith("token-")]
    except (ReleaseError, OSError):
        raise
    except Exception:
        # the check itself reports faults, so that it could not be imported there
        raise SpecError(
            "every node of the cluster must have this version of microrelease; some have another "
            "or none: install it everywhere, on the scheduler too"
        ) from None
    finally:
        store.remove("token")
    sentences = [f"the scheduler of the cluster {fault}" for fault in faults]
    counts = Counter(fault for found in answers.values() for fault in found)
    sentences += [
        f"every worker of the cluster {fault} ({count} of {len(answers)} workers)"
        for fault, count in counts.items()
    ]
    if not counts and len(tokens) != len(answers):
        sentences.append(
            "compute.scratch_folder must be the same folder for all workers and for this run; it "
            "is not: mount one folder everywhere"
        )
    if sentences:
        raise SpecError("\n".join(sentences))


@contextmanager
def _lost(client: "Client", name: str) -> Iterator[None]:
    """Tell in a sentence that the connection to the cluster was lost."""
    try:
        yield
    except ReleaseError:
        raise
    except Exception as error:
        if client.status == "running" and not isinstance(error, OSError | CancelledError):
            raise reduced(name, error) from None
        raise StorageError(
            f"the scheduler of the cluster must answer until the run ends; the connection was lost "
            f"during {name}: see that it runs, and run again"
        ) from None
