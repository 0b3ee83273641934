"""Logging in and out, and attacks on both."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi import FastAPI
from httpx import Response
from starlette.testclient import TestClient

from flows.desk import passwords
from flows.desk.app import create_app
from flows.desk.managing import remove, set_password
from flows.desk.sessions import COOKIE, IDLE_SECONDS, MOST_SECONDS
from flows.desk.settings import DeskSettings
from flows.desk.throttle import MOST_PER_ADDRESS, MOST_PER_LOGIN, WINDOW_SECONDS
from flows.desk.user import REVIEWER, User
from flows.desk.users import Account, Users
from tests.desk.desk import (
    PASSWORD,
    add_user,
    desk_with_users,
    logged_in,
    password_hash,
    token,
    visitor,
)

WRONG = "this is not the password"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return desk_with_users(tmp_path)


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count how often a password is compared with a hash."""
    compared: list[str] = []
    matches = passwords.matches

    def counted(password: str, password_hash: str) -> bool:
        compared.append(password_hash)
        return matches(password, password_hash)

    monkeypatch.setattr(passwords, "matches", counted)
    return compared


def log_in(client: TestClient, login: str, password: str = PASSWORD, **others: str) -> Response:
    fields = {"login": login, "password": password, "csrf": token(client, "/login"), **others}
    return client.post("/login", data=fields)


def is_logged_in(client: TestClient) -> bool:
    return client.get("/login").status_code == 303


def test_a_visitor_comes_back_to_the_page_after_logging_in(app: FastAPI) -> None:
    client = visitor(app)
    sent = client.get("/users?page=2&name=%C3%A9")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/login?next=%2Fusers%3Fpage%3D2%26name%3D%25C3%25A9"
    form = client.get(sent.headers["location"])
    assert 'name="next" value="/users?page=2&amp;name=%C3%A9"' in form.text
    answer = log_in(client, "administrator", next="/users?page=2&name=%C3%A9")
    assert (answer.status_code, answer.headers["location"]) == (303, "/users?page=2&name=%C3%A9")
    assert client.get("/users").status_code == 200


def test_cookies_stay_with_this_host_and_away_from_scripts_and_other_sites(app: FastAPI) -> None:
    client = visitor(app)
    answers = [client.get("/login"), log_in(client, "engineer")]
    cookies = [cookie for each in answers for cookie in each.headers.get_list("set-cookie")]
    assert len(cookies) == 3
    for cookie in cookies:
        assert cookie.startswith("__Host-")
        for attribute in ("; HttpOnly", "; Secure", "; SameSite=strict", "; Path=/"):
            assert attribute in cookie
        assert "domain" not in cookie.lower()


def test_a_wrong_password_and_an_unknown_login_get_the_same_answer(app: FastAPI) -> None:
    answers = [log_in(visitor(app), login, WRONG) for login in ("engineer", "nobody", "../x\0")]
    assert {answer.status_code for answer in answers} == {401}
    assert all("Login or password is wrong." in answer.text for answer in answers)
    assert all(COOKIE + "=" not in answer.headers["set-cookie"] for answer in answers)


def test_an_unknown_login_is_hashed_as_often_as_a_known_one(
    app: FastAPI, tmp_path: Path, hashes: list[str]
) -> None:
    with Users(tmp_path / "users.json").changing() as accounts:
        accounts["named"] = Account(User("named", "Named", frozenset({REVIEWER})))
    for login in ("engineer", "nobody", "named", "", "no login at all!"):
        log_in(visitor(app), login, WRONG)
    costs = {password_hash.split("$")[3] for password_hash in hashes}
    assert len(hashes) == 5
    assert costs == {"m=65536,t=3,p=4"}


def test_no_password_has_the_hash_of_nobody() -> None:
    nobody, somebody = (
        [len(part) for part in each.split("$")] for each in (passwords.NOBODY, password_hash())
    )
    assert nobody == somebody
    assert not passwords.matches("", passwords.NOBODY)


def test_a_user_without_a_password_cannot_log_in_with_an_empty_one(
    app: FastAPI, tmp_path: Path
) -> None:
    with Users(tmp_path / "users.json").changing() as accounts:
        accounts["named"] = Account(User("named", "Named", frozenset({REVIEWER})))
    assert log_in(visitor(app), "named", "").status_code == 401


def test_a_login_may_be_typed_in_capitals_and_a_password_with_other_accents(
    app: FastAPI, tmp_path: Path
) -> None:
    set_password(
        Users(tmp_path / "users.json"), "engineer", "caf\N{LATIN SMALL LETTER E WITH ACUTE} au lait"
    )
    assert (
        log_in(visitor(app), " Engineer ", "cafe\N{COMBINING ACUTE ACCENT} au lait").status_code
        == 303
    )


