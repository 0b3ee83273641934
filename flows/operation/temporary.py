"""A Prefect server that runs as long as one command."""

import atexit
import importlib
import os
import secrets
import socket
import subprocess
import sys
import time

from algorithms.errors import ReleaseError
from flows.operation.installation import USER, answers
from flows.operation.processes import end_with_parent

TEMPORARY = "MICRORELEASE_TEMPORARY_SERVER"
"""Environment variable that is set while the server ends with this process."""
SECONDS_TO_START = 300.0
"""More than a busy machine needs; a server that has stopped is noticed at once."""
SECONDS_TO_STOP = 10.0


def has_lasting_server() -> bool:
    """Return whether runs are recorded by a server that others can reach."""
    from prefect.settings import get_current_settings

    return get_current_settings().api.url is not None and TEMPORARY not in os.environ


def start_temporary_server(*modules: str) -> None:
    """Start a server, unless the settings of Prefect name one, and import modules meanwhile.

    Prefect would start a server itself. It would import the whole server into this process to do
    so, and wait for its start before anything else is imported. Like that of Prefect, the server
    ends with this process, when all that is to be recorded has been sent.

    Raises
    ------
    ReleaseError
        If the server does not start.
    """
    from prefect.context import refresh_global_settings_context
    from prefect.settings import get_current_settings

    if "PREFECT_API_URL" in os.environ or get_current_settings().api.url is not None:
        return
    url, login = f"http://127.0.0.1:{_free_port()}", f"{USER}:{secrets.token_urlsafe(24)}"
    process = _started(url, login)
    atexit.register(_stop, process)
    for module in modules:
        importlib.import_module(module)
    _wait_for(process, url)
    os.environ["PREFECT_API_URL"] = f"{url}/api"
    os.environ["PREFECT_API_AUTH_STRING"] = login
    os.environ[TEMPORARY] = "1"
    refresh_global_settings_context()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _started(url: str, login: str) -> subprocess.Popen[bytes]:
    from prefect.settings import get_current_settings

    settings = {
        **get_current_settings().to_environment_variables(exclude_unset=True),
        "PREFECT_UI_ENABLED": "0",
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": url.rpartition(":")[2],
        "PREFECT_SERVER_API_AUTH_STRING": login,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "flows.operation.server"],
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C must reach this process only: the end of a run must still be recorded
        start_new_session=True,
        preexec_fn=end_with_parent,
    )


def _wait_for(process: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while not answers(url):
        if process.poll() is not None or time.monotonic() > end:
            raise ReleaseError(
                f"a temporary Prefect server must start within {SECONDS_TO_START:.0f} seconds; it "
                "did not: start a server with `microrelease up`, which keeps a log, and run again"
            )
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
