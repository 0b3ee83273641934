"""What the reading pages share: the registers, the server's answers and pictures."""

from dataclasses import dataclass, field

from fastapi import Request

from flows.desk.archive import Archive
from flows.desk.pictures import Pictures
from flows.desk.server import Server
from flows.desk.snapshot import Snapshot


@dataclass(frozen=True)
class Library:
    """Everything that reading pages look things up in.

    Attributes
    ----------
    archive : Archive
        The registers of all specs.
    server : Server
        The Prefect server.
    pictures : Pictures
        Timelines that were drawn before.
    """

    archive: Archive = field(default_factory=Archive)
    server: Server = field(default_factory=Server)
    pictures: Pictures = field(default_factory=Pictures)

    def open(self) -> None:
        """Read everything in a thread, so that the first visitors do not wait."""
        self.archive.keep_warm(self._ask, self._draw)

    def close(self) -> None:
        """End the thread."""
        self.archive.close()

    def _ask(self, _snapshot: Snapshot) -> None:
        self.server.answer()

    def _draw(self, snapshot: Snapshot) -> None:
        for dataset in snapshot.by_dataset:
            measured = self.archive.timeline(snapshot, dataset)
            self.pictures.timeline(dataset, [each.past for each in measured])


def library_of(request: Request) -> Library:
    """Return the library of the desk that received a request."""
    library: Library = request.app.state.library
    return library
