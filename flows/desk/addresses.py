"""Addresses within the desk."""

import ipaddress
from urllib.parse import quote

from starlette.requests import Request

HOME = "/datasets"


def local(target: str) -> str:
    """Return a path of the desk unchanged, and the first page in place of anything else.

    Examples
    --------
    >>> local("/review?page=2"), local("//evil.example"), local("https://evil.example/")
    ('/review?page=2', '/datasets', '/datasets')
    """
    is_local = (
        target.startswith("/")
        # browsers read a backslash as a slash, and skip control characters
        and not target.startswith("//")
        and "\\" not in target
        and target.isascii()
        and target.isprintable()
        and not target.startswith(("/login", "/logout"))
    )
    return target if is_local else HOME


def address_of(request: Request) -> str:
    """Return the path and query of a request, as a browser would write them."""
    query = request.scope["query_string"].decode("ascii", errors="replace")
    return local(quote(request.scope["path"]) + (f"?{query}" if query else ""))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host, given with or without a port.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1:4210", "[::1]:4210", "localhost", "10.0.0.1")]
    [True, True, True, False]
    """
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    else:
        name = host.partition(":")[0] if host.count(":") == 1 else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
