"""Style sheets and pictures, served from memory."""

import hashlib
import mimetypes
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request, Response

YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class StaticFile:
    """A file that every visitor may fetch."""

    content: bytes
    kind: str

    @property
    def version(self) -> str:
        """A text that changes with the content."""
        return hashlib.sha256(self.content).hexdigest()[:16]


def _read() -> dict[str, StaticFile]:
    """Read the files of the desk, and the style sheet that it shares with reports."""
    places = [
        files("tasks.reporting") / "templates" / "style.css",
        *(files("flows.desk") / "static").iterdir(),
    ]
    return {
        place.name: StaticFile(
            place.read_bytes(), mimetypes.guess_type(place.name)[0] or "application/octet-stream"
        )
        for place in places
        if place.is_file()
    }


FILES = _read()
router = APIRouter()


def static(name: str) -> str:
    """Return the address of a file, which changes with its content."""
    return f"/static/{name}?v={FILES[name].version}"


@router.get("/static/{name}")
def send(request: Request, name: str) -> Response:
    """Send a file; browsers may keep it."""
    file = FILES.get(name)
    if file is None:
        raise HTTPException(404)
    tag = f'"{file.version}"'
    headers = {"Cache-Control": YEAR, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
