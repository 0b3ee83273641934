"""Draws a map of methods, paths and k on one table, and publishes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import Field

from algorithms.errors import ReleaseError
from algorithms.microaggregation import METHODS
from algorithms.utility.bound_curve import ks_between
from expectations.data_warnings import source_warnings
from expectations.request.named import NamedSpec, resolve_spec
from expectations.request.sections.microaggregation import MicroaggregationSection
from expectations.request.spec import ReleaseSpec
from flows.alone import end_with_worker
from flows.notify import tell_of
from flows.outcome import Explored, state_of, stopped
from flows.release import due, run_name
from tasks.bound import bound
from tasks.explore.cell import (
    KS_TRIED,
    ORDERINGS_TRIED,
    Cell,
    bounded,
    choices,
    fitted,
    proven,
)
from tasks.explore.outputs import show_map, write_map
from tasks.explore.recommendation import recommendation
from tasks.explore.source import SourceFacts, source_facts
from tasks.explore.workers import Workers, working
from tasks.ingest import ingest
from tasks.listening import listener
from tasks.stage import guarded, stage
from tasks.standardise import standardise
from tasks.validate import validate

LARGEST_COUNT = 64

map_folder: ContextVar[Path | None] = ContextVar("map_folder", default=None)
"""Folder into which the command line writes the map; a run has no such parameter. The default is a
folder in the register."""


@contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """Have runs of this process write their map to a folder."""
    token = map_folder.set(folder)
    try:
        yield
    finally:
        map_folder.reset(token)


@stage(name="try")
def try_choice(workers: Workers, choice: MicroaggregationSection, cells: int) -> Cell:
    """Try one choice in a process of its own."""
    cell = workers.run(choice)
    listener().cell_measured(cell, cells)
    return cell


@flow(
    name="explore",
    flow_run_name=run_name,
    persist_result=False,
    log_prints=False,
    on_failure=[tell_of],
    on_crashed=[tell_of],
    # threads only wait for processes, of which there are as many as are asked for
    task_runner=ThreadPoolTaskRunner(max_workers=LARGEST_COUNT),  # type: ignore[arg-type]
)
def explore(
    spec: NamedSpec,
    methods: list[str] | None = None,
    orderings: list[str] | None = None,
    ks: list[int] | None = None,
    seconds: Annotated[float, Field(gt=0)] = 60.0,
    workers: Annotated[int, Field(ge=1, le=LARGEST_COUNT)] = 2,
) -> State[Any]:
    """Measure methods, paths and k on one table; publish nothing.

    Args:
        spec: the name of a reviewed spec: the table, its columns, and the limits that are drawn
            into the map; ceilings are proposed if it has none.
        methods: by default all.
        orderings: paths for the methods that cut one; by default npn and tsp.
        ks: by default that of the spec, and those of 2, 3, 4, 5, 7, 10 and 15 that are larger; one
            that is smaller is drawn and never recommended.
        seconds: the most that one choice may take; compiling does not count.
        workers: choices that are tried at the same time.
    """
    end_with_worker()
    try:
        resolved = guarded("resolve", resolve_spec)(spec, due()).spec
        maps = resolved.publication.register_folder / "maps"
        cells, source = guarded("explore", _explore)(
            resolved,
            map_folder.get() or maps / "-".join(resolved.release.folder.parts),
            methods or list(METHODS),
            orderings or _paths(resolved),
            ks or _ks(resolved),
            seconds,
            workers,
        )
    except ReleaseError as error:
        return state_of(stopped(None, error))
    return state_of(Explored(None, recommendation(cells, resolved), cells, source))


def _ks(spec: ReleaseSpec) -> list[int]:
    least = spec.microaggregation.k
    return [least, *(k for k in KS_TRIED if k > least)]


def _paths(spec: ReleaseSpec) -> list[str]:
    named = spec.microaggregation.ordering
    return list(dict.fromkeys([*ORDERINGS_TRIED, *([named] if named else [])]))


def _explore(
    spec: ReleaseSpec,
    folder: Path,
    methods: list[str],
    orderings: list[str],
    ks: list[int],
    seconds: float,
    count: int,
) -> tuple[tuple[Cell, ...], SourceFacts]:
    log = get_run_logger()
    wanted = choices(spec, methods, orderings, ks)
    read, facts = ingest(spec)
    table, _ = validate(read, spec)
    source = source_facts(table, spec.microaggregation.k, source_warnings(facts))
    for warning in source.warnings:
        log.warning("%s", warning)
    standardise(table, spec.plan)
    wanted = [fitted(choice, spec, len(table), seconds) for choice in wanted]
    log.info("%d choices, %d at a time", len(wanted), count)
    with working((table, spec), count, seconds) as workers:
        futures = [try_choice.submit(workers, choice, len(wanted)) for choice in wanted]
        cells = tuple(future.result() for future in futures)
    curve = bound(table, spec, ks_between(ks), proven(cells))
    cells, source = bounded(cells, curve), replace(source, curve=curve)
    write_map(cells, spec, folder, source)
    show_map(cells, spec)
    log.info("%s", recommendation(cells, spec))
    return cells, source