def test_guessing_one_password_is_stopped_and_the_right_one_is_refused_too(
    app: FastAPI, hashes: list[str]
) -> None:
    client = visitor(app)
    for _ in range(MOST_PER_LOGIN):
        assert log_in(client, "engineer", WRONG).status_code == 401
    answer = log_in(client, "engineer")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= WINDOW_SECONDS
    assert "Too many failed logins. Try again in 15 minutes." in answer.text
    assert len(hashes) == MOST_PER_LOGIN
    assert not is_logged_in(client)
    # another person at the same address, and the same person elsewhere, are not locked out
    assert log_in(client, "auditor").status_code == 303
    assert log_in(visitor(app, "10.0.0.10"), "engineer").status_code == 303


def test_a_block_ends_although_someone_keeps_trying(app: FastAPI) -> None:
    now = 0.0
    app.state.desk.throttle.clock = lambda: now
    client = visitor(app)
    for _ in range(MOST_PER_LOGIN + 3):
        log_in(client, "engineer", WRONG)
    now = WINDOW_SECONDS - 30
    answer = log_in(client, "engineer")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "30")
    assert "in 1 minute." in answer.text
    now = WINDOW_SECONDS
    assert log_in(client, "engineer").status_code == 303


def test_guessing_many_logins_from_one_address_is_stopped(app: FastAPI, hashes: list[str]) -> None:
    client = visitor(app)
    for number in range(MOST_PER_ADDRESS):
        # one right password in between does not start the count again
        if number == 10:
            assert log_in(client, "auditor").status_code == 303
            client.cookies.clear()
        assert log_in(client, f"user{number}", WRONG).status_code == 401
    assert log_in(client, "engineer").status_code == 429
    assert len(hashes) == MOST_PER_ADDRESS + 1


def test_many_addresses_of_one_network_count_as_one(app: FastAPI) -> None:
    for number in range(MOST_PER_LOGIN):
        log_in(visitor(app, f"2001:db8::{number + 1:x}"), "engineer", WRONG)
    assert log_in(visitor(app, "2001:db8::ffff:1"), "engineer").status_code == 429
    assert log_in(visitor(app, "2001:db8:0:1::1"), "engineer").status_code == 303


def test_guesses_at_the_same_time_do_not_pass_the_limit(app: FastAPI, hashes: list[str]) -> None:
    client = visitor(app)
    fields = {"login": "engineer", "password": WRONG, "csrf": token(client, "/login")}
    with ThreadPoolExecutor(12) as threads:
        answers = threads.map(lambda _: client.post("/login", data=fields).status_code, range(12))
        assert sorted(answers) == [401] * MOST_PER_LOGIN + [429] * (12 - MOST_PER_LOGIN)
    assert len(hashes) == MOST_PER_LOGIN


def test_too_many_logins_at_once_are_asked_to_wait(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as busy:
        busy.setattr(passwords, "MOST_WAITING", 0)
        for _ in range(MOST_PER_LOGIN + 1):
            answer = log_in(visitor(app), "engineer")
            assert answer.status_code == 503
            assert "Too many people are logging in." in answer.text
    assert log_in(visitor(app), "engineer").status_code == 303


def test_a_planted_session_is_not_the_one_after_the_login(app: FastAPI) -> None:
    attacker, victim = logged_in(app, "engineer"), visitor(app)
    planted, csrf = attacker.cookies[COOKIE], token(victim, "/login")
    victim.cookies.set(COOKIE, planted)
    fields = {"login": "reviewer", "password": PASSWORD, "csrf": csrf}
    answer = victim.post("/login", data=fields)
    assert answer.status_code == 303
    assert answer.cookies[COOKIE] != planted
    assert not is_logged_in(attacker)


@pytest.mark.parametrize("planted", ["", "x", "a" * 43, "\xe9\xff"])
def test_an_invented_token_is_no_session(app: FastAPI, planted: str) -> None:
    cookie = f"{COOKIE}={planted}".encode("latin-1")
    assert visitor(app).get("/users", headers={b"Cookie": cookie}).status_code == 303


def test_each_login_has_a_token_of_its_own(app: FastAPI) -> None:
    tokens = {logged_in(app, "engineer").cookies[COOKIE] for _ in range(3)}
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 43


def test_logging_out_ends_the_session_on_the_server(app: FastAPI) -> None:
    client = logged_in(app, "administrator")
    stolen = {"Cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
    assert visitor(app).get("/users", headers=stolen).status_code == 200
    answer = client.post("/logout", data={"csrf": token(client, "/users")})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert COOKIE not in client.cookies
    assert visitor(app).get("/users", headers=stolen).status_code == 303


def test_nobody_can_log_someone_else_out_by_a_link(app: FastAPI) -> None:
    client = logged_in(app, "engineer")
    assert client.get("/logout").status_code == 405
    assert is_logged_in(client)


def test_a_session_ends_when_it_is_idle(app: FastAPI) -> None:
    now = 0.0
    app.state.desk.sessions.clock = lambda: now
    client = logged_in(app, "administrator")
    now = IDLE_SECONDS - 1
    assert client.get("/users").status_code == 200
    now += IDLE_SECONDS - 1
    assert client.get("/users").status_code == 200
    now += IDLE_SECONDS
    assert client.get("/users").status_code == 303
    assert len(app.state.desk.sessions) == 0


def test_a_session_ends_after_half_a_day_of_work(app: FastAPI) -> None:
    now = 0.0
    app.state.desk.sessions.clock = lambda: now
    client = logged_in(app, "administrator")
    while now < MOST_SECONDS:
        assert client.get("/users").status_code == 200
        now += IDLE_SECONDS / 2
    assert client.get("/users").status_code == 303


def test_sessions_that_are_over_take_no_memory(app: FastAPI) -> None:
    now = 0.0
    app.state.desk.sessions.clock = lambda: now
    for _ in range(3):
        logged_in(app, "engineer")
    now = IDLE_SECONDS
    logged_in(app, "engineer")
    assert len(app.state.desk.sessions) == 1


def test_removing_a_user_ends_the_session_at_once(app: FastAPI, tmp_path: Path) -> None:
    client = logged_in(app, "administrator")
    remove(Users(tmp_path / "users.json"), "administrator")
    assert client.get("/users").status_code == 303
    add_user(tmp_path, "administrator", "administrator")
    assert client.get("/users").status_code == 303


def test_another_password_ends_the_sessions_with_the_old_one(app: FastAPI, tmp_path: Path) -> None:
    client = logged_in(app, "administrator")
    set_password(Users(tmp_path / "users.json"), "administrator", "another long password")
    assert client.get("/users").status_code == 303
    assert log_in(client, "administrator").status_code == 401
    assert log_in(client, "administrator", "another long password").status_code == 303


def test_other_roles_take_effect_at_the_next_request(app: FastAPI, tmp_path: Path) -> None:
    client = logged_in(app, "administrator")
    add_user(tmp_path, "administrator", "engineer")
    assert client.get("/users").status_code == 403
    add_user(tmp_path, "administrator", "administrator")
    assert client.get("/users").status_code == 200


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "\t//evil.example",
        "/\n/evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/\N{FULLWIDTH SOLIDUS}evil.example",
        "/login?next=/login",
        "/logout",
        "",
    ],
)
def test_the_login_form_leads_to_no_other_site(app: FastAPI, target: str) -> None:
    form = visitor(app).get("/login", params={"next": target})
    assert 'name="next" value="/datasets"' in form.text


