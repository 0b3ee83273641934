"""The page of the installation's health: runs, workers, disks, versions and faults."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from flows.desk.access import ADMINISTRATOR, AUDITOR, ENGINEER, User, allow
from flows.desk.library import library_of
from flows.desk.rendering import page
from flows.desk.server import Answer
from flows.desk.snapshot import Snapshot
from flows.desk.state import desk_of
from tasks.store.history import RUNNING

LITTLE = 0.1
"""Share of free space below which a disk is nearly full."""

router = APIRouter()
Keeper = Annotated[User, Depends(allow(ENGINEER, AUDITOR, ADMINISTRATOR))]


@dataclass(frozen=True)
class Disk:
    """The space of a folder's file system, in bytes; None if it cannot be read."""

    what: str
    folder: Path
    free: int | None = None
    total: int | None = None

    @property
    def shown(self) -> str:
        """The free space, for readers."""
        if self.free is None or self.total is None:
            return "cannot be read"
        return f"{_gigabytes(self.free)} of {_gigabytes(self.total)} free"

    @property
    def is_nearly_full(self) -> bool:
        """Whether little space is left."""
        if self.free is None or self.total is None:
            return False
        return self.free < LITTLE * self.total


@router.get("/health")
def health(request: Request, _user: Keeper) -> Response:
    """Show whether scheduled releases run, and what keeps them from it."""
    library = library_of(request)
    snapshot, answer = library.archive.snapshot(), library.server.answer()
    disks = list(_disks(desk_of(request).settings.home, snapshot))
    return page(
        request,
        "health.html",
        known=answer.status,
        server_fault=answer.fault,
        running=[each for each in snapshot.newest_first if each.state == RUNNING],
        waiting=snapshot.waiting,
        disks=disks,
        versions=versions(),
        worries=[*_worries(answer), *_full(disks), *map(str, snapshot.faults)],
    )


def _worries(answer: Answer) -> Iterator[str]:
    """Say what keeps scheduled runs from starting."""
    status = answer.status
    if status is None:
        yield answer.fault
        return
    if not status.workers:
        yield "No worker is online, so that nothing will run."
    for due in status.late:
        yield f"{due.name} is late."


def _full(disks: Iterable[Disk]) -> Iterator[str]:
    for disk in disks:
        if disk.is_nearly_full:
            yield f"The disk of {disk.folder} is nearly full."


@cache
def versions() -> dict[str, str]:
    """Give the versions of the code and of the packages that matter."""
    from importlib.metadata import version

    from tasks.store import provenance

    code = {name: text for name, text in provenance.code().items() if text}
    web = {name: version(name) for name in ("fastapi", "uvicorn")}
    return {f"microrelease {name}": text for name, text in code.items()} | {
        **provenance.environment(),
        **web,
    }


def _disks(home: Path, snapshot: Snapshot) -> Iterator[Disk]:
    places = {home: "home"}
    for file in snapshot.specs:
        places.setdefault(file.spec.publication.public_folder, "public folder")
        places.setdefault(file.spec.publication.register_folder, "register")
    for folder, what in places.items():
        try:
            usage = shutil.disk_usage(_existing(folder))
        except OSError:
            yield Disk(what, folder)
        else:
            yield Disk(what, folder, usage.free, usage.total)


def _existing(folder: Path) -> Path:
    """Find the part of a path that exists; nothing may have been published yet."""
    return next((part for part in (folder, *folder.parents) if part.exists()), folder)


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"
