"""A PostgreSQL server of our own, for one test module."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.tools import find

OWNER = "owner"
DATABASE = "microrelease"
# the owner needs no password; every other role does
ACCESS = f"local all {OWNER} trust\nlocal all all scram-sha-256\n"


@dataclass(frozen=True)
class Cluster:
    """A running server, which listens on a socket in a folder of its own."""

    socket: Path

    def address(self, role: str = OWNER, password: str = "", database: str = DATABASE) -> str:
        """Give the address of a database."""
        secret = f":{password}" if password else ""
        return f"postgresql://{role}{secret}@/{database}?host={self.socket}"

    def execute(self, *statements: str) -> None:
        """Run statements as the owner, each in a transaction of its own."""
        import adbc_driver_postgresql.dbapi

        with (
            adbc_driver_postgresql.dbapi.connect(self.address(), autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Start a server, never as root, and stop it at the end."""
    initdb = find("PostgreSQL")
    assert initdb is not None
    folder = Path(tempfile.mkdtemp(prefix="microrelease-postgresql-"))
    user = None
    if os.getuid() == 0:
        user = "nobody"
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
    # the tests themselves may run under another account
    folder.chmod(0o755)
    data, socket = folder / "data", folder / "socket"

    def run(command: str, *arguments: str) -> None:
        subprocess.run(
            [str(initdb.with_name(command)), *arguments],
            user=user,
            group=None if user is None else "nogroup",
            extra_groups=None if user is None else [],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )

    try:
        run("initdb", "--pgdata", str(data), "--username", OWNER, "--auth", "trust", "--no-sync")
        (data / "pg_hba.conf").write_text(ACCESS, encoding="utf-8")
        subprocess.run(["mkdir", str(socket)], user=user, check=True)
        options = f"-c listen_addresses='' -k {socket}"
        log = str(folder / "log")
        run("pg_ctl", "--pgdata", str(data), "--wait", "-o", options, "-l", log, "start")
        try:
            run("createdb", "--host", str(socket), "--username", OWNER, DATABASE)
            yield Cluster(socket)
        finally:
            run("pg_ctl", "--pgdata", str(data), "--wait", "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
