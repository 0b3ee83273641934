"""The files of an installation, and the settings of its server and worker."""

import http.client
import os
import secrets
import shlex
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from expectations import privacy
from expectations.request.named import SPECS, specs_folder
from flows.operation.defaults import DESK_PORT, PORT
from tasks.store.disk import make_folder, try_lock
from tasks.store.home import DESK_URL, HOME, USUAL, WHAT

DATABASE = "MICRORELEASE_DATABASE"
"""Environment variable with the address of a PostgreSQL database; the default is SQLite."""
OUTBOX = "MICRORELEASE_OUTBOX"
"""Environment variable with the folder that receives a file for each run to report."""
USER = "microrelease"
HEARTBEAT_SECONDS = 30
POOL = "microrelease"
FOR_SHELLS = (
    "PREFECT_API_URL",
    "PREFECT_API_AUTH_STRING",
    # without it, the server takes a run of more than 90 seconds for dead
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY",
    HOME,
    SPECS,
    DESK_URL,
)
"""Settings that a command in another shell needs."""


@dataclass(frozen=True)
class Installation:
    """One server with one worker and one desk, on this machine.

    Attributes
    ----------
    home : Path
        Folder of the database, logs, outbox and password; only its owner can read it.
    port : int
        Port on which the server listens, on this machine only.
    desk_port : int
        Port on which the desk listens, on this machine only.
    """

    home: Path
    port: int = PORT
    desk_port: int = DESK_PORT

    @property
    def url(self) -> str:
        """Address of the Prefect UI."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def desk_url(self) -> str:
        """Address of the desk, as people reach it."""
        return os.environ.get(DESK_URL) or f"http://127.0.0.1:{self.desk_port}"

    @property
    def password_file(self) -> Path:
        """File with the login that the UI asks for."""
        return self.home / "password"

    @property
    def environment_file(self) -> Path:
        """Shell script that sets the variables other commands need to reach the server."""
        return self.home / "environment"

    @property
    def logs(self) -> Path:
        """Folder with the logs of server, worker and desk."""
        return self.home / "logs"

    def prepare(self) -> None:
        """Create the folders, the password (unless it exists) and the file for shells."""
        make_folder(self.home, WHAT)
        self.home.chmod(0o700)
        for folder in (self.home / "prefect", self.home / "outbox", self.logs, self._pages):
            make_folder(folder, WHAT)
        # every page of Prefect's second UI requests its configuration from an external host; a
        # dangling link in its place keeps the server from offering it
        second_ui = self._pages / "v2"
        if not second_ui.is_symlink():
            second_ui.symlink_to(self._pages / "not-offered")
        if not self.password_file.exists():
            _write_private(self.password_file, f"{USER}:{secrets.token_urlsafe(24)}\n")
        settings = self.settings
        exports = [f"export {name}='{settings[name]}'\n" for name in FOR_SHELLS]
        _write_private(self.environment_file, "".join(exports))

    @property
    def _pages(self) -> Path:
        return self.home / "prefect" / "ui"

    @property
    def settings(self) -> dict[str, str]:
        """Environment variables for the server, the worker and every run."""
        password = self.password_file.read_text(encoding="utf-8").strip()
        settings = {
            **privacy.SETTINGS,
            "PREFECT_HOME": str(self.home / "prefect"),
            "PREFECT_API_URL": f"{self.url}/api",
            "PREFECT_API_AUTH_STRING": password,
            "PREFECT_SERVER_API_AUTH_STRING": password,
            "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
            "PREFECT_SERVER_API_HOST": "127.0.0.1",
            "PREFECT_SERVER_API_PORT": str(self.port),
            "PREFECT_SERVER_UI_V2_ENABLED": "false",
            "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
            "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(self._pages),
            # slots kept in memory would stay occupied after a restart of the server
            "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
                "prefect.server.concurrency.lease_storage.filesystem"
            ),
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS),
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            HOME: str(self.home),
            DESK_URL: self.desk_url,
            OUTBOX: str(self.home / "outbox"),
            SPECS: str(specs_folder().absolute()),
        }
        if os.environ.get(DATABASE):
            settings["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = os.environ[DATABASE]
        return settings

    @property
    def environment(self) -> dict[str, str]:
        """The settings, on top of the environment of this process.

        Prefect settings of that environment are dropped, except those for logging.
        """
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name.startswith("PREFECT_LOGGING") or not name.startswith("PREFECT_")
        }
        return {**inherited, **self.settings}


def add_user_command(home: Path) -> str:
    """Write the command that adds a user to the desk of an installation."""
    # the reader's shell may not know MICRORELEASE_HOME
    elsewhere = "" if home == USUAL else f" --home {shlex.quote(str(home))}"
    return f"microrelease users add LOGIN --name NAME --role ROLE{elsewhere}"


def adopt(home: Path) -> None:
    """Use the server of an installation, unless the environment names another.

    Prefect reads its environment when it is imported, so call this before importing it.
    """
    if "PREFECT_API_URL" not in os.environ:
        for name, value in _exported(home).items():
            os.environ.setdefault(name, value)


def adopt_running(home: Path) -> None:
    """Use the server of an installation if it is running; starting another takes seconds."""
    running = home / "running"
    url = _exported(home).get("PREFECT_API_URL", "")
    if not url or not running.is_file():
        return
    with try_lock(running, 0.0) as free:
        if free:
            return
    if answers(url.removesuffix("/api")):
        adopt(home)


def answers(url: str) -> bool:
    """Return whether a Prefect server answers at this address."""
    return _is_well(f"{url}/api/health")


def desk_answers(url: str) -> bool:
    """Return whether a desk answers at this address."""
    return _is_well(f"{url.rstrip('/')}/healthz")


def _is_well(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (http.client.HTTPException, OSError, ValueError):
        return False


def _exported(home: Path) -> dict[str, str]:
    """Read the file for shells; it is empty if this user cannot read it."""
    try:
        text = Installation(home).environment_file.read_text(encoding="utf-8")
    except OSError:
        return {}
    pairs = (line.removeprefix("export ").partition("=") for line in text.splitlines())
    return {name: value.strip("'") for name, _, value in pairs}


def _write_private(path: Path, text: str) -> None:
    """Write a file that nobody but its owner can read at any moment."""
    draft = path.with_name(f".{path.name}.part")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
