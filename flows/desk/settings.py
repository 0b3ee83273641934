"""Settings of the desk, from the environment and the command line."""

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path

from algorithms.errors import ReleaseError, StorageError
from flows.operation.defaults import DESK_PORT
from tasks.store.home import default_home

HOST = "127.0.0.1"
PORT = DESK_PORT
PROXY = "MICRORELEASE_DESK_PROXY"
"""Environment variable with the addresses of proxies that name the user, separated by commas."""
PROXY_SECRET_FILE = "MICRORELEASE_DESK_PROXY_SECRET_FILE"
"""Environment variable with a file that holds the secret of these proxies."""
LEAST_SECRET = 32
"""Number of characters that the secret of a proxy must have at least."""


@dataclass(frozen=True)
class DeskSettings:
    """Where the desk keeps its files, where it listens, and which proxies it trusts.

    Attributes
    ----------
    home : Path
        Folder of the installation; it holds users.json and the logs.
    host : str
        Address on which the desk listens.
    port : int
        Port on which the desk listens.
    proxies : frozenset of str
        Addresses of the proxies that may name the user of a request; usually empty.
    proxy_secret : str
        Secret that these proxies send with each request.
    """

    home: Path
    host: str = HOST
    port: int = PORT
    proxies: frozenset[str] = frozenset()
    proxy_secret: str = field(default="", repr=False)

    @classmethod
    def from_environment(
        cls, home: Path | None = None, host: str = HOST, port: int = PORT
    ) -> "DeskSettings":
        """Read the settings; the arguments come from the command line.

        Raises
        ------
        ReleaseError
            If only one of the two variables for proxies is set, or one of them is not valid.
        StorageError
            If the file with the secret cannot be read.
        """
        proxies, secret_file = os.environ.get(PROXY, ""), os.environ.get(PROXY_SECRET_FILE, "")
        if bool(proxies) != bool(secret_file):
            present, absent = (PROXY, PROXY_SECRET_FILE) if proxies else (PROXY_SECRET_FILE, PROXY)
            raise ReleaseError(
                f"a trusted proxy needs both {PROXY} and {PROXY_SECRET_FILE}; only {present} is "
                f"set: set {absent} too, or remove {present}"
            )
        return cls(
            home=(home or default_home()).absolute(),
            host=host,
            port=port,
            proxies=_addresses(proxies),
            proxy_secret=_secret(Path(secret_file)) if secret_file else "",
        )

    @property
    def users_file(self) -> Path:
        """File with the users of the desk."""
        return self.home / "users.json"

    @property
    def log_file(self) -> Path:
        """File with a line for each request."""
        return self.home / "logs" / "desk.log"


def _addresses(text: str) -> frozenset[str]:
    """Read addresses separated by commas."""
    entries = [entry.strip() for entry in text.split(",")] if text else []
    try:
        return frozenset(str(ipaddress.ip_address(entry)) for entry in entries)
    except ValueError:
        raise ReleaseError(
            f"{PROXY} must list the IP addresses of proxies, separated by commas; found {text!r}: "
            "write each address as in 10.0.0.5, without a port"
        ) from None


def _secret(path: Path) -> str:
    """Read the secret of the proxies."""
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise StorageError(
            f"{PROXY_SECRET_FILE} must name a text file that can be read; {str(path)!r} cannot "
            f"({why}): correct the path or the permissions"
        ) from None
    if len(secret) < LEAST_SECRET or not (secret.isascii() and secret.isprintable()):
        raise ReleaseError(
            f"the secret in {str(path)!r} must be one line of at least {LEAST_SECRET} ASCII "
            f"characters; it has {len(secret)}, or others: write a random one, for example with "
            "`openssl rand -hex 32`"
        )
    return secret
