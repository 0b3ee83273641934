"""Decides who may see a page, and whether a form comes from the desk itself."""

import hmac
from collections.abc import Awaitable, Callable

from fastapi import HTTPException, Request

from algorithms.errors import ContractError
from flows.desk.addresses import is_loopback
from flows.desk.forms import form
from flows.desk.user import ADMINISTRATOR, AUDITOR, ENGINEER, REVIEWER, ROLES, User
from flows.desk.visitors import Visitor

__all__ = [
    "ADMINISTRATOR",
    "AUDITOR",
    "ENGINEER",
    "REVIEWER",
    "ROLES",
    "ForgedError",
    "LoginNeededError",
    "User",
    "UsersFaultyError",
    "allow",
    "is_same_origin",
    "visitor_of",
]

SAFE_METHODS = frozenset({"GET", "HEAD"})


class LoginNeededError(Exception):
    """The visitor must log in first."""


class UsersFaultyError(Exception):
    """The file of users is faulty, so nobody can be identified."""


class ForgedError(Exception):
    """A form did not come from a page of the desk, or that page is out of date."""


def allow(*roles: str) -> Callable[[Request], Awaitable[User]]:
    """Make a FastAPI dependency that gives the user, if that user has any of these roles.

    A visitor who is not logged in is sent to the login page, and a user without any of the roles
    gets an error page. Any method but GET and HEAD needs a form from a page of the desk, with the
    token that `csrf_field` puts into it.

    Parameters
    ----------
    *roles : str
        Some of `ROLES`; without any, every user may.

    Raises
    ------
    ContractError
        If there is no such role.
    """
    unknown = set(roles) - set(ROLES)
    if unknown:
        raise ContractError(f"roles must be some of {ROLES}; got {sorted(unknown)}")

    async def allowed(request: Request) -> User:
        visitor = visitor_of(request)
        if visitor.users_are_faulty:
            raise UsersFaultyError
        if visitor.user is None:
            if visitor.by_proxy:
                raise HTTPException(403)
            raise LoginNeededError
        if not visitor.user.may(*roles):
            raise HTTPException(403)
        if request.method not in SAFE_METHODS:
            await _check_form(request, visitor)
        return visitor.user

    # for the test that no page forgets its roles
    allowed.roles = frozenset(roles)  # type: ignore[attr-defined]
    return allowed


def visitor_of(request: Request) -> Visitor:
    """Return whoever sent a request."""
    visitor: Visitor = request.state.visitor
    return visitor


async def _check_form(request: Request, visitor: Visitor) -> None:
    """Check that a form comes from a page that the desk gave to this user."""
    if not is_same_origin(request):
        raise ForgedError
    token = (await form(request)).get("csrf", "")
    if not visitor.csrf or not is_same(token, visitor.csrf):
        raise ForgedError


def is_same(text: str, other: str) -> bool:
    """Compare two secrets in a time that does not depend on them."""
    return hmac.compare_digest(text.encode(errors="replace"), other.encode(errors="replace"))


def is_same_origin(request: Request) -> bool:
    """Return whether the browser says that a page of the desk sent the request.

    Under the referrer policy of the desk, browsers write ``Origin: null`` even for its own forms,
    so that Sec-Fetch-Site must decide; without that header, Origin must name this host. A request
    with neither does not come from a browser that can be trusted to tell.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin", "null")
    host = request.headers.get("host", "")
    # cookies of the desk travel over TLS, or stay on this machine
    own = {f"https://{host}"} | ({f"http://{host}"} if is_loopback(host) else set())
    if site is None:
        return origin in own
    return site == "same-origin" and origin in {*own, "null"}
