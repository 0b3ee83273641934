"""The page of users, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from flows.desk.access import ADMINISTRATOR, User, allow
from flows.desk.keys import own_key
from flows.desk.rendering import page
from flows.desk.state import desk_of
from flows.desk.user import ROLES

router = APIRouter()


@router.get("/users")
def users(request: Request, _user: Annotated[User, Depends(allow(ADMINISTRATOR))]) -> Response:
    """List everyone who may log in; changes are made on the command line."""
    rows = [
        {
            "login": login,
            "name": account.user.name,
            "roles": [role for role in ROLES if role in account.user.roles],
            "has_password": bool(account.password),
            "fingerprint": "" if key is None else key.fingerprint,
        }
        for login, account in sorted(desk_of(request).users.accounts().items())
        for key in [own_key(account.user)]
    ]
    return page(request, "users.html", rows=rows)
