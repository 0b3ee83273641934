"""Roles, forms that others forge, and headers that others invent."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from httpx import Response
from starlette.testclient import TestClient

from algorithms.errors import ContractError
from flows.desk.access import ROLES, User, allow, visitor_of
from flows.desk.app import ROUTERS, create_app
from flows.desk.forms import form
from flows.desk.navigation import NAVIGATION
from flows.desk.rendering import csrf_field, page
from flows.desk.settings import DeskSettings
from flows.desk.visitors import SECRET_HEADER, USER_HEADER
from tests.desk.desk import ORIGIN, add_user, desk_with_users, logged_in, token, visitor

OPEN = {"/", "/healthz", "/login", "/metrics", "/static/{name}"}
"""Paths that need no login."""
PROXY, SECRET = "10.0.0.1", "a secret of more than 32 characters"
COMBINATIONS = [
    combination
    for count in range(len(ROLES) + 1)
    for combination in itertools.combinations(ROLES, count)
]


def path_of(roles: tuple[str, ...]) -> str:
    return "/for/" + ("-".join(roles) or "everyone")


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return with_pages(desk_with_users(tmp_path))


def with_pages(app: FastAPI) -> FastAPI:
    """Add a page for each combination of roles, and one that changes something."""
    router = APIRouter()
    app.state.changes = []
    for roles in COMBINATIONS:

        def show(user: Annotated[User, Depends(allow(*roles))]) -> str:
            return user.login

        router.add_api_route(path_of(roles), show)

    @router.api_route("/change", methods=["POST", "PUT", "DELETE", "PATCH"])
    async def change(request: Request, user: Annotated[User, Depends(allow("reviewer"))]) -> str:
        app.state.changes.append((user.login, (await form(request)).get("what")))
        return "changed"

    @router.get("/form")
    def show_form(request: Request, _user: Annotated[User, Depends(allow())]) -> Any:
        answer = page(request, "fault.html", heading="A form", advice="")
        return HTMLResponse(answer.body + csrf_field(visitor_of(request).csrf).encode())

    app.include_router(router)
    return app


@pytest.mark.parametrize("role", ROLES)
def test_a_role_sees_its_pages_and_no_other(app: FastAPI, role: str) -> None:
    client = logged_in(app, role)
    for roles in COMBINATIONS:
        answer = client.get(path_of(roles))
        if not roles or role in roles:
            assert (answer.status_code, answer.json()) == (200, role)
        else:
            assert answer.status_code == 403
            assert "You may not see this page" in answer.text


def test_a_visitor_sees_no_page_at_all(app: FastAPI) -> None:
    client = visitor(app)
    for roles in COMBINATIONS:
        answer = client.get(path_of(roles))
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=%2Ffor%2F")


def test_roles_of_one_person_add_up(app: FastAPI, tmp_path: Path) -> None:
    add_user(tmp_path, "anna", "engineer", "auditor")
    client = logged_in(app, "anna")
    seen = {roles for roles in COMBINATIONS if client.get(path_of(roles)).status_code == 200}
    assert seen == {
        roles for roles in COMBINATIONS if not roles or {"engineer", "auditor"} & set(roles)
    }


def test_a_role_that_does_not_exist_is_a_bug() -> None:
    with pytest.raises(ContractError, match="'boss'"):
        allow("boss")


def all_routes() -> list[APIRoute]:
    routes = [route for router in ROUTERS for route in router.routes]
    assert all(isinstance(route, APIRoute) for route in routes)
    return [route for route in routes if isinstance(route, APIRoute)]


def roles_of(route: APIRoute) -> list[frozenset[str]]:
    calls = [dependency.call for dependency in route.dependant.dependencies]
    return [call.roles for call in calls if hasattr(call, "roles")]


def test_no_page_forgets_its_roles() -> None:
    routes = all_routes()
    assert "/users" in {route.path for route in routes}
    assert [route.path for route in routes if route.path not in OPEN and not roles_of(route)] == []
    # what is open must be a page that only reads, or the login itself
    changing = {route.path for route in routes if not route.methods <= {"GET", "HEAD"}}
    assert changing & OPEN == {"/login"}


def test_the_navigation_shows_what_a_role_may_see() -> None:
    routes = all_routes()
    by_path = {route.path: roles_of(route) for route in routes if "GET" in route.methods}
    for entry in NAVIGATION:
        if entry.path in by_path:
            assert by_path[entry.path] == [frozenset(entry.roles)], entry.path


@pytest.mark.parametrize("role", ROLES)
def test_a_page_links_only_to_pages_of_the_role(app: FastAPI, role: str) -> None:
    text = logged_in(app, role).get("/form").text
    for entry in NAVIGATION:
        is_shown = f'href="{entry.path}"' in text
        assert is_shown == (not entry.roles or role in entry.roles)


def send(client: TestClient, csrf: str | None, method: str = "POST", **headers: str) -> Response:
    fields = {"what": "it"} | ({} if csrf is None else {"csrf": csrf})
    # None takes the default header of the client away
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.request(method, "/change", data=fields, headers=names)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_form_of_the_desk_is_accepted(app: FastAPI, method: str) -> None:
    client = logged_in(app, "reviewer")
    assert send(client, token(client, "/form"), method).json() == "changed"
    assert app.state.changes == [("reviewer", "it")]


def test_a_form_without_the_token_of_the_session_is_refused(app: FastAPI) -> None:
    client, other = logged_in(app, "reviewer"), logged_in(app, "reviewer")
    right = token(client, "/form")
    for csrf in (None, "", "x", right[:-1], right + "x", token(other, "/form"), "\0\N{SNOWMAN}"):
        answer = send(client, csrf)
        assert answer.status_code == 403
        assert "The form is out of date" in answer.text
    assert app.state.changes == []


def test_a_token_in_the_address_does_not_count(app: FastAPI) -> None:
    client = logged_in(app, "reviewer")
    answer = client.post(f"/change?csrf={token(client, '/form')}", data={"what": "it"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "https://testserver.evil.example"},
        {"Origin": "https://evil.example", "Sec_Fetch_Site": "same-origin"},
        {"Origin": "http://testserver"},
        {"Origin": "https://testserver:8443"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "https://["},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": ""},
        {"Origin": "null", "Sec_Fetch_Site": "cross-site"},
    ],
    ids=str,
)
def test_a_form_from_elsewhere_is_refused_even_with_the_token(
    app: FastAPI, headers: dict[str, str]
) -> None:
    client = logged_in(app, "reviewer")
    assert send(client, token(client, "/form"), **headers).status_code == 403
    assert app.state.changes == []


def test_a_browser_that_does_not_say_where_a_form_is_from_is_refused(app: FastAPI) -> None:
    client = logged_in(app, "reviewer")
    csrf = token(client, "/form")
    del client.headers["Origin"]
    assert send(client, csrf).status_code == 403
    # browsers do write this under our referrer policy
    assert send(client, csrf, Origin="null", Sec_Fetch_Site="same-origin").status_code == 200


def test_a_form_needs_the_role_too(app: FastAPI) -> None:
    client = logged_in(app, "engineer")
    assert send(client, token(client, "/form")).status_code == 403
    assert app.state.changes == []


def test_a_form_after_the_end_of_a_session_leads_to_the_login(app: FastAPI) -> None:
    answer = send(visitor(app), "x")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert app.state.changes == []


def test_a_link_from_elsewhere_asks_again_with_the_cookie(app: FastAPI) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    answer = visitor(app).get("/form?a=%22%3E<script>", headers=headers)
    assert answer.status_code == 200
    assert 'content="0; url=/form?a=%22%3E%3Cscript%3E"' in answer.text
    assert "<script>" not in answer.text


# a trusted proxy


@pytest.fixture
def behind_proxy(tmp_path: Path) -> FastAPI:
    for role in ROLES:
        add_user(tmp_path, role, role)
    settings = DeskSettings(tmp_path, proxies=frozenset({PROXY, "::1"}), proxy_secret=SECRET)
    return with_pages(create_app(settings))


def named(login: str, secret: str = SECRET) -> dict[str, str]:
    return {USER_HEADER: login, SECRET_HEADER: secret}


def test_a_trusted_proxy_names_the_user(behind_proxy: FastAPI) -> None:
    client = visitor(behind_proxy, PROXY)
    for login in ("engineer", "Engineer"):
        answer = client.get(path_of(("engineer",)), headers=named(login))
        assert (answer.status_code, answer.json()) == (200, "engineer")
    assert client.get(path_of(("auditor",)), headers=named("engineer")).status_code == 403
    assert client.get(path_of(()), headers={}).status_code == 303
    mapped = visitor(behind_proxy, f"::ffff:{PROXY}")
    assert mapped.get(path_of(()), headers=named("auditor")).json() == "auditor"


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("10.0.0.2", named("administrator")),
        ("testclient", named("administrator")),
        (PROXY, named("administrator", "")),
        (PROXY, named("administrator", "x")),
        (PROXY, named("administrator", SECRET[:-1])),
        (PROXY, named("administrator", SECRET + "x")),
        (PROXY, {USER_HEADER: "administrator"}),
        ("10.0.0.2", {**named("administrator"), "X-Forwarded-For": PROXY}),
        ("10.0.0.2", {**named("administrator"), "X-Real-IP": PROXY, "Forwarded": f"for={PROXY}"}),
    ],
)
def test_others_cannot_name_a_user(
    behind_proxy: FastAPI, tmp_path: Path, address: str, headers: dict[str, str]
) -> None:
    assert visitor(behind_proxy, address).get("/users", headers=headers).status_code == 303
    log = (tmp_path / "logs" / "desk.log").read_text(encoding="utf-8")
    assert f"{address} - headers of a proxy ignored" in log
    assert "administrator" not in log
    assert SECRET[:-1] not in log


def test_without_a_proxy_nobody_can_name_a_user(app: FastAPI) -> None:
    for address in ("", PROXY, "127.0.0.1"):
        for secret in ("", SECRET):
            answer = visitor(app, address).get("/users", headers=named("administrator", secret))
            assert answer.status_code == 303


def test_a_header_that_a_visitor_smuggles_past_the_proxy_is_refused(
    behind_proxy: FastAPI,
) -> None:
    client = visitor(behind_proxy, PROXY)
    for headers in (
        [(USER_HEADER, "administrator"), *named("engineer").items()],
        [*named("engineer").items(), (USER_HEADER, "administrator")],
        [*named("administrator, engineer").items()],
    ):
        answer = client.get("/users", headers=headers)
        assert answer.status_code == 403
    two_secrets = [*named("administrator").items(), (SECRET_HEADER, SECRET)]
    assert client.get("/users", headers=two_secrets).status_code == 303


def test_a_user_whom_only_the_proxy_knows_is_refused(behind_proxy: FastAPI, tmp_path: Path) -> None:
    headers = {SECRET_HEADER: SECRET.encode(), USER_HEADER: b"stranger\xe9"}
    answer = visitor(behind_proxy, PROXY).get(path_of(()), headers=headers)
    assert answer.status_code == 403
    log = (tmp_path / "logs" / "desk.log").read_text(encoding="utf-8")
    assert "refused: the proxy names a user who is not in users.json" in log
    assert "stranger" not in log


def test_forms_behind_a_proxy_need_a_token_of_the_user(behind_proxy: FastAPI) -> None:
    client = visitor(behind_proxy, PROXY)

    def token_of(login: str) -> str:
        client.headers.update(named(login))
        return token(client, "/form")

    tokens = {login: token_of(login) for login in ("engineer", "reviewer")}
    assert "Log out" not in client.get("/users").text
    assert send(client, tokens["engineer"]).status_code == 403
    assert send(client, None).status_code == 403
    assert send(client, tokens["reviewer"], Origin="https://evil.example").status_code == 403
    assert send(client, tokens["reviewer"]).status_code == 200
    # and the token is another one after a restart
    settings = behind_proxy.state.desk.settings
    restarted = visitor(with_pages(create_app(replace(settings))), PROXY)
    restarted.headers.update(named("reviewer"))
    assert send(restarted, tokens["reviewer"]).status_code == 403


def test_the_proxy_tells_the_address_of_a_visitor_and_others_cannot(
    behind_proxy: FastAPI, tmp_path: Path
) -> None:
    def logged(address: str, forwarded: str, secret: str = SECRET) -> str:
        headers = {SECRET_HEADER: secret, "X-Forwarded-For": forwarded}
        visitor(behind_proxy, address).get("/healthz", headers=headers)
        log = (tmp_path / "logs" / "desk.log").read_text(encoding="utf-8")
        return log.splitlines()[-1].split()[1]

    assert logged(PROXY, "192.0.2.7") == "192.0.2.7"
    # a visitor can write the first entries; the proxy appends the last
    assert logged(PROXY, "198.51.100.1, 192.0.2.7") == "192.0.2.7"
    assert logged(PROXY, f"192.0.2.7, {PROXY}") == "192.0.2.7"
    assert logged(PROXY, "192.0.2.7, not an address\n") == PROXY
    assert logged(PROXY, "") == PROXY
    assert logged(PROXY, PROXY) == PROXY
    assert logged(PROXY, "192.0.2.7", "wrong") == PROXY
    assert logged("192.0.2.66", "192.0.2.7") == "192.0.2.66"


def test_a_password_works_behind_a_proxy_that_names_nobody(behind_proxy: FastAPI) -> None:
    client = visitor(behind_proxy, PROXY)
    client.headers.update({SECRET_HEADER: SECRET, "X-Forwarded-For": "192.0.2.7"})
    fields = {"login": "engineer", "password": "wrong", "csrf": token(client, "/login")}
    for expected in (401, 401, 401, 401, 401, 429):
        assert client.post("/login", data=fields).status_code == expected
    client.headers["X-Forwarded-For"] = "192.0.2.8"
    assert client.post("/login", data=fields).status_code == 401
    assert client.headers["Origin"] == ORIGIN
