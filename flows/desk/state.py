"""What the parts of a running desk share."""

import secrets
from dataclasses import dataclass, field

from fastapi import Request

from flows.desk.access_log import AccessLog
from flows.desk.passwords import Verifier
from flows.desk.sessions import Sessions
from flows.desk.settings import DeskSettings
from flows.desk.throttle import Throttle
from flows.desk.users import Users


@dataclass(frozen=True)
class Desk:
    """A running desk.

    Attributes
    ----------
    settings : DeskSettings
        Its settings.
    users : Users
        Everyone who may log in.
    log : AccessLog
        Receives a line for each request.
    sessions, throttle, verifier
        Logins, and limits on them.
    secret : bytes
        Random, and new at each start; it makes the tokens of users whom a proxy names.
    """

    settings: DeskSettings
    users: Users
    log: AccessLog
    sessions: Sessions = field(default_factory=Sessions)
    throttle: Throttle = field(default_factory=Throttle)
    verifier: Verifier = field(default_factory=Verifier)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def close(self) -> None:
        """Release the thread and the log."""
        self.verifier.close()
        self.log.close()


def desk_of(request: Request) -> Desk:
    """Return the desk that received a request."""
    desk: Desk = request.app.state.desk
    return desk
