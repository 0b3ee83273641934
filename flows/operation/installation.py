"""Where an installation keeps its things, and the settings that its server and worker run under."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from expectations import privacy
from expectations.request.named import SPECS, specs_folder
from tasks.store.disk import make_folder

HOME = "MICRORELEASE_HOME"
DATABASE = "MICRORELEASE_DATABASE"
"""Environment variable with the address of a PostgreSQL database; SQLite without it."""
OUTBOX = "MICRORELEASE_OUTBOX"
"""Environment variable with the folder that gets a file for each run to tell of."""
ROOT = Path(__file__).parents[2]
USER = "microrelease"
HEARTBEAT_SECONDS = 30
PORT = 4200
POOL = "microrelease"
FILE = ROOT / "deployments" / "prefect.yaml"
FOR_SHELLS = ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", HOME, SPECS)


@dataclass(frozen=True)
class Installation:
    """One server with one worker, on this machine.

    Attributes
    ----------
    home : Path
        Folder of database, logs, outbox and password; for its owner only.
    port : int
        On which the server listens, on this machine only.
    """

    home: Path
    port: int = PORT

    @property
    def url(self) -> str:
        """Where a browser finds the Prefect UI."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def password_file(self) -> Path:
        """Holds what the UI asks for."""
        return self.home / "password"

    @property
    def environment_file(self) -> Path:
        """Holds what other commands need to talk to the server, to be read by a shell."""
        return self.home / "environment"

    @property
    def logs(self) -> Path:
        """Folder of what server and worker say."""
        return self.home / "logs"

    def prepare(self) -> None:
        """Make the folders, a password if there is none, and the file for shells."""
        make_folder(self.home, "the home of the installation")
        self.home.chmod(0o700)
        for folder in (self.home / "prefect", self.home / "outbox", self.logs, self._pages):
            make_folder(folder, "the home of the installation")
        # the second UI that Prefect ships asks a host outside for its configuration, on every page;
        # a link that leads nowhere in its place keeps the server from offering it
        second = self._pages / "v2"
        if not second.is_symlink():
            second.symlink_to(self._pages / "not-offered")
        if not self.password_file.exists():
            _write_private(self.password_file, f"{USER}:{secrets.token_urlsafe(24)}\n")
        told = [f"export {name}='{self.settings[name]}'\n" for name in FOR_SHELLS]
        _write_private(self.environment_file, "".join(told))

    @property
    def _pages(self) -> Path:
        return self.home / "prefect" / "ui"

    @property
    def settings(self) -> dict[str, str]:
        """What server, worker and every run are started with."""
        password = self.password_file.read_text(encoding="utf-8").strip()
        chosen = {
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
            # slots that are kept in memory would stay taken after a restart of the server
            "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
                "prefect.server.concurrency.lease_storage.filesystem"
            ),
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS),
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            HOME: str(self.home),
            OUTBOX: str(self.home / "outbox"),
            SPECS: str(specs_folder().absolute()),
        }
        if os.environ.get(DATABASE):
            chosen["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = os.environ[DATABASE]
        return chosen

    @property
    def environment(self) -> dict[str, str]:
        """The settings, in the environment of this process."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
        own = {k: v for k, v in os.environ.items() if k.startswith("PREFECT_LOGGING")}
        return {**inherited, **own, **self.settings}


def default_home() -> Path:
    """Tell where the installation is, if nothing else is said."""
    return Path(os.environ.get(HOME) or Path.home() / ".microrelease").absolute()


def adopt(home: Path) -> None:
    """Talk to the server of an installation, unless the environment names one.

    Prefect reads its environment when it is imported, so this comes first.
    """
    file = Installation(home).environment_file
    if file.is_file() and "PREFECT_API_URL" not in os.environ:
        for line in file.read_text(encoding="utf-8").splitlines():
            name, _, value = line.removeprefix("export ").partition("=")
            os.environ.setdefault(name, value.strip("'"))


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, from its first byte on."""
    draft = path.with_name(f".{path.name}.part")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
