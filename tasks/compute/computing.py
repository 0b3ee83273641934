"""Opens the engine that a spec, or the site, asks for."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from pydantic import ValidationError

from algorithms.errors import SpecError
from expectations.request.faults import faults
from expectations.request.sections.compute import ClusterSection, ComputeSection
from expectations.request.spec_file import compute_from_folder, from_yaml
from tasks.compute.dask_cluster import cluster_engine
from tasks.compute.engine import Engine
from tasks.compute.local import LocalEngine
from tasks.compute.processes import ProcessesEngine
from tasks.compute.store import MemoryStore, ScratchStore, scratch
from tasks.secret_blocks import secret_block

VARIABLE = "MICRORELEASE_COMPUTE"
"""Environment variable with a file that takes the place of ``compute`` in every spec of a site."""
BLOCK = "microrelease-compute-"
"""Start of the names of Prefect Secret blocks."""


def compute_of_site(compute: ComputeSection) -> ComputeSection:
    """Return the section that counts: that of the site, if there is one, or that of the spec.

    Raises
    ------
    SpecError
        If the file of the site is not such a section; the message names every fault.
    """
    file = os.environ.get(VARIABLE, "")
    if not file:
        return compute
    path = Path(file).absolute()
    try:
        content = compute_from_folder(
            from_yaml(path.read_text("utf-8"), f"the file in {VARIABLE}"), path.parent
        )
        return ComputeSection.model_validate(content)
    except (OSError, UnicodeDecodeError) as error:
        found = getattr(error, "strerror", None) or "it is not text"
        fault = f"must name a readable YAML file; {str(path)!r} is not ({found})"
    except ValidationError as error:
        fault = "; ".join(faults(error))
    raise SpecError(f"{VARIABLE}: {fault}")


@contextmanager
def computing(compute: ComputeSection) -> Iterator[Engine]:
    """Open the engine that does the work of a run, and close it at the end.

    Where the site has a file of its own in ``MICRORELEASE_COMPUTE``, that one counts. A cluster is
    checked before anything else is done, so before the source is opened.

    Raises
    ------
    SpecError
        If the engine may not be used for confidential data, or is not installed.
    StorageError
        If the scratch folder cannot be written to, or the cluster does not answer.
    """
    chosen = compute_of_site(compute)
    with ExitStack() as until_done:
        folder = chosen.scratch_folder
        store = MemoryStore() if folder is None else until_done.enter_context(scratch(folder))
        if chosen.engine == "processes":
            yield until_done.enter_context(closing(ProcessesEngine(store, chosen.workers)))
        elif isinstance(store, ScratchStore) and chosen.engine == "dask":
            cluster = chosen.cluster or _cluster_in_block(chosen.block or "")
            yield until_done.enter_context(cluster_engine(store, cluster))
        else:
            yield LocalEngine(store)


def _cluster_in_block(name: str) -> ClusterSection:
    """Read where a cluster is from a Prefect Secret block.

    Raises
    ------
    SpecError
        If there is no such block, or it holds something else; it is not shown.
    """
    block = BLOCK + name
    text = secret_block(block)
    try:
        if text is not None:
            return ClusterSection.model_validate(from_yaml(text.get_secret_value(), block))
        fault = "it is not known: save it"
    except ValidationError as error:
        fault = "; ".join(faults(error))
    raise SpecError(
        f"compute.block must name a Prefect Secret block with address and tls; {block!r}: {fault}"
    )
