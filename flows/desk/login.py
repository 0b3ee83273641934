"""Logging in and out."""

import math
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from flows.desk.access import User, UsersFaultyError, allow, is_same, is_same_origin, visitor_of
from flows.desk.addresses import local
from flows.desk.forms import form
from flows.desk.passwords import BusyError
from flows.desk.rendering import csrf_field, page
from flows.desk.sessions import COOKIE
from flows.desk.state import desk_of
from flows.desk.users import login_fault

LOGIN_COOKIE = "__Host-desk-login"
"""Holds the token of the login form, for a visitor who has no session yet."""
WRONG = "Login or password is wrong."
OUT_OF_DATE = "The form was out of date. Log in again."
BUSY = "Too many people are logging in. Try again in a few seconds."

router = APIRouter()


@router.get("/login")
def ask(request: Request, next: str = "") -> Response:  # noqa: A002 - a field of the address
    """Show the login form."""
    visitor = visitor_of(request)
    if visitor.users_are_faulty:
        raise UsersFaultyError
    if visitor.user is not None:
        return RedirectResponse(local(next), status_code=303)
    return _ask(request, next)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Start a session if login and password are right."""
    desk, visitor = desk_of(request), visitor_of(request)
    if visitor.users_are_faulty:
        raise UsersFaultyError
    fields = await form(request)
    login, target = fields.get("login", "").strip().lower(), fields.get("next", "")
    token = request.cookies.get(LOGIN_COOKIE, "")
    if not (is_same_origin(request) and token and is_same(token, fields.get("csrf", ""))):
        return _ask(request, target, status=403, message=OUT_OF_DATE)
    account = desk.users.find(login)
    known = account.user.login if account else "unknown"
    # whatever cannot be a login is counted as one and the same
    counted = "" if login_fault(login) else login
    wait = desk.throttle.attempt(counted, visitor.address)
    if wait:
        desk.log.write(visitor.address, known, "login refused: too many failures")
        return _throttled(request, target, wait)
    password_hash = account.password if account else ""
    try:
        is_right = await desk.verifier.verify(fields.get("password", ""), password_hash or None)
    except BusyError:
        desk.throttle.withdraw(counted, visitor.address)
        desk.log.write(visitor.address, known, "login refused: too many at once")
        return _ask(request, target, status=503, message=BUSY)
    if account is None or not is_right:
        desk.log.write(visitor.address, known, "login failed")
        return _ask(request, target, status=401, message=WRONG)
    desk.throttle.forgive(counted, visitor.address)
    desk.log.write(visitor.address, known, "login succeeded")
    # a token that someone planted in this browser must not become a session
    desk.sessions.end(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse(local(target), status_code=303)
    _set_cookie(answer, COOKIE, desk.sessions.start(known, account.stamp))
    _delete_cookie(answer, LOGIN_COOKIE)
    return answer


@router.post("/logout")
def log_out(request: Request, user: Annotated[User, Depends(allow())]) -> Response:
    """End the session."""
    desk = desk_of(request)
    desk.sessions.end(request.cookies.get(COOKIE, ""))
    desk.log.write(visitor_of(request).address, user.login, "logged out")
    answer = RedirectResponse("/login", status_code=303)
    _delete_cookie(answer, COOKIE)
    return answer


def _ask(request: Request, target: str, *, status: int = 200, message: str = "") -> Response:
    """Show the login form, and why it is shown again."""
    token = request.cookies.get(LOGIN_COOKIE) or secrets.token_urlsafe(32)
    answer = page(
        request,
        "login.html",
        status=status,
        message=message,
        target=local(target),
        csrf_field=csrf_field(token),
        has_users=bool(desk_of(request).users.accounts()),
    )
    _set_cookie(answer, LOGIN_COOKIE, token)
    return answer


def _throttled(request: Request, target: str, wait: float) -> Response:
    minutes = math.ceil(wait / 60)
    message = (
        f"Too many failed logins. Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}."
    )
    answer = _ask(request, target, status=429, message=message)
    answer.headers["Retry-After"] = str(math.ceil(wait))
    return answer


def _set_cookie(answer: Response, name: str, value: str) -> None:
    """Set a cookie that only this host receives, over TLS, and from its own pages."""
    answer.set_cookie(name, value, path="/", secure=True, httponly=True, samesite="strict")


def _delete_cookie(answer: Response, name: str) -> None:
    answer.delete_cookie(name, path="/", secure=True, httponly=True, samesite="strict")
