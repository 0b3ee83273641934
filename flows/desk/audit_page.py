"""The audit: its last results, and a button to run it now."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from flows.desk.access import ADMINISTRATOR, AUDITOR, ENGINEER, User, allow
from flows.desk.auditing import Auditor
from flows.desk.library import library_of
from flows.desk.rendering import page

QUICK = 2.0
"""Seconds for which a visitor waits for a short audit."""
REFRESH = 5
"""Seconds after which the page asks again how far an audit is."""

router = APIRouter()
Reader = Annotated[User, Depends(allow(ENGINEER, AUDITOR, ADMINISTRATOR))]
Starter = Annotated[User, Depends(allow(AUDITOR, ADMINISTRATOR))]


@router.get("/audit")
def audits(request: Request, user: Reader) -> Response:
    """Show the last audit of each register, and earlier ones."""
    from tasks.store.audit_log import last_audits

    auditor: Auditor = request.app.state.auditor
    found = last_audits()
    registers = [
        str(shelf.register.folder) for shelf in library_of(request).archive.snapshot().shelves
    ]
    latest = {
        register: next((each for each in found if each.register == register), None)
        for register in registers
    }
    answer = page(
        request,
        "audit.html",
        latest=latest,
        earlier=found[:50],
        running=auditor.is_running,
        percent=round(100 * auditor.share),
        may_start=user.may(AUDITOR, ADMINISTRATOR),
    )
    if auditor.is_running:
        answer.headers["Refresh"] = str(REFRESH)
    return answer


@router.post("/audit")
def start(request: Request, user: Starter) -> Response:
    """Audit every register now."""
    auditor: Auditor = request.app.state.auditor
    shelves = library_of(request).archive.snapshot().shelves
    auditor.start([shelf.register.folder for shelf in shelves], user.name)
    auditor.wait(QUICK)
    return RedirectResponse("/audit", status_code=303)
