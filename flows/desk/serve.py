"""Runs the desk."""

import logging
import os
import socket
from collections.abc import Callable

import uvicorn

from algorithms.errors import RefusedError, ReleaseError
from flows.desk.addresses import is_loopback
from flows.desk.app import create_app
from flows.desk.settings import PROXY, DeskSettings
from flows.desk.state import Desk
from flows.operation.installation import add_user_command
from tasks.store.disk import try_lock

MOST_REQUESTS = 200
"""Number of requests at a time; others are answered with 503."""
SECONDS_TO_STOP = 10


def serve(settings: DeskSettings, say: Callable[[str], None], *, behind_tls: bool = False) -> None:
    """Serve the desk until a signal arrives.

    Parameters
    ----------
    settings : DeskSettings
        Where to listen, and where the users and the log are.
    say : callable
        Receives the address of the desk once it listens.
    behind_tls : bool
        Whether a proxy in front encrypts what travels to other machines.

    Raises
    ------
    RefusedError
        If passwords could travel unencrypted, or a desk of this installation is already running.
    ReleaseError
        If the address cannot be listened on.
    StorageError
        If the home of the installation cannot be written to, or the file of users is faulty.
    """
    os.umask(0o077)
    _refuse_plain_text(settings, behind_tls)
    app = create_app(settings)
    desk: Desk = app.state.desk
    has_users = bool(desk.users.accounts())
    with (
        try_lock(settings.home / "desk-running", 0.0) as free,
        _listening(settings) as listener,
    ):
        if not free:
            raise RefusedError(
                "an installation can have one desk at a time; the one in "
                f"{str(settings.home)!r} is already running: stop it first"
            )
        config = uvicorn.Config(
            app,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            log_config=None,
            limit_concurrency=MOST_REQUESTS,
            timeout_graceful_shutdown=SECONDS_TO_STOP,
        )
        _log_without_details(desk)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        say(f"the desk listens: http://{host}:{listener.getsockname()[1]}")
        say(f"  users  {settings.users_file}")
        say(f"  log    {settings.log_file}")
        if not has_users:
            say(f"  nobody can log in yet: add a user with `{add_user_command(settings.home)}`")
        say("Ctrl-C stops it")
        uvicorn.Server(config).run(sockets=[listener])


def _refuse_plain_text(settings: DeskSettings, behind_tls: bool) -> None:
    """Refuse an address that other machines reach, unless TLS is in front of it."""
    if is_loopback(settings.host) or settings.proxies or behind_tls:
        return
    raise RefusedError(
        "passwords must not travel unencrypted, so the desk listens on this machine only; other "
        f"machines could reach {settings.host!r}: put a proxy with TLS in front of the desk, and "
        f"set {PROXY} or give --behind-tls"
    )


def _listening(settings: DeskSettings) -> socket.socket:
    """Listen on the address of the desk."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise ReleaseError(
            "the desk must be able to listen on its address; it cannot on "
            f"{settings.host!r}, port {settings.port} ({error.strerror or 'no such address'}): "
            "choose another with --host or --port"
        ) from None
    # otherwise the end of each page waits 40 ms for the browser to acknowledge its beginning
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _log_without_details(desk: Desk) -> None:
    """Write complaints of the server to the log of the desk, as sentences without tracebacks."""

    class Complaints(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            desk.log.write("-", "", record.getMessage().partition("\n")[0])

    logger = logging.getLogger("uvicorn.error")
    logger.handlers, logger.propagate = [Complaints(logging.WARNING)], False
