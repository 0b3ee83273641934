"""Pages that say what went wrong, in words and without details."""

from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from flows.desk.access import SAFE_METHODS, ForgedError, LoginNeededError, UsersFaultyError
from flows.desk.addresses import address_of
from flows.desk.rendering import page

WORDS = {
    400: ("The request is not valid", "Go back, correct the input and try again."),
    403: (
        "You may not see this page",
        "Your roles do not include it. An administrator can change your roles.",
    ),
    404: ("There is no such page", "Check the address, or start from the navigation."),
    405: ("This page cannot be used in this way", "Start from the navigation."),
    408: ("The form arrived too slowly", "Go back and send it again."),
    413: ("The form is too large", "Go back, shorten the input and send it again."),
    415: ("The request is not a form", "Use the forms of the desk."),
}
OTHER = ("The request could not be answered", "Go back and try again.")


def add_handlers(app: FastAPI) -> None:
    """Answer each kind of fault with a page."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(LoginNeededError, _login)
    app.add_exception_handler(ForgedError, _forged)
    app.add_exception_handler(UsersFaultyError, _users)


def fault(request: Request, status: int, heading: str, advice: str) -> Response:
    """Answer with a page that says what went wrong and what to do."""
    return page(request, "fault.html", status=status, heading=heading, advice=advice)


def broken(request: Request, number: str) -> Response:
    """Answer after an exception that nobody expected; the number finds it in the log."""
    advice = (
        "Nothing is known to have changed; check before you try again. If it happens again, tell "
        f"an administrator that desk.log has a line with the number {number}."
    )
    return fault(request, 500, "The desk has a fault", advice)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = fault(request, error.status_code, *WORDS.get(error.status_code, OTHER))
    answer.headers.update(error.headers or {})
    return answer


def _invalid(request: Request, _error: Exception) -> Response:
    return fault(request, 400, *WORDS[400])


def _forged(request: Request, _error: Exception) -> Response:
    return fault(
        request,
        403,
        "The form is out of date",
        "Nothing was changed. The form did not come from a page that the desk gave you in this "
        "session: open the page again, and send the form from there.",
    )


def _users(request: Request, _error: Exception) -> Response:
    return fault(
        request,
        503,
        "Nobody can log in",
        "The file of users cannot be read. `microrelease users list` tells an administrator why.",
    )


def _login(request: Request, _error: Exception) -> Response:
    """Send a visitor to the login page, and from there back to this page."""
    if request.method not in SAFE_METHODS:
        return RedirectResponse("/login", status_code=303)
    target = address_of(request)
    if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        # after a link from elsewhere, such as a mail, browsers hold a strict cookie back; a page
        # of the desk that asks again receives it
        return page(request, "again.html", target=target)
    return RedirectResponse(f"/login?next={quote(target, safe='')}", status_code=303)
