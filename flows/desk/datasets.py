"""The pages of datasets: all of them with their state, and each with its timeline."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import Response

from flows.desk.access import User, allow
from flows.desk.library import library_of
from flows.desk.measures import measures_by_period
from flows.desk.overview import dataset_of, datasets, faulty_specs, periods_of
from flows.desk.rendering import page
from tasks.store.history import MOST_PERIODS
from tasks.store.shifts import CAPTION, shifts

router = APIRouter()
Anyone = Annotated[User, Depends(allow())]


@router.get("/datasets")
def all_datasets(request: Request, _user: Anyone) -> Response:
    """List all datasets, and files that are not valid specs."""
    library = library_of(request)
    snapshot, answer = library.archive.snapshot(), library.server.answer()
    return page(
        request,
        "datasets.html",
        datasets=datasets(library.archive, snapshot, answer),
        faulty=faulty_specs(snapshot.spec_faults),
        faults=[shelf.fault for shelf in snapshot.shelves if shelf.fault],
        server_fault=answer.fault,
    )


@router.get("/datasets/{name}")
def one_dataset(
    request: Request, _user: Anyone, name: str, skip: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """Show the timeline and the periods of a dataset; ``skip`` leaves out the latest periods."""
    library = library_of(request)
    snapshot, answer = library.archive.snapshot(), library.server.answer()
    if name not in snapshot.by_dataset:
        raise HTTPException(404)
    # one period more, so that a change in the first that is shown can be seen
    measured = library.archive.timeline(snapshot, name, skip, MOST_PERIODS + 1)
    shown = measured[-MOST_PERIODS:]
    kept = {each.past.attempt for each in shown}
    changes = shifts([each.past for each in measured])
    file = next((file for file in snapshot.specs if file.spec.release.name == name), None)
    return page(
        request,
        "dataset.html",
        dataset=dataset_of(library.archive, snapshot, answer, name, file),
        sha256=file.sha256 if file is not None else "",
        drawn=library.pictures.timeline(name, [each.past for each in shown]),
        table_of=measures_by_period(shown),
        shifts=[shift for shift in changes if shift.past.attempt in kept][::-1],
        periods=periods_of(snapshot, name, skip, MOST_PERIODS),
        caption=CAPTION,
        skip=skip,
        most=MOST_PERIODS,
        server_fault=answer.fault,
    )
