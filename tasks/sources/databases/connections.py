"""Finds the address of a database by the name of its connection."""

import os
import stat
from pathlib import Path

from pydantic import SecretStr

from algorithms.errors import SpecError
from tasks.secret_blocks import secret_block
from tasks.sources.databases import postgresql, sqlite
from tasks.sources.databases.engine import Engine

ENGINES: tuple[Engine, ...] = (postgresql.ENGINE, sqlite.ENGINE)

VARIABLE = "MICRORELEASE_DATABASE_"
BLOCK = "microrelease-database-"
"""Start of the names of environment variables and of Prefect Secret blocks."""


def variable_of(name: str) -> str:
    """Name the environment variable of a connection.

    Examples
    --------
    >>> variable_of("tax-registry")
    'MICRORELEASE_DATABASE_TAX_REGISTRY'
    """
    return VARIABLE + name.upper().replace("-", "_")


def find(name: str) -> tuple[Engine, SecretStr]:
    """Find the address of a connection, and the engine that opens it.

    It is looked up in the environment, then in the file that the environment names, then in the
    Secret blocks of Prefect. Call this where a query is read, and never pass the address on: it
    holds a password.

    Raises
    ------
    SpecError
        If there is no such connection, or no engine opens its address; the message does not show
        the address.
    """
    variable = variable_of(name)
    address = _in_environment(variable) or _in_file(variable) or secret_block(BLOCK + name)
    if address is None:
        raise SpecError(
            f"source.database must be the name of a connection; {name!r} is not known: set "
            f"{variable} or {variable}_FILE where runs start, or save the Prefect Secret block "
            f"{BLOCK}{name}"
        )
    engine = next((engine for engine in ENGINES if engine.opens(address)), None)
    if engine is None:
        raise SpecError(
            f"the connection {name!r} must be an address that begins with postgresql://, or the "
            "absolute path of an SQLite file; it is neither (it is not shown)"
        )
    return engine, address


def exposed(name: str) -> tuple[str, ...]:
    """Warn of a file with an address that other accounts can read."""
    file = os.environ.get(f"{variable_of(name)}_FILE")
    if os.environ.get(variable_of(name)) or not file:
        return ()
    try:
        mode = Path(file).stat().st_mode
    except OSError:
        return ()  # reported when it is read
    if not mode & (stat.S_IRGRP | stat.S_IROTH):
        return ()
    return (
        f"the file in {variable_of(name)}_FILE holds a password and should be readable by its "
        "owner only; other accounts can read it: set its mode to 0600, unless a container keeps "
        "them out",
    )


def _in_environment(variable: str) -> SecretStr | None:
    value = os.environ.get(variable, "").strip()
    return SecretStr(value) if value else None


def _in_file(variable: str) -> SecretStr | None:
    file = os.environ.get(f"{variable}_FILE")
    if not file:
        return None
    try:
        value = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        value = ""
    if not value:
        raise SpecError(
            f"{variable}_FILE must name a readable file with the address of a database; it does not"
        )
    return SecretStr(value)