@pytest.mark.parametrize("target", ["//evil.example/", "/\\evil.example"])
def test_a_login_leads_to_no_other_site(app: FastAPI, target: str) -> None:
    client = visitor(app)
    answer = log_in(client, "engineer", next=target)
    assert (answer.status_code, answer.headers["location"]) == (303, "/datasets")
    again = client.get("/login", params={"next": target})
    assert (again.status_code, again.headers["location"]) == (303, "/datasets")


@pytest.mark.parametrize(
    "change",
    [
        {"csrf": ""},
        {"csrf": "x"},
        {"csrf": "\N{LATIN SMALL LETTER E WITH ACUTE}"},
    ],
)
def test_a_login_form_without_its_token_is_refused(app: FastAPI, change: dict[str, str]) -> None:
    answer = log_in(visitor(app), "engineer", **change)
    assert answer.status_code == 403
    assert "The form was out of date. Log in again." in answer.text


def test_a_login_form_without_its_cookie_is_refused(app: FastAPI) -> None:
    client = visitor(app)
    csrf = token(client, "/login")
    client.cookies.clear()
    fields = {"login": "engineer", "password": PASSWORD}
    assert client.post("/login", data={**fields, "csrf": csrf}).status_code == 403
    assert client.post("/login", data={**fields, "csrf": ""}).status_code == 403


def test_another_site_cannot_log_someone_in(app: FastAPI) -> None:
    client = visitor(app)
    fields = {"login": "engineer", "password": PASSWORD, "csrf": token(client, "/login")}
    answer = client.post("/login", data=fields, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert COOKIE not in client.cookies


def test_the_login_page_says_how_the_first_user_is_added(tmp_path: Path) -> None:
    app = create_app(DeskSettings(tmp_path))
    assert "microrelease users add LOGIN" in visitor(app).get("/login").text
    add_user(tmp_path, "anna", "engineer")
    assert "microrelease users add" not in visitor(app).get("/login").text


def test_a_faulty_file_of_users_keeps_everyone_out(app: FastAPI, tmp_path: Path) -> None:
    client = logged_in(app, "administrator")
    csrf = token(visitor(app), "/login")
    whole = (tmp_path / "users.json").read_bytes()
    (tmp_path / "users.json").write_bytes(whole[:-20])
    fields = {"login": "administrator", "password": PASSWORD, "csrf": csrf}
    for answer in (
        client.get("/users"),
        client.get("/login"),
        client.post("/login", data=fields),
        visitor(app).get("/users"),
    ):
        assert answer.status_code == 503
        assert "The file of users cannot be read." in answer.text
        assert str(tmp_path) not in answer.text
    log = (tmp_path / "logs" / "desk.log").read_text(encoding="utf-8")
    assert "the file of users must be readable and valid" in log
    (tmp_path / "users.json").write_bytes(whole)
    assert client.get("/users").status_code == 200
