"""What attacks on the reading pages share."""

import asyncio
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.testclient import TestClient

from tests.desk.quarters import Quarters
from tests.desk.reading import address

LAST, CANDIDATE = "000007-small-2026-Q1", "000008-small-2026-Q2"
SECRET = "a cell that nobody may see"
IMAGE = "<img src=x onerror=alert(1)>"
PAGES = ("/datasets", "/datasets/small", "/register", "/register.csv", "/register.json", "/metrics")
PAGES_OF_STAFF = (*PAGES, "/health", "/audit", "/review")


def ask(client: TestClient, raw: str) -> tuple[int, bytes]:
    """Send a path as it is written; browsers and clients would tidy it up."""
    path, _, query = raw.partition("?")
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "https",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"testserver"), (b"cookie", cookies.encode())],
        "client": ("10.0.0.9", 50000),
        "server": ("testserver", 443),
    }
    sent: list[dict[str, Any]] = []
    requests = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not requests:
            # the visitor stays until the answer is complete
            await asyncio.Event().wait()
        return requests.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def refuses_everything(client: TestClient, quarters: Quarters, attempt: str = LAST) -> None:
    """Check that no part of an attempt shows what a link leads to, and that pages still answer."""
    for part in ("", "/report", "/methodology", "/files/data.csv", "/files/methodology.html"):
        answer = client.get(f"{address(quarters, attempt)}{part}")
        assert answer.status_code in (200, 404, 409), part
        assert SECRET not in answer.text
    for page in PAGES:
        answer = client.get(page)
        assert answer.status_code == 200, page
        assert SECRET not in answer.text
