"""Headers, errors, static files, forms and the log of the desk."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from algorithms.errors import StorageError
from flows.desk.access import User, allow
from flows.desk.forms import form
from flows.desk.headers import FRAMED_CSP
from flows.desk.rendering import page
from flows.desk.static import FILES, static
from tests.desk.desk import add_user, desk_with_users, logged_in, token, visitor

CELL = "a cell that nobody may see"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    app = desk_with_users(tmp_path)

    @app.get("/show")
    def show(request: Request, _user: Annotated[User, Depends(allow())]) -> Response:
        return page(request, "fault.html", heading="<b>bold</b>", advice="a 'quote' & \"more\"")

    @app.get("/framed")
    def framed(_user: Annotated[User, Depends(allow())]) -> Response:
        return HTMLResponse("", headers={"Content-Security-Policy": FRAMED_CSP})

    @app.get("/number/{number}")
    def number(number: int) -> int:
        return number

    @app.get("/broken")
    def broken() -> None:
        raise ValueError(CELL)

    @app.get("/inaccessible")
    def inaccessible() -> None:
        raise StorageError("a folder must be readable; this one is not: change it")

    @app.get("/broken-later")
    def broken_later() -> Response:
        def parts() -> Any:
            yield b"a part"
            raise ValueError(CELL)

        return StreamingResponse(parts())

    @app.post("/fields")
    async def fields(request: Request, again: Annotated[dict[str, str], Depends(form)]) -> Any:
        assert await form(request) is again
        return again

    return app


def log_of(folder: Path) -> list[str]:
    return (folder / "logs" / "desk.log").read_text(encoding="utf-8").splitlines()


def test_every_answer_tells_browsers_to_do_no_more_than_show_it(app: FastAPI) -> None:
    client = logged_in(app, "administrator")
    paths = ("/", "/users", "/login", "/nowhere", "/broken", "/healthz", static("desk.css"))
    for path in paths:
        headers = client.get(path).headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
            "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        kept = path.startswith("/static/")
        assert headers["cache-control"] == (
            "public, max-age=31536000, immutable" if kept else "no-store"
        )
        assert "server" not in headers


def test_a_page_may_allow_the_desk_to_frame_it(app: FastAPI) -> None:
    policies = logged_in(app, "reviewer").get("/framed").headers.get_list("content-security-policy")
    assert len(policies) == 1
    assert "frame-ancestors 'self'" in policies[0]


def test_the_desk_starts_with_the_datasets_and_says_that_it_is_alive(app: FastAPI) -> None:
    client = visitor(app)
    answer = client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/datasets")
    assert (client.get("/healthz").status_code, client.get("/healthz").text) == (200, "ok")


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"])
def test_there_is_no_documentation_of_an_interface(app: FastAPI, path: str) -> None:
    assert visitor(app).get(path).status_code == 404


def test_values_are_shown_as_text(app: FastAPI, tmp_path: Path) -> None:
    name = "<script>alert('1')</script>\" onload=\"x"
    add_user(tmp_path, "mallory", "administrator", name=name)
    client = logged_in(app, "mallory")
    for path in ("/users", "/show"):
        text = client.get(path).text
        assert "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&#34; onload=&#34;x" in text
        assert "<script" not in text
        assert 'onload="' not in text
    assert "<h1>&lt;b&gt;bold&lt;/b&gt;</h1>" in client.get("/show").text


def test_html_in_an_address_is_not_repeated(app: FastAPI) -> None:
    client = logged_in(app, "engineer")
    for path in ("/<script>alert(1)</script>", "/login?next=/<script>"):
        assert "<script" not in client.get(path).text


def test_a_page_can_be_used_without_sight_or_mouse(app: FastAPI) -> None:
    text = logged_in(app, "administrator").get("/users").text
    assert '<html lang="en-GB">' in text
    assert text.index('<a class="skip" href="#main">') < text.index('<nav aria-label="Main">')
    assert '<main id="main"' in text
    assert '<a href="/users" aria-current="page">Users</a>' in text
    assert text.count("<h1>") == 1
    form_text = visitor(app).get("/login").text
    for field in ("login", "password"):
        assert f'<label for="{field}">' in form_text
        assert f'<input id="{field}"' in form_text


def test_pages_hold_no_script_and_no_address_of_another_host(app: FastAPI) -> None:
    client = logged_in(app, "administrator")
    for text in (client.get("/users").text, visitor(app).get("/login").text, client.get("/x").text):
        assert "<script" not in text
        assert not re.search(r"(?:src|href|action)=[\"']?(?:[a-z]+:)?//", text)
    for file in FILES.values():
        assert b"url(" not in file.content
        assert b"@import" not in file.content


# errors


def test_an_error_page_says_what_to_do_and_nothing_about_the_exception(
    app: FastAPI, tmp_path: Path
) -> None:
    client = logged_in(app, "engineer")
    answer = client.get("/broken")
    assert answer.status_code == 500
    assert "The desk has a fault" in answer.text
    for word in (CELL, "ValueError", "Traceback", ".py"):
        assert word not in answer.text
    number = re.search(r"the number ([0-9a-f]{8})", answer.text)
    assert number is not None
    (line,) = [line for line in log_of(tmp_path) if number[1] in line]
    assert re.search(r"fault \w+: the desk failed: ValueError at test_frame\.py:\d+$", line)
    assert CELL not in "".join(log_of(tmp_path))


def test_our_own_errors_are_in_the_log_and_not_on_the_page(app: FastAPI, tmp_path: Path) -> None:
    answer = logged_in(app, "engineer").get("/inaccessible")
    assert answer.status_code == 500
    assert "folder" not in answer.text
    assert any("a folder must be readable; this one is not" in line for line in log_of(tmp_path))


def test_an_answer_that_breaks_off_reveals_nothing(app: FastAPI, tmp_path: Path) -> None:
    with pytest.raises(ConnectionError) as broken:
        visitor(app).get("/broken-later")
    assert CELL not in str(broken.value)
    assert broken.value.__suppress_context__
    log = "".join(log_of(tmp_path))
    assert "ValueError" in log
    assert CELL not in log


def test_other_faults_are_pages_too(app: FastAPI) -> None:
    client = visitor(app)
    for path, status, words in (
        ("/nowhere", 404, "There is no such page"),
        ("/users/", 404, "There is no such page"),
        ("/number/x", 400, "The request is not valid"),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (
            status,
            "text/html; charset=utf-8",
        )
        assert words in answer.text
        assert "integer" not in answer.text
    assert client.post("/healthz").status_code == 405
    assert client.request("TRACE", "/login").status_code == 405


# static files


def test_static_files_are_kept_by_browsers_until_they_change(app: FastAPI) -> None:
    client = visitor(app)
    for name in ("style.css", "desk.css"):
        answer = client.get(static(name))
        assert (answer.status_code, answer.headers["content-type"]) == (
            200,
            "text/css; charset=utf-8",
        )
        headers = {"If-None-Match": answer.headers["etag"]}
        assert client.get(static(name), headers=headers).status_code == 304
    text = client.get("/login").text
    assert static("style.css") in text
    assert static("desk.css") in text


def test_the_style_of_reports_is_used_and_not_copied() -> None:
    report = Path(__file__).parents[2] / "tasks" / "reporting" / "templates" / "style.css"
    assert FILES["style.css"].content == report.read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/%2e%2e%2f%2e%2e%2fusers.json",
        "/static/..\\app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/desk.css/../../app.py",
        "/static/desk.css%00",
        "/static/",
        "/static",
        "/static/.",
    ],
)
def test_no_other_file_is_served(app: FastAPI, path: str) -> None:
    # written as bytes: the client would tidy the path up
    client = visitor(app)
    request = client.build_request("GET", "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    assert client.send(request).status_code == 404


# forms


def test_the_fields_of_a_form_are_read(app: FastAPI) -> None:
    client = visitor(app)
    fields = {"a": "1 & 2", "b": "", "\N{SNOWMAN}": "caf\N{LATIN SMALL LETTER E WITH ACUTE}\n"}
    assert client.post("/fields", data=fields).json() == fields
    assert client.post("/fields").json() == {}


FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"a=" + b"x" * (64 * 1024 - 2), FORM, 200),
        (b"a=" + b"x" * (64 * 1024 - 1), FORM, 413),
        (b"a=1", {**FORM, "Content-Length": "99999999999"}, 413),
        (b"a=1", {**FORM, "Content-Length": "-1"}, 413),
        (b"a=1", {**FORM, "Content-Length": "x"}, 413),
        (b"a=1&a=2", FORM, 400),
        (b"a", FORM, 400),
        (b"a=%ff", FORM, 400),
        (b"a=\xff", FORM, 400),
        (b"&".join(b"a%d=1" % number for number in range(201)), FORM, 400),
        (b'{"a": 1}', {"Content-Type": "application/json"}, 415),
        (b"--x", {"Content-Type": "multipart/form-data; boundary=x"}, 415),
        (b"a=1", {"Content-Type": "text/plain"}, 415),
    ],
    ids=str,
)
def test_what_is_not_a_small_form_is_refused(
    app: FastAPI, content: bytes, headers: dict[str, str], status: int
) -> None:
    answer = visitor(app).post("/fields", content=content, headers=headers)
    assert answer.status_code == status


def test_a_body_that_does_not_tell_its_size_is_limited_too(app: FastAPI) -> None:
    client = logged_in(app, "administrator")
    parts = (b"x" * 1024 for _ in range(100))
    assert client.post("/logout", content=parts, headers=FORM).status_code == 413


# the log


def test_the_log_has_one_line_for_each_request(app: FastAPI, tmp_path: Path) -> None:
    client = logged_in(app, "administrator")
    client.get("/users?q=secret+words")
    visitor(app, "192.0.2.7").get("/users?q=secret+words")
    *_, mine, other = log_of(tmp_path)
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    assert re.fullmatch(rf"{time} 10\.0\.0\.9 administrator GET /users 200 \d+ ms", mine)
    assert re.fullmatch(rf"{time} 192\.0\.2\.7 - GET /users 303 \d+ ms", other)
    assert "secret" not in "".join(log_of(tmp_path))
    assert len(log_of(tmp_path)) == len(["GET /login", "login", "POST /login", "GET", "GET"])


def test_logins_are_logged_without_names_that_nobody_has(app: FastAPI, tmp_path: Path) -> None:
    client = visitor(app)
    csrf = token(client, "/login")
    # people type passwords into the field of the login
    for login in ("engineer", "my-secret-password", "engineer\n2026-01-01 forged"):
        client.post("/login", data={"login": login, "password": "hidden words", "csrf": csrf})
    events = [line.split(" ", 1)[1] for line in log_of(tmp_path) if "login failed" in line]
    assert events == [
        "10.0.0.9 engineer login failed",
        "10.0.0.9 unknown login failed",
        "10.0.0.9 unknown login failed",
    ]
    text = "".join(log_of(tmp_path))
    assert "secret" not in text
    assert "hidden" not in text
    assert "forged" not in text


def test_nobody_can_forge_a_line_of_the_log(app: FastAPI, tmp_path: Path) -> None:
    client = visitor(app, "evil\naddress")
    client.get("/a%0a2026-01-01T00:00:00Z 10.0.0.1 admin GET /b 200 1 ms%1b[31m%e2%80%ae%c2%85")
    (line,) = (tmp_path / "logs" / "desk.log").read_bytes().splitlines()
    assert all(32 <= sign < 127 for sign in line)
    assert b"evil\\naddress" in line
    assert b"/a%0A2026" in line


def test_the_log_is_limited_in_size_and_private(app: FastAPI, tmp_path: Path) -> None:
    handler = app.state.desk.log.handler
    assert (handler.maxBytes, handler.backupCount) == (10_000_000, 5)
    assert (tmp_path / "logs").stat().st_mode & 0o077 == 0


def test_the_frame_imports_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from flows.desk import access, forms, rendering, settings, state\n"
        "print('heavy:', *{'numba', 'pandas', 'prefect', 'matplotlib'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.stdout.splitlines()[-1] == "heavy:", shown.stderr
