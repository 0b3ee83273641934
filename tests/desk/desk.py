"""A desk with a user of each role, and visitors of it."""

import re
from functools import cache
from pathlib import Path

import httpx
from fastapi import FastAPI
from starlette.testclient import TestClient

from flows.desk.app import create_app
from flows.desk.passwords import hashed
from flows.desk.settings import DeskSettings
from flows.desk.user import ROLES, User
from flows.desk.users import Account, Users

ORIGIN = "https://testserver"
PASSWORD = "correct horse battery staple"


def add_user(home: Path, login: str, *roles: str, name: str = "", key: str = "") -> None:
    """Add a user, or replace one, with `PASSWORD`."""
    user = User(login, name or login.capitalize(), frozenset(roles), key)
    with Users(home / "users.json").changing() as accounts:
        accounts[login] = Account(user, password_hash())


@cache
def password_hash() -> str:
    return hashed(PASSWORD)


def desk_with_users(home: Path) -> FastAPI:
    """Build a desk with one user per role, whose login is the role."""
    for role in ROLES:
        add_user(home, role, role)
    return create_app(DeskSettings(home))


def visitor(app: FastAPI, address: str = "10.0.0.9") -> TestClient:
    """Open a browser, as it were, at an address; nobody is logged in."""
    return TestClient(
        app,
        base_url=ORIGIN,
        headers={"Origin": ORIGIN},
        follow_redirects=False,
        client=(address, 50000),
    )


def logged_in(app: FastAPI, login: str, password: str = PASSWORD) -> TestClient:
    """Open a browser in which a user is logged in; roles are logins of `desk_with_users`."""
    client = visitor(app)
    fields = {"login": login, "password": password, "csrf": token(client, "/login")}
    answer = client.post("/login", data=fields)
    assert answer.status_code == 303, answer.text
    return client


def token(client: httpx.Client, path: str) -> str:
    """Read the token that the forms of a page send."""
    found = re.search(r'name="csrf" value="([^"]*)"', client.get(path).text)
    assert found is not None
    return found[1]
