"""The pages of the register: all attempts of all registers, to search and to take away."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response, StreamingResponse

from flows.desk.access import AUDITOR, ENGINEER, REVIEWER, User, allow
from flows.desk.export import as_csv, as_json, in_chunks
from flows.desk.library import library_of
from flows.desk.listing import OUTCOMES, PAGE, Filter, Line, lines, listed
from flows.desk.rendering import page

router = APIRouter()
Staff = Annotated[User, Depends(allow(ENGINEER, REVIEWER, AUDITOR))]
Text = Annotated[str, Query(max_length=500)]


def wanted(
    q: Text = "",
    dataset: Text = "",
    outcome: Text = "",
    register: Text = "",
    since: Annotated[str, Query(alias="from", max_length=20)] = "",
    until: Annotated[str, Query(alias="to", max_length=20)] = "",
) -> Filter:
    """Read the filter of an address."""
    return Filter(q.strip(), dataset, outcome, register, since, until)


Wanted = Annotated[Filter, Depends(wanted)]


@router.get("/register")
def register(
    request: Request,
    _user: Staff,
    wanted: Wanted,
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
) -> Response:
    """List attempts, the newest first."""
    library = library_of(request)
    snapshot = library.archive.snapshot()
    found = listed(library.archive, snapshot, wanted)
    pages = max(-(-len(found.attempts) // PAGE), 1)
    number = min(number, pages)
    shown = found.attempts[(number - 1) * PAGE : number * PAGE]
    return page(
        request,
        "attempts.html",
        wanted=wanted,
        lines=list(lines(library.archive, shown)),
        count=len(found.attempts),
        total=len(snapshot.newest_first),
        unread=found.unread,
        number=number,
        pages=pages,
        first=(number - 1) * PAGE + 1,
        faults=[*wanted.faults, *(shelf.fault for shelf in snapshot.shelves if shelf.fault)],
        datasets=list(snapshot.by_dataset),
        shelves=snapshot.shelves,
        outcomes=OUTCOMES,
    )


@router.get("/register.csv")
def register_csv(request: Request, _user: Staff, wanted: Wanted) -> Response:
    """Send the attempts that a filter keeps as CSV."""
    return _sent(as_csv(_lines(request, wanted)), "text/csv; charset=utf-8", "register.csv")


@router.get("/register.json")
def register_json(request: Request, _user: Staff, wanted: Wanted) -> Response:
    """Send the attempts that a filter keeps as JSON."""
    return _sent(as_json(_lines(request, wanted)), "application/json", "register.json")


def _lines(request: Request, wanted: Filter) -> list[Line]:
    archive = library_of(request).archive
    return [*lines(archive, listed(archive, archive.snapshot(), wanted).attempts)]


def _sent(parts: Iterator[str], kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    chunks = (part.encode(errors="replace") for part in in_chunks(parts))
    return StreamingResponse(chunks, media_type=kind, headers=headers)
