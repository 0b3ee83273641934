"""Wraps every request: who sent it, headers for safety, a line in the log, no exception text."""

import secrets
import time
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flows.desk.faults import broken
from flows.desk.headers import HEADERS
from flows.desk.state import Desk
from flows.desk.visitors import Visitor, identify
from tasks.stage import reduced


class Frame:
    """The outermost layer of the desk."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app, self._desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            # the lifespan of the application; there are no web sockets
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started = time.monotonic()
        request = Request(scope, receive)
        visitor = request.state.visitor = identify(self._desk, request)
        status = 0

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_safely)
        except Exception as error:
            number = self._record(visitor, error)
            if status:
                # the answer has begun and cannot be replaced: break it off
                raise ConnectionError from None
            await broken(request, number)(scope, receive, send_safely)
        finally:
            milliseconds = 1000 * (time.monotonic() - started)
            self._desk.log.write(
                visitor.address,
                visitor.login,
                f"{scope['method']} {quote(scope['path'])} {status} {milliseconds:.0f} ms",
            )

    def _record(self, visitor: Visitor, error: Exception) -> str:
        """Log type and place of an exception; its text may quote a cell."""
        number = secrets.token_hex(4)
        words = f"fault {number}: {reduced('the desk', error)}"
        self._desk.log.write(visitor.address, visitor.login, words)
        return number
