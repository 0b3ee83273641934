"""Identifies the visitor behind a request: by a session, or by a proxy that is trusted."""

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass

from starlette.requests import Request

from algorithms.errors import StorageError
from flows.desk.sessions import COOKIE
from flows.desk.state import Desk
from flows.desk.user import User

USER_HEADER = "x-microrelease-user"
SECRET_HEADER = "x-microrelease-secret"


@dataclass(frozen=True)
class Visitor:
    """Whoever sent a request.

    Attributes
    ----------
    address : str
        Address of the visitor, behind a trusted proxy too.
    user : User, optional
        None for someone who is not logged in.
    csrf : str
        Token that forms of the user must send.
    by_proxy : bool
        Whether a trusted proxy named a user, known or not.
    users_are_faulty : bool
        Whether nobody can be identified because the file of users is faulty.
    """

    address: str
    user: User | None = None
    csrf: str = ""
    by_proxy: bool = False
    users_are_faulty: bool = False

    @property
    def login(self) -> str:
        """The login; empty for someone who is not logged in."""
        return self.user.login if self.user else ""


def identify(desk: Desk, request: Request) -> Visitor:
    """Identify the visitor behind a request."""
    address = plain_address(request.client.host if request.client else "")
    is_trusted = _is_trusted(desk, request, address)
    if is_trusted:
        address = _forwarded(request, address, desk.settings.proxies)
    try:
        if is_trusted and request.headers.getlist(USER_HEADER):
            return _named(desk, request, address)
        return _logged_in(desk, request, address)
    except StorageError as error:
        desk.log.write(address, "", str(error))
        return Visitor(address, users_are_faulty=True)


def _is_trusted(desk: Desk, request: Request, peer: str) -> bool:
    """Return whether a trusted proxy sent the request; log others that pretend to be one."""
    secrets = request.headers.getlist(SECRET_HEADER)
    if peer in desk.settings.proxies and len(secrets) == 1:
        expected, given = (
            text.encode("utf-8", errors="replace")
            for text in (desk.settings.proxy_secret, secrets[0])
        )
        if expected and hmac.compare_digest(expected, given):
            return True
    if secrets or request.headers.getlist(USER_HEADER):
        desk.log.write(peer, "", "headers of a proxy ignored: this is not a trusted proxy")
    return False


def _forwarded(request: Request, peer: str, proxies: frozenset[str]) -> str:
    """Return the last address in X-Forwarded-For that is not a proxy's: the proxies wrote it."""
    entries = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    for entry in reversed(entries):
        address = plain_address(entry.strip())
        if not _is_address(address):
            return peer
        if address not in proxies:
            return address
    return peer


def _named(desk: Desk, request: Request, address: str) -> Visitor:
    """Identify the user whom a trusted proxy names."""
    logins = request.headers.getlist(USER_HEADER)
    account = desk.users.find(logins[0]) if len(logins) == 1 else None
    if account is None:
        words = "more than one user" if len(logins) > 1 else "a user who is not in users.json"
        desk.log.write(address, "", f"refused: the proxy names {words}")
        return Visitor(address, by_proxy=True)
    digest = hmac.new(desk.secret, account.user.login.encode(), hashlib.sha256)
    return Visitor(address, account.user, digest.hexdigest(), by_proxy=True)


def _logged_in(desk: Desk, request: Request, address: str) -> Visitor:
    """Identify the user of a session, with the roles that the file of users now gives."""
    # first, so that a faulty file is reported to visitors too
    accounts = desk.users.accounts()
    token = request.cookies.get(COOKIE, "")
    session = desk.sessions.find(token) if token else None
    if session is None:
        return Visitor(address)
    account = accounts.get(session.login)
    if account is None or account.stamp != session.stamp:
        desk.sessions.end(token)
        return Visitor(address)
    return Visitor(address, account.user, session.csrf)


def plain_address(address: str) -> str:
    """Write an address in one way; IPv4 addresses within IPv6 become IPv4.

    Examples
    --------
    >>> plain_address("::ffff:10.0.0.1"), plain_address("0:0:0:0:0:0:0:1")
    ('10.0.0.1', '::1')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return str(mapped or parsed)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
