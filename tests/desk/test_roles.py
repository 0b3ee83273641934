"""Every address of the desk, asked for by everyone in every way."""

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from flows.desk.app import ROUTERS
from flows.desk.user import ROLES
from tasks.store.desk_pages import key_of
from tests.desk.desk import logged_in, token, visitor
from tests.desk.quarters import Quarters

E, R, A, D = ROLES
"""Engineer, reviewer, auditor, administrator."""
EVERYONE = {E, R, A, D}
STAFF, INSIDERS, KEEPERS = {E, R, A}, {R, A}, {E, A, D}
LAST, CANDIDATE = "000007-small-2026-Q1", "000008-small-2026-Q2"

GET = {
    "/datasets": EVERYONE,
    "/datasets/{name}": EVERYONE,
    "/releases/{key}/{name}": EVERYONE,
    "/releases/{key}/{name}/report": INSIDERS,
    "/releases/{key}/{name}/methodology": EVERYONE,
    "/releases/{key}/{name}/files/{file:path}": EVERYONE,
    "/review": INSIDERS,
    "/review/{key}/{name}": INSIDERS,
    "/register": STAFF,
    "/register.csv": STAFF,
    "/register.json": STAFF,
    "/audit": KEEPERS,
    "/health": KEEPERS,
    "/users": {D},
}
POST = {
    "/releases/{key}/{name}/verify": EVERYONE,
    "/review/{key}/{name}": {R},
    "/audit": {A, D},
    "/logout": EVERYONE,
}
OPEN = {"/login", "/metrics", "/static/{name}"}
METHODS = (
    "HEAD",
    "OPTIONS",
    "PUT",
    "DELETE",
    "PATCH",
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "BREW",
)


def filled(path: str, quarters: Quarters) -> str:
    """Put something that exists into a path."""
    if path.startswith("/datasets"):
        return path.replace("{name}", "small")
    attempt = CANDIDATE if path.startswith("/review") else LAST
    path = path.replace("{key}", key_of(quarters.register)).replace("{name}", attempt)
    return path.replace("{file:path}", "data.csv")


def test_the_table_of_roles_names_every_address() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    found = {
        (method, route.path)
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    known = {("GET", path) for path in GET} | {("POST", path) for path in POST}
    assert {each for each in found if each[1] not in OPEN} == known
    assert {each[1] for each in found} >= OPEN


@pytest.mark.parametrize("role", ROLES)
def test_a_role_sees_what_the_table_says(desk: FastAPI, quarters: Quarters, role: str) -> None:
    client = logged_in(desk, role)
    for path, roles in GET.items():
        answer = client.get(filled(path, quarters))
        assert answer.status_code == (200 if role in roles else 403), path
        if role not in roles:
            # nothing of the page is given away
            assert "small" not in answer.text.replace('class="small"', "")
            assert "You may not see this page" in answer.text


@pytest.mark.parametrize("role", ROLES)
def test_a_role_sends_what_the_table_says(desk: FastAPI, quarters: Quarters, role: str) -> None:
    client = logged_in(desk, role)
    fields = {"csrf": token(client, "/datasets"), "decision": "sideways"}
    for path, roles in POST.items():
        answer = client.post(filled(path, quarters), data=fields)
        assert (answer.status_code == 403) == (role not in roles), path
        assert answer.status_code < 500, path
    desk.state.auditor.wait(60)


def test_a_visitor_is_sent_to_the_login_by_every_address(desk: FastAPI, quarters: Quarters) -> None:
    client = visitor(desk)
    for path in GET:
        answer = client.get(filled(path, quarters))
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/login?next=")
        assert answer.text == ""
    for path in POST:
        answer = client.post(filled(path, quarters))
        assert (answer.status_code, answer.headers["location"]) == (303, "/login"), path


def test_a_visitor_learns_nothing_of_what_exists(desk: FastAPI, quarters: Quarters) -> None:
    client = visitor(desk)
    key = key_of(quarters.register)
    for known, unknown in (
        (f"/releases/{key}/{LAST}", f"/releases/{key}/000099-small-2026-Q1"),
        (f"/releases/{key}/{LAST}/report", f"/releases/{'0' * 12}/{LAST}/report"),
        (f"/review/{key}/{CANDIDATE}", f"/review/{key}/{LAST}"),
        ("/datasets/small", "/datasets/large"),
    ):
        assert client.get(known).status_code == client.get(unknown).status_code == 303


@pytest.mark.parametrize("who", [*ROLES, ""])
def test_other_ways_of_asking_open_nothing(desk: FastAPI, quarters: Quarters, who: str) -> None:
    client: TestClient = logged_in(desk, who) if who else visitor(desk)
    for path in (*GET, *POST, "/login", "/metrics", "/healthz", "/"):
        for method in METHODS:
            answer = client.request(method, filled(path, quarters))
            assert answer.status_code == 405, (method, path)
            assert LAST not in answer.text
            assert "microrelease_" not in answer.text
    for name in ("X-HTTP-Method-Override", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"):
        answer = client.get("/healthz", headers={name: "/users"})
        assert answer.text == "ok"


def test_roles_of_the_methodology_of_a_candidate_are_those_of_its_report(
    desk: FastAPI, quarters: Quarters
) -> None:
    for role in ROLES:
        client = logged_in(desk, role)
        for part in ("report", "methodology"):
            answer = client.get(f"/releases/{key_of(quarters.register)}/{CANDIDATE}/{part}")
            assert answer.status_code == (200 if role in INSIDERS else 403)
