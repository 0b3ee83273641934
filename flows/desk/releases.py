"""The pages of a release: its gate, its figures, its files, and a button to verify them again."""

import re
import threading
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response, StreamingResponse

from algorithms.errors import IntegrityError, ReleaseError
from expectations.manifest import Manifest
from expectations.published.files import METHODOLOGY
from flows.desk.access import AUDITOR, REVIEWER, User, allow
from flows.desk.faults import fault
from flows.desk.library import Library, library_of
from flows.desk.measures import Difference, differences, judgements
from flows.desk.public_files import Copy, copies, open_copy
from flows.desk.rendering import page
from flows.desk.snapshot import Attempt, Snapshot
from flows.desk.verifying import Verified, verify_again
from tasks.store.history import Past

KEY = re.compile(r"[0-9a-f]{12}")
ATTEMPT_NAME = re.compile(r"[0-9]{6,}-[A-Za-z0-9][A-Za-z0-9._-]{0,250}")
PAGE_CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox"
)
"""Of a page of a register or a public folder: it shows itself, fetches nothing and runs nothing."""

router = APIRouter()
Anyone = Annotated[User, Depends(allow())]
Insider = Annotated[User, Depends(allow(REVIEWER, AUDITOR))]

_verifying = threading.Lock()


class Found(NamedTuple):
    """A release that a visitor asked for."""

    library: Library
    snapshot: Snapshot
    attempt: Attempt


def found(request: Request, key: str, name: str) -> Found:
    """Find the attempt of an address; anything else is not found."""
    library = library_of(request)
    snapshot = library.archive.snapshot()
    if not (KEY.fullmatch(key) and ATTEMPT_NAME.fullmatch(name)):
        raise HTTPException(404)
    attempt = snapshot.find(key, name)
    if attempt is None:
        raise HTTPException(404)
    return Found(library, snapshot, attempt)


Asked = Annotated[Found, Depends(found)]


@router.get("/releases/{key}/{name}")
def release(request: Request, user: Anyone, asked: Asked) -> Response:
    """Show a release."""
    return _shown(request, user, asked)


@router.post("/releases/{key}/{name}/verify")
def verify(request: Request, user: Anyone, asked: Asked) -> Response:
    """Verify the public files again, and show the release with the result."""
    manifest = _manifest(asked)
    if manifest is None or not asked.attempt.is_public:
        raise HTTPException(404)
    if not _verifying.acquire(blocking=False):
        return fault(
            request,
            503,
            "Another release is being verified",
            "One release is verified at a time: go back, and try again in a while.",
        )
    try:
        verified = verify_again(manifest)
    finally:
        _verifying.release()
    return _shown(request, user, asked, verified)


@router.get("/releases/{key}/{name}/report")
def report(request: Request, _user: Insider, asked: Asked) -> Response:
    """Send the report of an attempt, if it is the one that was written."""
    try:
        content = asked.library.archive.report(asked.attempt)
    except ReleaseError as error:
        return _refused(request, "The report is not shown", error)
    return _framed(content)


@router.get("/releases/{key}/{name}/methodology")
def methodology(request: Request, user: Anyone, asked: Asked) -> Response:
    """Send the methodology of a release, if it is the one that was written."""
    if not _may_see_methodology(user, asked.attempt):
        raise HTTPException(403)
    try:
        content = _opened(asked, METHODOLOGY).file.read()
    except ReleaseError as error:
        return _refused(request, "The methodology is not shown", error)
    return _framed(content)


@router.get("/releases/{key}/{name}/files/{file:path}")
def download(request: Request, _user: Anyone, asked: Asked, file: str) -> Response:
    """Send a public file, if it is the one that was published."""
    if not asked.attempt.is_public:
        raise HTTPException(404)
    try:
        copy = _opened(asked, file)
    except ReleaseError as error:
        return _refused(request, "The file is not sent", error)
    headers = {
        "Content-Disposition": f'attachment; filename="{copy.download_name}"',
        "Content-Length": str(copy.file.size),
        "Content-Security-Policy": PAGE_CSP,
    }
    return StreamingResponse(
        copy.file.blocks(), media_type="application/octet-stream", headers=headers
    )


def _shown(
    request: Request, user: User, asked: Found, verified: Verified | None = None
) -> Response:
    library, snapshot, attempt = asked
    problems: list[str] = []
    past, manifest = None, None
    try:
        past, manifest = library.archive.past(attempt), library.archive.manifest(attempt)
    except ReleaseError as error:
        problems.append(str(error))
    before, earlier = snapshot.published_before(attempt), None
    if before is not None:
        try:
            earlier = library.archive.past(before)
        except ReleaseError as error:
            problems.append(str(error))
    return page(
        request,
        "release.html",
        attempt=attempt,
        past=past,
        manifest=manifest,
        problems=problems,
        judged=judgements(past.verdicts) if past is not None else [],
        before=before,
        differences=_differences(earlier, past),
        history=_related(snapshot, attempt),
        files=copies(attempt, manifest) if manifest is not None else [],
        is_public=attempt.is_public,
        may_see_report=user.may(REVIEWER, AUDITOR),
        may_see_methodology=_may_see_methodology(user, attempt),
        has_methodology=_has_methodology(attempt, manifest),
        verified=verified,
    )


def _differences(earlier: Past | None, past: Past | None) -> list[Difference]:
    if earlier is None or past is None or past.il is None:
        return []
    return differences(earlier, past)


def _related(snapshot: Snapshot, attempt: Attempt) -> list[Attempt]:
    """List the candidate of a decision, the decisions on a candidate, and attempts beside it."""
    others = snapshot.by_dataset[attempt.dataset][attempt.period]
    return [other for other in reversed(others) if other is not attempt][:20]


def _manifest(asked: Found) -> Manifest | None:
    try:
        return asked.library.archive.manifest(asked.attempt)
    except ReleaseError:
        return None


def _may_see_methodology(user: User, attempt: Attempt) -> bool:
    return attempt.is_public or user.may(REVIEWER, AUDITOR)


def _has_methodology(attempt: Attempt, manifest: Manifest | None) -> bool:
    """Return whether there are files: those of a public folder, or of a waiting candidate."""
    if manifest is None or manifest.public is None:
        return False
    there = attempt.is_public or attempt.waits
    return there and METHODOLOGY in manifest.public.checksums


def _opened(asked: Found, name: str) -> Copy:
    """Open a file of a release that is public, or waits for a reviewer."""
    manifest = asked.library.archive.manifest(asked.attempt)
    if manifest is None or manifest.public is None or name not in manifest.public.checksums:
        raise HTTPException(404)
    if not (asked.attempt.is_public or asked.attempt.waits):
        raise IntegrityError("this attempt published nothing, and its files are not kept")
    return open_copy(asked.attempt, manifest, name)


def _framed(content: bytes) -> Response:
    # browsers show no page of its own that is both sandboxed and isolated from its opener
    headers = {"Content-Security-Policy": PAGE_CSP, "Cross-Origin-Opener-Policy": "unsafe-none"}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


def _refused(request: Request, heading: str, error: ReleaseError) -> Response:
    advice = f"It must be exactly what was written, and is not: {error}. Run `microrelease audit`."
    answer = fault(request, 409, heading, advice)
    answer.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'self'"
    )
    return answer
