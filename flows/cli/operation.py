"""Commands that run releases on a schedule: up, status, deploy, mail."""

import os
from pathlib import Path

from algorithms.errors import ReleaseError, SpecError, StorageError
from flows.cli import display, documents
from flows.cli.command import HOME_OPTION, JSON, argument, command, port_number
from flows.operation.defaults import DESK_PORT, FILE, PORT
from flows.starting import quieten_prefect
from tasks.store.home import default_home

FILE_OPTION = argument(
    "--file",
    type=Path,
    default=FILE,
    help="deployments to create (default: deployments/prefect.yaml)",
)


@command(
    HOME_OPTION,
    argument(
        "--port", type=port_number, default=PORT, help="port of the server (default: %(default)s)"
    ),
    argument(
        "--desk-port",
        type=port_number,
        default=DESK_PORT,
        help="port of the desk (default: %(default)s)",
    ),
    argument(
        "--specs", type=Path, metavar="DIR", help="folder of specs (default: deployments/specs)"
    ),
    FILE_OPTION,
)
def up(home: Path | None, port: int, desk_port: int, specs: Path | None, file: Path) -> int:
    """Start server, worker, desk and deployments on this machine, until Ctrl-C.

    In the desk people look at releases and decide; `microrelease users` adds them.

    The Prefect server listens on this machine only and asks for a password, which is created at
    the first start. MICRORELEASE_DATABASE can name a PostgreSQL database; the default is SQLite.
    """
    from expectations.request.named import SPECS
    from flows.operation.installation import Installation
    from flows.operation.up import up as start

    if specs is not None:
        os.environ[SPECS] = str(specs.absolute())
    try:
        start(Installation(_absolute(home), port, desk_port), display.say, file.absolute())
    except KeyboardInterrupt:
        display.say("stopped")
    return 0


@command(HOME_OPTION, JSON)
def status(home: Path | None, as_json: bool) -> int:
    """Show what is running, what waits for a reviewer and what is due.

    Ask the server in PREFECT_API_URL or, if that is not set, the server of the installation, and
    the desk. Exit code 1 means that scheduled releases would not run, or that a spec is faulty.
    """
    from flows.operation.installation import adopt

    home = _absolute(home)
    adopt(home)
    if "PREFECT_API_URL" not in os.environ:
        raise ReleaseError(
            f"status needs an installation, but {str(home)!r} contains none: start one with "
            "`microrelease up`, or set PREFECT_API_URL"
        )
    quieten_prefect()
    from flows.operation.status import status as ask

    current = ask()
    if as_json:
        documents.write(documents.status(current, os.environ["PREFECT_API_URL"]))
    else:
        display.status(current, os.environ["PREFECT_API_URL"])
    return 0 if current.well else 1


@command(FILE_OPTION)
def deploy(file: Path) -> int:
    """Bring the work pool, limits, deployments and automations of a server up to date.

    The server is the one in PREFECT_API_URL. The command can be repeated at any time.
    """
    from flows.operation.deploy import deploy as bring_up_to_date

    deployed = bring_up_to_date(file.absolute())
    for name in deployed.names:
        display.say(f"  deployed  {name}")
    display.warnings(map(str, deployed.faults))
    return 0


@command()
def mail() -> int:
    """Send a test message by e-mail, and say whom it has reached.

    The settings are those of notifications, in the variables MICRORELEASE_SMTP_* and
    MICRORELEASE_MAIL_*; see docs/operating.md.
    """
    from flows.mail import configured_mail, trial_message

    settings = configured_mail()
    if settings is None:
        raise SpecError(
            "e-mail needs a server, a sender and addressees; nothing is set: set "
            "MICRORELEASE_SMTP_HOST, MICRORELEASE_MAIL_FROM and MICRORELEASE_MAIL_TO"
        )
    delivery = settings.send(trial_message(), settings.addressees)
    for address in delivery.reached:
        display.say(f"  accepted for  {address}")
    if delivery.fault:
        raise StorageError(delivery.fault)
    return 0


def _absolute(home: Path | None) -> Path:
    return (home or default_home()).absolute()
