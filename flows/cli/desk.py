"""Commands of the desk: desk, users."""

import getpass
import os
import sys
from pathlib import Path

from algorithms.errors import ReleaseError, StorageError
from flows.cli import display
from flows.cli.command import HOME_OPTION, argument, command, one_of, port_number
from flows.desk.settings import HOST, PORT, DeskSettings
from flows.desk.user import ROLES, User
from tasks.store.home import HOME, default_home


@command(
    HOME_OPTION,
    argument("--host", default=HOST, help="address to listen on (default: this machine only)"),
    argument(
        "--port", type=port_number, default=PORT, help="port of the desk (default: %(default)s)"
    ),
    argument(
        "--specs", type=Path, metavar="DIR", help="folder of specs (default: deployments/specs)"
    ),
    argument(
        "--behind-tls",
        action="store_true",
        help="a proxy with TLS is in front: allow a --host that other machines reach",
    ),
)
def desk(home: Path | None, host: str, port: int, specs: Path | None, behind_tls: bool) -> int:
    """Serve the desk, where people look at releases and decide, until Ctrl-C.

    Add users first, with `microrelease users`. The desk listens on this machine only. Browsers send
    its cookies over HTTPS, or to this machine: for other machines, put a proxy with TLS in front of
    it. If that proxy also knows who the users are, set MICRORELEASE_DESK_PROXY to its address and
    MICRORELEASE_DESK_PROXY_SECRET_FILE to a file with a secret; the proxy must then send
    X-Microrelease-Secret and X-Microrelease-User with every request, in place of any such header
    that it received.
    """
    from expectations.request.named import SPECS
    from flows.operation.installation import OUTBOX, adopt

    if specs is not None:
        os.environ[SPECS] = str(specs.absolute())
    settings = DeskSettings.from_environment(home, host, port)
    # the key of the installation and its audits are there
    os.environ[HOME] = str(settings.home)
    os.environ.setdefault(OUTBOX, str(settings.home / "outbox"))
    adopt(settings.home)
    from flows.desk.serve import serve

    try:
        serve(settings, display.say, behind_tls=behind_tls)
    except KeyboardInterrupt:
        display.say("stopped")
    return 0


@command(
    argument(
        "action",
        choices=("add", "change", "list", "password", "remove"),
        help="add: a new user; change: name, roles or key; list: all users; password: a new "
        "password; remove: a user, whose sessions end at once",
    ),
    argument(
        "login", nargs="?", metavar="LOGIN", help="name by which the user logs in, such as anna"
    ),
    argument("--name", help="name of the person, as pages and the register show it"),
    argument(
        "--role",
        action="append",
        choices=ROLES,
        dest="roles",
        help="role of the user; repeat the option for several. engineer: sees gates and files; "
        "reviewer: sees reports and decides; auditor: sees everything that was recorded; "
        "administrator: sees users and the health of the installation",
    ),
    one_of(
        argument(
            "--no-password",
            action="store_true",
            help="the user cannot log in with a password; only a trusted proxy can name the user",
        ),
        argument(
            "--password-file",
            type=Path,
            metavar="FILE",
            help="file with the password in its first line (default: ask for it on the terminal, "
            "or read a line from standard input if that is not a terminal)",
        ),
    ),
    argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="Ed25519 public key of a reviewer, as PEM or as a line from ssh-keygen",
    ),
    HOME_OPTION,
)
def users(
    action: str,
    login: str | None,
    name: str | None,
    roles: list[str] | None,
    no_password: bool,
    password_file: Path | None,
    key: Path | None,
    home: Path | None,
) -> int:
    """List, add, change and remove the users of the desk.

    For example: `microrelease users add anna --name "Anna Berg" --role reviewer`. A password has at
    least 12 characters and is never given on the command line, where other users of the machine
    could see it. A change takes effect at the next request: no restart is needed.
    """
    login = login.strip().lower() if login else ""
    passwords = ["--no-password"] * no_password + ["--password-file"] * (password_file is not None)
    details = {"--name": name, "--role": roles, "--key": key}
    fault = _usage_fault(action, login, [each for each in details if details[each]], passwords)
    if fault:
        display.say(
            f"microrelease users {action} {fault}: see microrelease users --help", error=True
        )
        return 2
    from flows.desk import managing
    from flows.desk.users import Users

    file = Users((home or default_home()).absolute() / "users.json")
    key_text = _key(key) if key else None
    if action == "list":
        display.users(file.accounts())
    elif action == "add":
        managing.check_free(file, login)
        password = None if no_password else _password(password_file)
        user = User(login, name or "", frozenset(roles or ()), key_text or "")
        managing.add(file, user, password)
        display.say(f"added {login}, in {file.path}")
    elif action == "change":
        managing.change(file, login, name=name, roles=roles, key=key_text)
        display.say(f"changed {login}")
    elif action == "password":
        managing.check_known(file, login)
        managing.set_password(file, login, None if no_password else _password(password_file))
        display.say(f"{login} has {'no' if no_password else 'a new'} password; all sessions ended")
    else:
        managing.remove(file, login)
        display.say(f"removed {login}; all sessions ended")
    return 0


def _usage_fault(action: str, login: str, details: list[str], passwords: list[str]) -> str:
    """Say what is missing from the command line, or too much; empty if nothing is."""
    if bool(login) == (action == "list"):
        return "takes no LOGIN" if login else "needs a LOGIN"
    if action == "add" and not {"--name", "--role"} <= set(details):
        return "needs --name and --role"
    if action == "change" and not details:
        return "needs --name, --role or --key"
    allowed = {"add": [*details, *passwords], "change": details, "password": passwords}
    unused = [option for option in details + passwords if option not in allowed.get(action, [])]
    return f"takes no {unused[0]}" if unused else ""


def _key(path: Path) -> str:
    """Read the public key of a reviewer."""
    from flows.desk.keys import public_key

    return public_key(_text(path, "the key"))


def _password(path: Path | None) -> str:
    """Ask for a new password twice, or read it from a file or from standard input."""
    if path is not None:
        return _first_line(_text(path, "the password"))
    if not sys.stdin.isatty():
        return _first_line(sys.stdin.readline())
    password = getpass.getpass("Password (at least 12 characters, not shown): ")
    if getpass.getpass("The same again: ") != password:
        raise ReleaseError("the password must be typed twice; the two differ: try again")
    return password


def _first_line(text: str) -> str:
    return text.partition("\n")[0].removesuffix("\r")


def _text(path: Path, what: str) -> str:
    """Read a small text file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise StorageError(
            f"{what} must be in a text file that can be read; {str(path)!r} cannot ({why}): "
            "correct the path or the permissions"
        ) from None
